"""What the question of a round repeats of the last observation: the same sentences as the page of the process."""

from __future__ import annotations

from tongyao.gateway.console.pages import environment, words
from tongyao.gateway.console.reading import (
    CitedSource,
    concerning,
    matrix,
    observations,
    table,
    title_of,
    title_of_words,
    unanswered,
)
from tongyao.protocol.model.observation import Ended, Note, NoteKind, Observation, Relation, RelationKind
from tongyao.protocol.model.phase import Phase
from tongyao.protocol.model.projection import Item, Outcome, Projection
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.tension import MISSING, LineSpan, Tension
from tongyao.protocol.rules.read_access import PartyView, for_party


def relation(id: str, a: str, b: str, text: str, *sources: str, kind: str = "aligned") -> Relation:
    return Relation(id=id, between=(a, b), kind=RelationKind(kind), text=text, sources=sources)


def note(id: str, kind: NoteKind, text: str, **more: object) -> Note:
    return Note.model_validate({"id": id, "kind": kind, "text": text, **more})


def said(number: int, alias: str, *texts: str, replaces: tuple[str, ...] = ()) -> Projection:
    items = [Item(id=f"R{number}/{alias}/{at}", text=text, replaces=replaces) for at, text in enumerate(texts, 1)]
    return Projection(round=number, alias=alias, outcome=Outcome.REPLIED, items=tuple(items))


FIRST = Observation(
    round=1,
    relations=(
        relation("R1/r1", "P01", "P02", "Both want the quay lit.", "R1/P01/1", "R1/P02/1"),
        relation("R1/r2", "P01", "P02", "P01 wants quiet at night.", "R1/P01/1", "R1/P02/1", kind="offsetting"),
        relation("R1/r3", "P02", "B1", "P02 lights a part of the quay.", "R1/P02/1", kind="complementary"),
        relation("R1/r4", "P02", "T", "P02 wants light, too.", "R1/P02/1"),
    ),
    none=(("P01", "P03"),),
    notes=(
        note("R1/n1", NoteKind.GAP, "Who holds the key?", about=("B2",), sources=("R1/P02/1",), asks="P02"),
        note("R1/n2", NoteKind.GAP, "Who may close the road?", about=("B1",)),
        note("R1/n3", NoteKind.IGNORED, "P02 asked for a ladder.", about=("P02",)),
        note("R1/n4", NoteKind.TRANSLATION, "Lit and bright are one.", about=("P01",)),
    ),
    words="The quay is dark.",
)
SECOND = Observation(
    round=2,
    relations=(relation("R2/r1", "P02", "P03", "P03 has a ladder.", "R1/P02/1", "R2/P03/1", kind="complementary"),),
    ended=(Ended(id="R1/n4", why="Nobody doubts it."),),
)
SAID = (said(1, "P01", "Lamps."), said(1, "P02", "A key."), said(1, "P03", "Rope."))


def view_of(*seen: Observation, projections: tuple[Projection, ...] = SAID, alias: str = "P00") -> PartyView:
    """The view of a process of three people, as it is made of a record."""
    record = Record(
        process_id="c-1",
        phase=Phase.CRYSTALLIZING,
        round=9,
        participants=tuple(Participant(alias=one) for one in ("P01", "P02", "P03")),
        projections=projections,
        observations=seen,
    )
    return for_party(record, role="demander" if alias == "P00" else "participant", alias=alias)


def shown(template: str, **values: object) -> str:
    page = "{% import 'parts/process.html' as parts with context %}" + template
    return environment().from_string(page).render(**values, **words("en"))


def test_relations_to_others_come_first_and_those_to_the_intent_last() -> None:
    assert concerning(FIRST, "P02") == [
        "Both want the quay lit.",
        "P01 wants quiet at night.",
        "P02 asked for a ladder.",
        "P02 lights a part of the quay.",
        "P02 wants light, too.",
    ]
    assert concerning(FIRST, "P03") == []


def test_what_others_said_and_nobody_took_up_is_told_to_who_did_not_say_it() -> None:
    assert unanswered(view_of(FIRST, alias="P03")) == ["P02 asked for a ladder."]
    assert unanswered(view_of(FIRST, alias="P02")) == []


def test_a_pair_shows_every_kind_of_its_relations_or_whether_anybody_has_looked() -> None:
    view = view_of(FIRST)
    cells = {(cell.a, cell.b): cell.kinds for row in matrix(view) for cell in row}
    assert cells == {
        ("P01", "P02"): ("aligned", "offsetting"),
        ("P01", "P03"): ("none",),
        ("P02", "P03"): ("unseen",),
    }
    page = shown(
        "{{ parts.matrix_of_pairs() }}",
        view=view,
        matrix=matrix(view),
        stands=table(view),
        sources={},
        cited=lambda *_: [],
    )
    assert page.index("Both want the quay lit.") < page.index("P01 wants quiet at night.")
    assert "Examined, no relation found." in page and "This pair has not been examined yet." in page


def test_what_holds_besides_pairs_is_shown_by_line_and_by_kind_of_note() -> None:
    held = table(view_of(FIRST))
    assert held is not None
    assert [one.about for one in held.groups["lines"]] == [("P02", "B1"), ("P02", "T")], "the barriers first"
    assert list(held.groups) == ["lines", "translation", "gap", "ignored"]


def test_a_gap_says_whom_it_asks_and_what_came_of_it() -> None:
    def gaps(*seen: Observation, projections: tuple[Projection, ...] = SAID) -> list[tuple[str, str]]:
        held = table(view_of(*seen, projections=projections))
        assert held is not None
        return [(one.asks, one.outcome) for one in held.groups["gap"]]

    assert gaps(FIRST) == [("P02", "open"), ("", "")]
    answer = Item(id="R2/P02/1", text="I hold it.", about=("R1/n1",))
    answered = Projection(round=2, alias="P02", outcome=Outcome.REPLIED, items=(answer,))
    assert gaps(FIRST, projections=(*SAID, answered)) == [("P02", "open"), ("", "")], "the round is still open"
    assert gaps(FIRST, SECOND, projections=(*SAID, answered)) == [("P02", "answered"), ("", "")]
    assert gaps(FIRST, SECOND, projections=(*SAID, said(2, "P02", "Else."))) == [("P02", "replied"), ("", "")]
    silent = Projection(round=2, alias="P02", outcome=Outcome.NOTHING_NEW)
    assert gaps(FIRST, SECOND, projections=(*SAID, silent)) == [("P02", "unanswered"), ("", "")]
    page = shown("{{ parts.groups(held.groups, 's') }}", view=view_of(FIRST), held=table(view_of(FIRST)))
    assert "A question to P02. An answer is shown after the round." in page and "Nobody here can answer this." in page


def test_a_round_shows_what_it_stated_what_it_ended_and_what_lapsed() -> None:
    changed = (*SAID, said(2, "P03", "A ladder."), said(2, "P01", "No lamps.", replaces=("R1/P01/1",)))
    view = view_of(FIRST, SECOND, projections=changed)
    first, second = observations(view)
    assert not first.ended and not first.lapsed
    assert [(one.text, one.why) for one in second.ended] == [("Lit and bright are one.", "Nobody doubts it.")]
    assert [one.text for one in second.lapsed] == ["Both want the quay lit.", "P01 wants quiet at night."]
    pages = [shown("{{ parts.observation(seen, 'n') }}", seen=one, view=view) for one in (first, second)]
    assert pages[0].index("The quay is dark.") < pages[0].index("Both want the quay lit.")
    assert "Nobody doubts it." in pages[1] and "The statements on which it rested were replaced." in pages[1]
    silent = Observation(round=3)
    assert "Nothing new was found." in shown(
        "{{ parts.observation(seen, 'n') }}", seen=observations(view_of(FIRST, SECOND, silent))[2], view=view
    )


def test_a_source_of_the_demander_is_a_line_of_the_tension_or_an_answer_of_theirs() -> None:
    sources = [CitedSource("T/B1", "P00", 0, "The quay is dark."), CitedSource("R2/P00/1", "P00", 2, "I keep a boat.")]
    page = shown("{{ parts.cites(sources) }}", view=view_of(FIRST, alias="P02"), sources=sources)
    assert page.index("The quay is dark.") < page.index("P00") < page.index("I keep a boat.")


def test_what_somebody_says_in_an_open_round_changes_nothing_that_others_see() -> None:
    changed = (*SAID, said(2, "P01", "No lamps.", replaces=("R1/P01/1",)))
    assert view_of(FIRST, projections=changed) == view_of(FIRST)


def test_the_title_follows_a_revision_of_the_tension() -> None:
    intent = "I want the quay lit. Somehow."
    span = LineSpan(line="T", source="intent", start=0, end=20)
    formulated = Tension(
        transition="From dark to light.", initial_state="Dark.", barriers=("Wire.",), exchange="Time.", spans=(span,)
    )
    revised = formulated.model_copy(update={"spans": ()})
    assert title_of_words(None, intent, None) == title_of_words(None, intent, formulated) == "I want the quay lit"
    assert title_of_words(None, intent, revised) == "From dark to light"
    unsaid = revised.model_copy(update={"transition": MISSING})
    assert title_of_words(None, intent, unsaid) == "I want the quay lit"


def test_a_process_has_one_title_whoever_asks_for_it() -> None:
    tension = Tension(
        transition="A quay that is lit. Every night.", initial_state="Dark.", barriers=("Wire.",), exchange=""
    )
    left = "What nobody found: a ladder"
    there = PartyView(id="c-1", phase=Phase.CRYSTALLIZING, round=9, you="P00")
    child = there.model_copy(update={"title": left, "intent": "I want the quay lit.", "tension": tension})
    assert title_of(child) == title_of_words(left, None, tension) == left, "who is asked to join reads the same"
    assert (
        title_of(there.model_copy(update={"tension": tension}))
        == title_of_words("", None, tension)
        == "A quay that is lit"
    )
    assert title_of(there) == "c-1", "who may read nothing of it"
