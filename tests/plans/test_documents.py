"""Plans as people read them: the order, no ids in sentences, sources as notes, everything once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tongyao.protocol.documents.markdown import note_names, observation_markdown, projection_markdown
from tongyao.protocol.documents.page import Page, markdown
from tongyao.protocol.documents.plan_answers import GivenAnswer, answered_by
from tongyao.protocol.documents.plan_page import plan_markdown, plan_page
from tongyao.protocol.guards.ids_in_text import without_ids
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.model.observation import Gap, GapKind, Note, Observation, Verdict
from tongyao.protocol.model.plan import (
    Absence,
    ClaimDraft,
    Plan,
    PlanDraft,
    ResidualDraft,
    RoleDraft,
    TaskDraft,
)
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.tension import Lineage, Tension
from tongyao.protocol.rules.plans.absent import absences

KNOWN = {
    "T/T": "bread reaches people on movements that happen anyway",
    "T/I": "forty loaves, nine villages, one car",
    "T/B1": "the morning tour ends too late",
    "T/E": "loaves at cost",
    "R1/P01/1": "drives an empty bus up the east side at 05:40",
    "R1/P01/2": "carries nothing while a child is on board",
    "R1/P02/1": "holds the door keys of 26 houses",
    "R1/catalyst/4": "nobody drives on the west side",
    "R2/catalyst/3": "nobody here drives on the west side before noon",
}
TENSION = Tension(transition=KNOWN["T/T"], initial_state=KNOWN["T/I"], barriers=(KNOWN["T/B1"],), exchange=KNOWN["T/E"])
ID = re.compile(r"R\d+/(?:P\d+|catalyst)/\d+|T/[TIBE]")


def claim(text: str, *sources: str) -> ClaimDraft:
    return ClaimDraft(text=text, sources=list(sources))


DRAFT = PlanDraft(
    about=[claim("Bread is to reach nine villages before work.", "T/T", "T/I")],
    panorama=[claim("An empty bus goes up at 05:40 [R1/P01/1], and P02 has keys.", "R1/P02/1")],
    roles=[
        RoleDraft(
            alias="P01",
            role="drives the school bus",
            contributions=[claim("Takes crates up.", "R1/P01/1")],
            benefits=[claim("Bread at cost.", "T/E")],
            costs=[claim("Nothing while a child is on board.", "R1/P01/2")],
        ),
        RoleDraft(alias="P02", role="holds door keys", contributions=[claim("Sets crates down.", "R1/P02/1")]),
    ],
    offsets=[claim("Crates must be out before the children come.", "R1/P01/2")],
    residuals=[
        ResidualDraft(
            title="The west side",
            transition="Somebody drives there before noon",
            initial_state="four villages lie on the west side",
            barriers=["nobody here drives there"],
            exchange="loaves at cost",
            sources=["R2/catalyst/3"],
        )
    ],
    tasks=[
        TaskDraft(id="t1", title="Load the bus", assignee="P01", when="at 05:30", sources=["R1/P01/1"]),
        TaskDraft(id="t2", title="Set down", assignee="P02", prerequisites=["t1"], sources=["R1/P02/1"]),
    ],
)


def settled(
    draft: PlanDraft = DRAFT,
    *,
    language: Language = "en",
    absent: tuple[Absence, ...] = (),
    hidden: bool = False,
    said: tuple[Item, ...] = (),
) -> Plan:
    return settle_plan(
        draft,
        revision=1,
        language=language,
        contributors=("P01", "P02"),
        known=KNOWN,
        lineage=Lineage(root="p", parent="p", residual="plan/1/residual/0", depth=1),
        tension=TENSION,
        absent=absent,
        hidden=hidden,
        said=said,
    )


def fact(id: str, premise: str, **more: Any) -> Item:
    return Item(id=id, dimension=Dimension.BOUNDARY, premise=premise, claim="Bears on T.", **more)


def sentences(page: Page) -> list[str]:
    return [
        text
        for section in page.sections
        for group in section.groups
        for text in (group.heading, *(entry.text for entry in group.entries))
    ]


def test_a_plan_is_read_in_this_order() -> None:
    page = plan_page(settled())
    assert [section.kind for section in page.sections] == ["about", "possible", "roles", "against", "lacking", "first"]


ANSWERS = (
    GivenAnswer(alias="P01", decision="commit", name="Ada"),
    GivenAnswer(alias="P02", decision="propose", words="Leave the crates at the school."),
)


def test_it_ends_with_how_it_was_answered_where_that_is_told() -> None:
    page = plan_page(settled(), (*ANSWERS, GivenAnswer(alias="P03")))
    answers = page.sections[-1]
    assert (answers.kind, [group.heading for group in answers.groups]) == (
        "answers",
        ["Committed", "Proposed a change", "No answer"],
    )
    told = markdown(page)
    assert "- P01 (Ada)" in told and "- P03" in told
    assert "**P03:** said nothing in the rounds" in told, "everybody who is named is introduced"
    assert "- **P02:** “Leave the crates at the school.”" in told
    assert "answers" not in [section.kind for section in plan_page(settled()).sections]


@pytest.mark.parametrize(
    ("language", "gone", "unheard"),
    [("en", "was erased", "said nothing in the rounds"), ("zh", "资料已被抹去", "各轮里没有说过什么")],
)
def test_whoever_was_erased_is_not_said_to_have_said_nothing(language: Language, gone: str, unheard: str) -> None:
    answers = (GivenAnswer(alias="P08", decision="erased"), GivenAnswer(alias="P09"))
    plan = settled().model_copy(update={"language": language, "removed": ("P09",)})
    met = {entry.label: entry.text for group in plan_page(plan, answers).sections[0].groups for entry in group.entries}
    colon = "：" if language == "zh" else ":"
    assert (met[f"P08{colon}"], met[f"P09{colon}"]) == (gone, gone)
    assert unheard not in met.values()


def test_the_line_of_an_erased_answer_has_one_colon() -> None:
    assert answered_by((GivenAnswer(alias="P01", decision="erased"),), "en").count(":") == 1


def test_a_task_says_what_its_assignee_answered() -> None:
    remarks = [entry.remark for group in plan_page(settled(), ANSWERS).sections[-2].groups for entry in group.entries]
    assert any("P01 has committed to this plan" in remark for remark in remarks)
    assert not any("P01 offered it; not agreed" in remark for remark in remarks)


def test_no_id_stands_in_a_sentence_and_every_note_quotes_what_is_there() -> None:
    page = plan_page(settled())
    assert not [text for text in sentences(page) if ID.search(text)]
    assert not ID.search(markdown(page))
    numbers = {entry.note for section in page.sections for group in section.groups for entry in group.entries} - {0}
    assert numbers == {note.number for note in page.notes}
    bus = next(note for note in page.notes if {line.id for line in note.lines} == {"R1/P01/1", "R1/P02/1"})
    assert [(line.label, line.text) for line in bus.lines] == [
        ("P02, round 1, item 1", "holds the door keys of 26 houses"),
        ("P01, round 1, item 1", "drives an empty bus up the east side at 05:40"),
    ]


def test_everybody_is_introduced_before_anything_is_said_of_them() -> None:
    told = plan_markdown(settled())
    people = told.index("- **P00:** brought this\n- **P01:** drives the school bus\n- **P02:** holds door keys\n")
    assert people < told.index("and P02 has keys")


def test_the_same_sources_have_one_note_and_a_conclusion_says_that_it_is_one() -> None:
    draft = DRAFT.model_copy(update={"order": [ClaimDraft(text="So P02 waits.", sources=["R1/P01/1"], concluded=True)]})
    notes = plan_page(settled(draft)).notes
    assert len({(note.kind, note.doubt, tuple(line.id for line in note.lines)) for note in notes}) == len(notes)
    assert next(note for note in notes if note.kind == "concluded").says == "concluded from"


def test_a_claim_without_a_source_is_told_apart() -> None:
    page = plan_page(settled(DRAFT.model_copy(update={"order": [claim("Ten crates fit.", "R9/P09/9")]})))
    (note,) = [note for note in page.notes if note.kind == "unsupported"]
    assert not note.lines and "nothing in the record says this" in note.says


def test_steps_say_who_when_and_after_what() -> None:
    told = plan_markdown(settled())
    assert "1. **P01:** Load the bus (at 05:30). *(P01 offered it; not agreed)*" in told
    assert "2. **P02:** Set down. *(P02 offered it; not agreed; waits for P01, step 1 (Load the bus))*" in told


def test_a_step_says_why_it_waits_for_that_of_somebody_else() -> None:
    needs = claim("The bus is up the east side first.", "R1/P01/1")
    keys = DRAFT.roles[1].model_copy(update={"dependencies": [needs, claim("The rain stops.", "R1/P02/1")]})
    told = plan_markdown(settled(DRAFT.model_copy(update={"roles": [DRAFT.roles[0], keys]})))
    assert "waits for P01, step 1 (Load the bus); P02 needs this first: The bus is up the east side first)*" in told


def test_what_the_demander_is_to_decide_is_not_called_their_offer() -> None:
    task = TaskDraft(id="t3", title="Say whether the door may be opened", assignee="P00", sources=["T/E"])
    told = plan_markdown(settled(DRAFT.model_copy(update={"tasks": [task]})))
    assert "*(for P00 to decide; not answered yet)*" in told


def test_a_note_shows_the_premise_of_an_item_and_not_its_bearing() -> None:
    plan = settled(said=(fact("R1/P01/1", "the bus is empty at 05:40"),))
    assert "“the bus is empty at 05:40”" in plan_markdown(plan)
    assert KNOWN["R1/P01/1"] in {one.text for one in plan.references}, (
        "the model that writes deliveries reads all of it"
    )


def test_a_fact_that_nothing_in_the_plan_cites_stands_at_its_end_under_whoever_said_it() -> None:
    used, unused = fact("R1/P01/1", "the bus is empty at 05:40"), fact("R2/P02/2", "the door sticks in the rain")
    plan = settled(said=(used, unused))
    last = plan_page(plan).sections[-1]
    assert (last.kind, [(group.alias, [entry.text for entry in group.entries]) for group in last.groups]) == (
        "unused",
        [("P02", ["the door sticks in the rain"])],
    )
    assert "the door sticks in the rain" in plan_markdown(plan)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param((fact("R2/P02/2", "the door may stick", inferred=True),), id="an inference"),
        pytest.param((fact("R3/P02/2", "the door sticks", repeated=True),), id="a repeated item"),
        pytest.param((fact("R2/P03/1", "the door sticks"),), id="of somebody whom the plan leaves out"),
        pytest.param(
            (fact("R2/P02/2", "the door sticks"), fact("R1/P02/1", "it opens", withdraws=("R2/P02/2",))),
            id="taken back",
        ),
        pytest.param(
            (fact("R1/P01/1", "the bus is empty"), fact("R2/P01/9", "the bus is empty")), id="used from another item"
        ),
    ],
)  # fmt: skip
def test_what_is_no_fact_of_a_participant_or_does_not_hold_is_not_listed_as_unused(said: tuple[Item, ...]) -> None:
    assert settled(said=said).unused == ()


def test_a_closed_record_lists_no_unused_facts() -> None:
    assert settled(said=(fact("R2/P02/2", "the door sticks"),), hidden=True).unused == ()


def test_a_closed_record_is_quoted_nowhere_but_in_the_tension() -> None:
    plan = settled(hidden=True)
    assert {one.id for one in plan.references if one.text} == {"T/T", "T/I", "T/B1", "T/E"}
    assert "holds the door keys" not in plan_markdown(plan)


def test_ids_in_sentences_become_words_and_sources() -> None:
    assert without_ids("It starts (R1/P01/1, T/B1).", "en") == ("It starts.", ("R1/P01/1", "T/B1"))
    assert without_ids("As R1/P01/2 says, B1 stays.", "en") == (
        "As what P01 said in round 1 says, obstacle 1 stays.", ()
    )  # fmt: skip
    assert (
        without_ids("照 R2/catalyst/3，对着 B2 没有人。", "zh")[0] == "照 第 2 轮的催化观察，对着 第 2 个阻碍 没有人。"
    )
    assert without_ids("Ride bus R12 to pier B12.", "en") == ("Ride bus R12 to pier B12.", ())


@pytest.mark.parametrize(
    ("language", "text", "told"),
    [
        (
            "en",
            "t1 and t2 may go on side by side; t9 and R12 are no steps.",
            "step 1 and step 2 may go on side by side; t9",
        ),
        ("zh", "t1和t2可以同时做。", "第 1 步和第 2 步可以同时做。"),
    ],
)
def test_the_id_of_a_task_in_a_sentence_becomes_its_number(language: Language, text: str, told: str) -> None:
    order = [ClaimDraft(text=text, sources=["T/I"])]
    assert settled(DRAFT.model_copy(update={"order": order}), language=language).order[0].text.startswith(told)


def gap(id: str, text: str, kind: GapKind = GapKind.ABSENT, target: str = "B1", same_as: tuple[str, ...] = ()) -> Gap:
    return Gap(id=id, kind=kind, target=target, text=text, same_as=same_as)


def seen(round: int, *gaps: Gap) -> Observation:
    return Observation(round=round, verdict=Verdict.MORE, gaps=gaps)


def test_a_gap_said_again_is_one_absence_with_the_ids_of_all_and_the_last_words() -> None:
    rounds = [
        seen(1, gap("R1/catalyst/4", "west")),
        seen(2, gap("R2/catalyst/3", "nobody drives there", same_as=("R1/catalyst/4",))),
        seen(3, gap("R3/catalyst/2", "no car in the west", same_as=("R2/catalyst/3",))),
    ]
    ids = ("R1/catalyst/4", "R2/catalyst/3", "R3/catalyst/2")
    assert absences(rounds) == (Absence(gaps=ids, target="B1", text="no car in the west"),)


def test_unlike_matters_in_like_words_stay_apart_and_the_same_words_in_one_observation_are_one() -> None:
    weeks, pages, again = (
        "Which Wednesdays fall into weeks without school has not been said.",
        "Whether the page can be read by everybody has not been said.",
        "Which Wednesdays fall into weeks without school has not been said.",
    )
    found = absences([seen(1, gap("R1/catalyst/4", weeks), gap("R1/catalyst/5", pages), gap("R1/catalyst/6", again))])
    assert [one.gaps for one in found] == [("R1/catalyst/4", "R1/catalyst/6"), ("R1/catalyst/5",)]


def test_a_gap_that_the_last_observation_does_not_repeat_is_closed_unless_that_observation_states_nothing() -> None:
    first = seen(1, gap("R1/catalyst/4", "west"), gap("R1/catalyst/5", "a heated yard"))
    second = seen(2, gap("R2/catalyst/3", "west", GapKind.OVERLOOKED), gap("R2/catalyst/4", "a bell"))
    assert [one.text for one in absences([first, second])] == ["a bell"]
    assert [one.text for one in absences([first, seen(2)])] == ["west", "a heated yard"]


def test_a_gap_that_a_stated_item_answers_is_absent_no_longer() -> None:
    answer = Item(id="R2/P02/9", dimension=Dimension.CAPABILITY, claim="drives there", answers=("R1/catalyst/4",))
    rounds = [seen(1, gap("R1/catalyst/4", KNOWN["R1/catalyst/4"]))]
    assert absences(rounds, [answer]) == ()
    assert len(absences(rounds, [answer.model_copy(update={"inferred": True})])) == 1
    again = seen(2, gap("R2/catalyst/3", KNOWN["R1/catalyst/4"]))
    assert len(absences([*rounds, again], [answer])) == 1, "the observation of round 2 had read the answer"


def test_one_residual_for_each_absence_however_often_it_was_said() -> None:
    twice = DRAFT.residuals[0].model_copy(
        update={"title": "West again", "transition": "A car in the west", "sources": ["R1/catalyst/4"]}
    )
    absent = (
        Absence(gaps=("R1/catalyst/4", "R2/catalyst/3"), target="B1", text=KNOWN["R2/catalyst/3"]),
        Absence(gaps=("R2/catalyst/9",), target="E", text="nobody keeps accounts"),
    )
    plan = settled(DRAFT.model_copy(update={"residuals": [*DRAFT.residuals, twice]}), absent=absent)
    west, accounts = plan.residuals
    assert (west.title, west.sources) == ("The west side", ("R2/catalyst/3", "R1/catalyst/4"))
    assert accounts.tension.transition == "nobody keeps accounts"
    assert accounts.tension.initial_state == TENSION.initial_state


def test_an_exported_observation_begins_with_the_catalysts_own_text_and_names_its_notes() -> None:
    note = Note(id="R1/catalyst/5", name="three ways a hand-over breaks", text="no one there; no list", about=("P02",))
    observed = Observation(round=1, verdict=Verdict.MORE, markdown="P01 drives past P02.", frameworks=(note,))
    told = observation_markdown(observed)
    assert told.index("P01 drives past P02.") < told.index("## Pairs")
    assert "`R1/catalyst/5` **three ways a hand-over breaks** (P02) no one there; no list" in told


def test_an_exported_turn_names_the_note_that_it_answers() -> None:
    item = Item(id="R2/P02/1", dimension=Dimension.CAPABILITY, claim="keeps a list", answers=("R1/catalyst/5",))
    note = Note(id="R1/catalyst/5", name="three ways a hand-over breaks", text="no list")
    observed = Observation(round=1, verdict=Verdict.MORE, frameworks=(note,))
    said = Projection(round=2, alias="P02", outcome=Outcome.REPLIED, items=(item,))
    assert "answers R1/catalyst/5 “three ways a hand-over breaks”" in projection_markdown(said, note_names([observed]))
