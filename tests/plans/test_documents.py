"""Plans as people read them: the order, no ids in sentences, sources as notes behind the body, everything once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tongyao.protocol.documents.markdown import observation_markdown, projection_markdown
from tongyao.protocol.documents.page import Page, markdown
from tongyao.protocol.documents.plan_answers import GivenAnswer, answered_by
from tongyao.protocol.documents.plan_page import body_limit, body_units, plan_markdown, plan_page
from tongyao.protocol.guards.plans import PLAN_CHECKS, settle_plan
from tongyao.protocol.guards.support import without_ids
from tongyao.protocol.model.observation import Ended, Note, NoteKind, Observation, Relation, RelationKind
from tongyao.protocol.model.plan import ClaimDraft, Plan, PlanDraft, ResidualDraft, RoleDraft, TaskDraft
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.record import EarlierAnswer
from tongyao.protocol.model.requests import Language, PlannerRequest
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.standing import rounds_of

TENSION = Tension(
    transition="bread reaches people on movements that happen anyway",
    initial_state="forty loaves, nine villages, one car",
    barriers=("the morning tour ends too late",),
    exchange="loaves at cost",
)
ID = re.compile(r"R\d+/(?:P\d+/|[rn])\d+|T/[TIBE]")


def item(id: str, text: str, kind: ItemKind | None = ItemKind.CAPABILITY, **more: Any) -> Item:
    return Item(id=id, kind=kind, text=text, **more)


ITEMS = (
    item("R1/P01/1", "P01 drives an empty bus up the east side at 05:40."),
    item("R1/P01/2", "P01 carries nothing while a child is on board.", ItemKind.BOUNDARY),
    item("R1/P02/1", "P02 holds the door keys of 26 houses."),
)
WEST = Note(id="R1/n1", kind=NoteKind.GAP, text="Nobody drives on the west side before noon.", about=("B1",))


def request(
    *items: Item,
    language: Language = "en",
    notes: tuple[Note, ...] = (WEST,),
    aliases: tuple[str, ...] = ("P01", "P02"),
) -> PlannerRequest:
    """A room whose participants said ITEMS and `items`, and whose host stated `notes`, each in the round of its id."""
    said: dict[tuple[int, str], list[Item]] = {}
    for entry in (*ITEMS, *items):
        number, alias, _ = entry.id.split("/")
        said.setdefault((int(number[1:]), alias), []).append(entry)
    turns = [
        Projection(round=number, alias=alias, outcome=Outcome.REPLIED, items=tuple(entries))
        for (number, alias), entries in said.items()
    ]
    rounds = sorted({int(note.id[1]) for note in notes})
    seen = [Observation(round=n, notes=tuple(note for note in notes if note.id[1] == str(n))) for n in rounds]
    return PlannerRequest(language=language, tension=TENSION, exchange=rounds_of(turns, seen), aliases=aliases)


def claim(text: str, *sources: str) -> ClaimDraft:
    return ClaimDraft(text=text, sources=list(sources))


DRAFT = PlanDraft(
    date=claim("The empty bus goes up until June.", "R1/P01/1"),
    possible=[
        claim("Bread is to reach nine villages before work.", "T/T", "T/I"),
        claim("An empty bus goes up at 05:40 [R1/P01/1], and P02 has keys.", "R1/P02/1"),
    ],
    roles=[
        RoleDraft(
            alias="P01",
            role="drives the school bus",
            conditions=[claim("Nothing while a child is on board.", "R1/P01/2")],
        ),
        RoleDraft(alias="P02", role="holds door keys"),
    ],
    tasks=[
        TaskDraft(id="a", title="Load the bus", assignee="P01", when="at 05:30", sources=["R1/P01/1"]),
        TaskDraft(id="b", title="Set down", assignee="P02", prerequisites=["a"], sources=["R1/P02/1"]),
        TaskDraft(
            id="c", title="Say whether the price holds in winter", assignee="P00", question=True, sources=["T/E"]
        ),
    ],
    offsets=[claim("Crates must be out before the children come.", "R1/P01/2")],
    residuals=[
        ResidualDraft(
            title="The west side",
            transition="From no car to a car on the west side before noon",
            initial_state="four villages lie on the west side",
            barriers=["nobody here drives there"],
            exchange="loaves at cost",
            sources=["R1/n1"],
        )
    ],
)


def settled(
    draft: PlanDraft = DRAFT, *said: Item, language: Language = "en", hidden: bool = False, **changes: Any
) -> Plan:
    return settle_plan(draft, request(*said, language=language, **changes), hidden=hidden)


def with_(**changes: Any) -> PlanDraft:
    return DRAFT.model_copy(update=changes)


def sentences(page: Page) -> list[str]:
    return [
        text
        for section in (*page.sections, *page.appendix)
        for group in section.groups
        for text in (group.heading, *(entry.text for entry in group.entries))
    ]


def entries(plan: Plan, kind: str, answers: tuple[GivenAnswer, ...] = ()) -> list[tuple[str, str, str]]:
    (section,) = (section for section in plan_page(plan, answers).sections if section.kind == kind)
    return [(entry.label, entry.text, entry.remark) for group in section.groups for entry in group.entries]


ANSWERS = (
    GivenAnswer(alias="P01", decision="commit", name="Ada"),
    GivenAnswer(alias="P02", decision="propose", words="Leave the crates at the school."),
)


def test_a_plan_is_read_in_the_order_in_which_its_reader_acts_and_sources_follow() -> None:
    page = plan_page(settled(DRAFT, item("R2/P02/2", "The door sticks in the rain.")))
    assert [section.kind for section in page.sections] == ["possible", "roles", "first", "open", "against"]
    assert [section.kind for section in page.appendix] == ["residuals", "unused"]
    told = markdown(page)
    assert told.index("## Conflicts") < told.index("## Sources") < told.index("### Also said in the rounds")
    assert "four villages lie on the west side" not in told.split("## Sources")[0]


def test_the_first_line_says_that_nobody_has_agreed_and_the_date_follows_what_is_possible() -> None:
    plan = settled()
    assert plan_markdown(plan).splitlines()[2] == "Nobody has agreed to anything yet."
    assert entries(plan, "possible")[-1][:2] == ("The date that matters most:", "The empty bus goes up until June.")
    agreed = plan_page(plan, ANSWERS).lead
    assert agreed is not None
    assert agreed.text.startswith("Agreed so far: P01. Nobody else has agreed to anything yet.")
    bare = plan_page(settled(with_(date=ClaimDraft(text="")), language="zh")).lead
    assert bare is not None and (bare.text, bare.note) == ("还没有人答应过任何事。", 0)


def test_the_body_ends_with_how_it_was_answered_and_earlier_answers_stand_behind_the_sources() -> None:
    earlier = (EarlierAnswer(revision=1, alias="P02", decision="decline"),)
    page = plan_page(settled(), (*ANSWERS, GivenAnswer(alias="P03")), earlier)
    answers = page.sections[-1]
    assert (answers.kind, [group.heading for group in answers.groups]) == (
        "answers",
        ["Committed", "Proposed a change", "No answer"],
    )
    assert page.appendix[-1].kind == "answers_before"
    told = markdown(page)
    assert "- P01 (Ada)" in told and "- P03" in told
    assert "P03: said nothing in the rounds" in told, "everybody who is named is introduced"
    assert "- **P02:** “Leave the crates at the school.”" in told
    assert "answers" not in [section.kind for section in plan_page(settled()).sections]


@pytest.mark.parametrize(
    ("language", "gone"), [("en", "P08: was erased; P09: was erased"), ("zh", "P09（资料已被抹去）")]
)
def test_an_erased_person_is_not_said_to_have_said_nothing(language: Language, gone: str) -> None:
    answers = (GivenAnswer(alias="P08", decision="erased"), GivenAnswer(alias="P09"))
    plan = settled().model_copy(update={"language": language, "removed": ("P09",)})
    assert gone in plan_page(plan, answers).sections[0].groups[0].entries[0].text


def test_the_line_of_an_erased_answer_has_one_colon() -> None:
    assert answered_by((GivenAnswer(alias="P01", decision="erased"),), "en").count(":") == 1


def test_everybody_is_introduced_before_anything_is_said_of_them() -> None:
    told = plan_markdown(settled())
    people = told.index("P00: asked for this; P01: drives the school bus; P02: holds door keys")
    assert people < told.index("and P02 has keys")


def test_a_person_is_shown_with_their_tasks_then_their_conditions() -> None:
    assert entries(settled(), "roles") == [
        ("Step 1:", "Load the bus (at 05:30).", "offered"),
        ("Condition:", "Nothing while a child is on board.", ""),
        ("Step 2:", "Set down.", "offered; after step 1"),
    ]
    assert entries(settled(), "roles", ANSWERS)[0][2] == "committed"


def test_questions_and_tasks_without_a_doer_are_what_is_to_be_settled_first() -> None:
    tasks = [
        *DRAFT.tasks,
        TaskDraft(id="d", title="Cool the crates.", assignee="nobody"),
        TaskDraft(id="e", title="Open the yard", assignee="outside", outside="the school", prerequisites=["a"]),
    ]
    assert entries(settled(with_(tasks=tasks)), "first") == [
        ("Step 3: P00:", "Say whether the price holds in winter.", ""),
        ("Step 4: Nobody yet:", "Cool the crates.", ""),
        ("Step 5: the school, outside this room:", "Open the yard.", "after step 1"),
    ]
    assert entries(settled(language="zh"), "first")[0][0] == "第 3 步：P00："


def test_a_promise_of_the_demander_stands_under_the_demander() -> None:
    given = TaskDraft(id="d", title="Bake forty loaves more", assignee="P00", sources=["T/E"])
    page = plan_page(settled(with_(tasks=[given])))
    group = next(section for section in page.sections if section.kind == "roles").groups[-1]
    assert (group.alias, [entry.remark for entry in group.entries]) == ("P00", ["to decide"])


def test_no_id_stands_in_a_sentence_and_every_note_quotes_a_source() -> None:
    page = plan_page(settled())
    assert not [text for text in sentences(page) if ID.search(text)]
    assert not ID.search(markdown(page))
    shown = (page.lead, *(entry for section in page.sections for group in section.groups for entry in group.entries))
    assert {entry.note for entry in shown if entry} - {0} == {note.number for note in page.notes}
    bus = next(note for note in page.notes if {line.id for line in note.lines} == {"R1/P01/1", "R1/P02/1"})
    assert [(line.label, line.text) for line in bus.lines] == [
        ("P02, round 1, item 1", "P02 holds the door keys of 26 houses."),
        ("P01, round 1, item 1", "P01 drives an empty bus up the east side at 05:40."),
    ]
    assert "observation of round 1: “Nobody drives on the west side before noon.”" in markdown(page)


def test_the_same_sources_have_one_note_and_a_conclusion_says_that_it_is_one() -> None:
    so = ClaimDraft(text="So P02 waits.", sources=["R1/P01/1"], concluded=True)
    notes = plan_page(settled(with_(offsets=[so]))).notes
    assert len({(note.kind, note.doubt, tuple(line.id for line in note.lines)) for note in notes}) == len(notes)
    assert next(note for note in notes if note.kind == "concluded").says == "the plan concludes this itself, from"


def test_a_claim_without_a_source_is_told_apart() -> None:
    page = plan_page(settled(with_(offsets=[claim("Ten crates fit.", "R9/P09/9")])))
    (note,) = [note for note in page.notes if note.kind == "unsupported"]
    assert not note.lines and "nothing in the record says this" in note.says


def test_an_item_that_nothing_in_the_plan_cites_stands_behind_the_sources_under_its_speaker() -> None:
    used, unused = item("R2/P01/1", "The bus is empty.", replaces=("R1/P01/1",)), item("R2/P02/2", "The door sticks.")
    draft = with_(date=claim("It begins.", "R2/P01/1"))
    last = plan_page(settled(draft, used, unused)).appendix[-1]
    assert (last.kind, [(group.alias, [entry.text for entry in group.entries]) for group in last.groups]) == (
        "unused",
        [("P02", ["The door sticks."])],
    )


@pytest.mark.parametrize(
    "said",
    [
        pytest.param((item("R2/P02/2", "The door may stick.", inferred=True),), id="an inference"),
        pytest.param((item("R2/P03/1", "The door sticks."),), id="of somebody whom the plan leaves out"),
        pytest.param(
            (item("R2/P02/2", "The door sticks."), item("R3/P02/1", ITEMS[2].text, replaces=("R2/P02/2",))),
            id="replaced, by an item with the text of one that is cited",
        ),
    ],
)
def test_what_is_not_said_by_a_participant_or_does_not_hold_is_not_listed_as_unused(said: tuple[Item, ...]) -> None:
    assert settled(DRAFT, *said).unused == ()


def test_a_closed_record_is_quoted_nowhere_but_in_the_tension() -> None:
    plan = settled(DRAFT, item("R2/P02/2", "The door sticks."), hidden=True)
    assert {source.id for source in plan.references if source.text} == {"T/T", "T/I", "T/B1", "T/E"}
    assert plan.unused == ()
    assert "holds the door keys of" not in plan_markdown(plan)


def test_what_was_replaced_is_no_source_any_more() -> None:
    plan = settled(DRAFT, item("R2/P01/1", "P01 drives no bus from May on.", replaces=("R1/P01/1",)))
    assert "R1/P01/1" not in plan.cited()
    assert not plan.tasks[0].sources and plan.date is not None and not plan.date.supported


def test_ids_in_sentences_become_words_and_sources() -> None:
    assert without_ids("It starts (R1/P01/1, T/B1).", "en") == ("It starts.", ("R1/P01/1", "T/B1"))
    assert without_ids("As R1/P01/2 says, B1 stays.", "en") == (
        "As what P01 said in round 1 says, obstacle 1 stays.", ()
    )  # fmt: skip
    assert without_ids("照 R2/n3，对着 B2 没有人。", "zh")[0] == "照 第 2 轮的催化观察，对着 第 2 个阻碍 没有人。"
    assert without_ids("Ride bus R12 to pier B12.", "en") == ("Ride bus R12 to pier B12.", ())


@pytest.mark.parametrize(
    ("language", "text", "told"),
    [
        ("en", "a and t1 go on side by side; R12 is no step.", "a and t1 go on side by side; R12 is no step."),
        ("en", "t7 goes before t8.", "step 1 goes before step 2."),
        ("zh", "t7和t8可以同时做。", "第 1 步和第 2 步可以同时做。"),
    ],
)
def test_the_id_of_a_task_in_a_sentence_becomes_its_number(language: Language, text: str, told: str) -> None:
    tasks = [TaskDraft(id="t7", title="Load"), TaskDraft(id="t8", title="Unload")]
    draft = with_(tasks=tasks, offsets=[claim(text, "T/I")])
    assert settled(draft, language=language).offsets[0].text == told


PRICE = Note(id="R1/n2", kind=NoteKind.GAP, text="Whether the price holds has not been said.", about=("E",), asks="P00")
LEFT = Note(id="R1/n3", kind=NoteKind.GAP, text="P09 seems to have a yard.", about=("B1",), asks="P09")


def test_an_open_gap_that_the_plan_cites_nowhere_is_listed_at_its_end() -> None:
    plan = settled(with_(residuals=[]), notes=(WEST, PRICE, LEFT))
    assert len(plan.tasks) == len(DRAFT.tasks) and plan.residuals == ()
    assert [one.id for one in plan.unused][-3:] == ["R1/n1", "R1/n2", "R1/n3"]
    [unused] = (section for section in plan_page(plan).appendix if section.kind == "unused")
    assert unused.groups[-1].heading == "Questions that stayed open"
    assert [entry.text for entry in unused.groups[-1].entries] == [WEST.text, PRICE.text, LEFT.text]


def test_a_gap_that_was_answered_or_cited_is_not_listed() -> None:
    answered = item("R2/P02/2", "P02 lends the yard.", about=("R1/n3",))
    asked = LEFT.model_copy(update={"asks": "P02"})
    assert "R1/n3" in [one.id for one in settled(DRAFT, notes=(WEST, asked)).unused]
    assert "R1/n3" not in [one.id for one in settled(DRAFT, answered, notes=(WEST, asked)).unused]
    assert "R1/n1" not in [one.id for one in settled(DRAFT, notes=(WEST,)).unused], "a residual cites it"


def test_a_residual_is_a_whole_tension() -> None:
    long = DRAFT.residuals[0].model_copy(update={"initial_state": "four villages " * 100})
    (west,) = settled(with_(residuals=[long])).residuals
    assert west.tension.initial_state == long.initial_state.strip(), "200 words are not cut"


def complaints(draft: PlanDraft, language: Language = "en") -> list[str]:
    asked = request(language=language)
    return [complaint.reason for check in PLAN_CHECKS for complaint in check(draft, asked)]


def test_a_plan_that_can_stand_is_not_sent_back() -> None:
    assert complaints(DRAFT) == []
    assert settled().remarks == ()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_body_that_is_too_long_is_sent_back_once_and_then_stands(language: Language) -> None:
    words = "word " * 600 if language == "en" else "很" * 1_000
    draft = with_(offsets=[claim(words, "T/I")] * 3)
    assert complaints(draft, language) == ["plan_too_long"]
    plan = settled(draft, language=language)
    assert len(plan.offsets) == 3 and str(body_limit(language, 2)) in plan.remarks[0]


def test_sources_unused_items_and_the_lines_of_residuals_are_not_counted() -> None:
    long = DRAFT.residuals[0].model_copy(update={"initial_state": "four villages " * 100})
    plan = settled(with_(residuals=[long]), item("R2/P02/2", "door " * 2_000))
    assert body_units(plan) == body_units(settled()) < 200


def test_a_larger_room_has_a_longer_plan() -> None:
    assert [body_limit("en", people) for people in (2, 5, 8)] == [1_500, 1_500, 2_400]
    assert body_limit("zh", 5) == 2_500


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"offsets": [claim("Ten crates fit.", "R9/P09/9")]}, "claim_without_source"),
        (
            {"residuals": [DRAFT.residuals[0].model_copy(update={"exchange": "loaf " * 500})]},
            "residual_too_long",
        ),
    ],
)
def test_a_claim_without_a_source_and_a_residual_longer_than_a_tension_are_sent_back(
    changes: dict[str, Any], reason: str
) -> None:
    assert complaints(with_(**changes)) == [reason]


def test_an_exported_observation_holds_its_words_and_every_statement_with_its_id() -> None:
    observed = Observation(
        round=2,
        words="P01 drives past P02.",
        relations=(
            Relation(
                id="R2/r1",
                between=("P01", "B1"),
                kind=RelationKind.OFFSETTING,
                text="The tour ends too late.",
                sources=("R1/P01/1",),
                replaces=("R1/r1",),
            ),
        ),
        none=(("P01", "P02"),),
        notes=(PRICE,),
        ended=(Ended(id="R1/n1", why="P02 drives there."),),
    )
    told = observation_markdown(observed)
    assert told.index("P01 drives past P02.") < told.index("## Relations")
    for line in (
        "- `R2/r1` **offsetting** P01 – B1: The tour ends too late. (R1/P01/1) (replaces R1/r1)",
        "- P01 – P02",
        "- `R1/n2` **gap** E, asks P00: Whether the price holds has not been said.",
        "- `R1/n1` P02 drives there.",
    ):
        assert line in told.splitlines()
    assert "**缺口** E，问 P00" in observation_markdown(observed, "zh")


def test_an_exported_turn_shows_each_item_with_its_quotes() -> None:
    said = item("R2/P02/1", "P02 keeps a list.", about=("B1",), quotes=("my list",), replaces=("R1/P02/1",))
    own = item("R2/P02/2", "I keep a list.", None)
    turn = Projection(round=2, alias="P02", outcome=Outcome.REPLIED, items=(said, own))
    told = projection_markdown(turn).splitlines()
    assert told[2:] == [
        "- `R2/P02/1` **capability** P02 keeps a list. _(about B1; replaces R1/P02/1; “my list”)_",
        "- `R2/P02/2` I keep a list.",
    ]
    silent = Projection(round=2, alias="P02", outcome=Outcome.NOTHING_NEW)
    assert projection_markdown(silent, "zh").endswith("没有新的。\n")
