"""What a run found is counted from its record and its case alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evaluation.test_judging import CASE, NAMES, record
from tongyao.commands.evaluate import measured_before, plans_of, table_of
from tongyao.evals.cases import CaseError, Expected, ExpectedTranslation, Link, Trap, load, only
from tongyao.evals.measure import Measures, measure
from tongyao.protocol.model.observation import Note, NoteKind, Relation, RelationKind, Verdict
from tongyao.protocol.model.plan import Claim, Plan, Task
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.record import Record

EXAMPLES = Path(__file__).parents[2] / "examples"
BOTH = ("R1/P01/1", "R1/P02/1")


def measured(seen: Record, expected: Expected = CASE.expected) -> Measures:
    return measure(CASE.model_copy(update={"expected": expected}), seen, NAMES, engine="test")


def observed(**changes: object) -> Record:
    """The record with an observation that states something else."""
    before = record()
    return before.model_copy(update={"observations": (before.observations[0].model_copy(update=changes),)})


def with_relations(*relations: Relation) -> Record:
    return observed(relations=relations)


def relation(kind: RelationKind, *sources: str, number: int = 1, between: tuple[str, str] = ("P01", "P02")) -> Relation:
    return Relation(id=f"R1/r{number}", between=between, kind=kind, text="t", sources=sources or BOTH)


def test_a_link_is_found_by_its_kind_with_a_term_of_each_side() -> None:
    ran = measured(record())
    assert [(link.id, link.round, link.in_time) for link in ran.links] == [("L1", 1, True), ("L2", 0, False)]
    assert ran.found() == (1, 2)
    assert ran.found("offsetting") == (0, 1)
    assert ran.false_relations == ("T1",)


@pytest.mark.parametrize(
    ("relations", "named"),
    [
        ((relation(RelationKind.ALIGNED),), 0),
        ((), 0),
        ((relation(RelationKind.COMPLEMENTARY, "R1/P01/1"),), 1),
    ],
)
def test_another_kind_or_one_side_alone_is_not_found(relations: tuple[Relation, ...], named: int) -> None:
    first = measured(with_relations(*relations)).links[0]
    assert (first.round, first.named_round) == (0, named)


def test_each_relation_of_a_pair_counts_by_its_own_kind() -> None:
    ran = measured(with_relations(relation(RelationKind.COMPLEMENTARY), relation(RelationKind.OFFSETTING, number=2)))
    assert ran.found() == (2, 2)
    assert ran.relations == 1, "pairs are counted, not relations"


def test_evidence_is_looked_for_in_texts_and_in_the_passages_that_they_quote() -> None:
    link = Link(id="L", kind="complementary", between=("ada", "bo"), a_terms=("keep ice",), b_terms=("ice",))
    assert measured(record(), Expected(links=(link,))).links[0].round == 0
    said = record()
    first = said.projections[0]
    quoting = first.items[0].model_copy(update={"quotes": ("I keep ice.",)})
    said = said.model_copy(
        update={"projections": (first.model_copy(update={"items": (quoting,)}), said.projections[1])}
    )
    assert measured(said, Expected(links=(link,))).links[0].round == 1


def test_what_a_person_adds_to_the_tension_and_what_two_mean_for_a_third_are_found() -> None:
    links = (
        Link(id="C", kind="contribution", between=("ada",), a_terms=("ice",)),
        Link(id="D", kind="third_party_value", between=("ada", "bo"), a_terms=("ice",), b_terms=("ice",)),
    )
    line = relation(RelationKind.ALIGNED, "R1/P01/1", between=("P01", "T"))
    third = Note(id="R1/n1", kind=NoteKind.THIRD_PARTY, text="t", about=("P03",), sources=BOTH)
    ran = measured(observed(relations=(line,), notes=(third,)), Expected(links=links))
    assert ran.found() == (2, 2)
    assert measured(record(), Expected(links=links)).found() == (0, 2)


def test_a_translation_counts_with_a_word_of_each_side() -> None:
    wanted = Expected(
        translations=(ExpectedTranslation(id="R1", between=("ada", "bo"), a_terms=("keep",), b_terms=("need",)),)
    )
    for text, sources, found in (
        ("“I keep it” may be what P02 means by “I need it”.", BOTH, ("R1",)),
        ("“I keep it” may be “I store it”.", BOTH, ()),
        ("“I keep it” may be “I need it”.", BOTH[:1], ()),
    ):
        told = Note(id="R1/n1", kind=NoteKind.TRANSLATION, text=text, sources=sources)
        assert measured(observed(notes=(told,)), wanted).translations == found


def test_saying_again_lowers_the_delta_and_a_claim_without_source_the_traceability() -> None:
    said = record()
    again = Projection(
        round=2,
        alias="P01",
        outcome=Outcome.REPLIED,
        items=(
            Item(id="R2/P01/1", kind=ItemKind.CAPABILITY, text="ice"),
            Item(id="R2/P01/2", kind=ItemKind.BOUNDARY, text="closes in August"),
        ),
    )
    plan = Plan(possible=(Claim(text="a", sources=("R1/P01/1",)), Claim(text="b", supported=False)))
    ran = measured(said.model_copy(update={"projections": (*said.projections, again), "plans": (plan,)}))
    assert (ran.delta, ran.traceable, ran.converged) == (0.5, 0.5, False)
    assert ran.plan_units > 0


def test_rounds_that_ended_because_nothing_new_came_have_converged() -> None:
    assert measured(observed(verdict=Verdict.EXHAUSTED)).converged


def test_pairs_of_which_nothing_is_expected_are_counted_apart() -> None:
    none = Expected(traps=(Trap(id="T", kind="surface_match", between=("ada",)),))
    ran = measured(record(), none)
    assert (ran.relations, ran.unexpected, ran.false_relations) == (1, 1, ())


def test_a_relation_that_rests_on_inference_is_counted_apart() -> None:
    said = record()
    guessed = tuple(
        turn.model_copy(update={"items": tuple(item.model_copy(update={"inferred": True}) for item in turn.items)})
        for turn in said.projections
    )
    ran = measured(said.model_copy(update={"projections": guessed}))
    assert (ran.relations, ran.inferred, ran.false_relations) == (0, 1, ())


def test_a_pair_that_was_never_looked_at_lowers_the_coverage() -> None:
    assert measured(record()).coverage == 1.0
    assert measured(with_relations()).coverage == 0.0
    assert measured(observed(relations=(), none=(("P01", "P02"),))).coverage == 1.0


def test_every_shipped_case_loads_and_can_be_cut_to_some_of_its_people() -> None:
    cases = [load(path.parent) for path in sorted(EXAMPLES.rglob("case.json"))]
    assert len(cases) >= 7
    mountain = next(case for case in cases if case.id == "zh-medicine-mountain")
    fewer = only(mountain, ("haulier", "signalman"))
    assert list(fewer.profiles) == ["haulier", "signalman"]
    assert all(set(link.between) <= {"haulier", "signalman"} for link in fewer.expected.links)
    with pytest.raises(CaseError, match="has no people called nobody"):
        only(mountain, ("nobody",))


def test_a_folder_that_is_no_case_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"case\.json"):
        load(tmp_path)


def test_links_are_counted_by_the_round_in_which_they_are_found() -> None:
    assert measured(record()).by_round() == {1: 1}


OFFSET = Expected(links=(Link(id="L9", kind="offsetting", between=("ada", "bo")),))
JOINED = Claim(text="ice goes to those who need it", sources=BOTH)


@pytest.mark.parametrize(
    ("plan", "walked_in"),
    [
        (Plan(possible=(JOINED,)), ("L9",)),
        (Plan(tasks=(Task(id="t1", title="Carry ice", assignee="P01", sources=BOTH),)), ("L9",)),
        (Plan(possible=(JOINED,), offsets=(Claim(text="no", sources=BOTH),)), ()),
        (Plan(possible=(Claim(text="ice", sources=("R1/P01/1",)),)), ()),
    ],
)
def test_a_plan_walks_into_an_offset_that_it_joins_and_nowhere_names(plan: Plan, walked_in: tuple[str, ...]) -> None:
    assert measured(record().model_copy(update={"plans": (plan,)}), OFFSET).walked_in == walked_in


def test_the_tables_have_a_line_for_each_run() -> None:
    rows = [measured(record()), measured(record())]
    for table in (table_of(rows), plans_of(rows)):
        assert table.row_count == 2


def test_rows_of_an_earlier_run_are_read_and_what_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    file.write_text(json.dumps([{**measured(record()).model_dump(mode="json"), "judgement": {}}]), encoding="utf-8")
    assert measured_before(file) == [measured(record())]
    file.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"before\.json is not what"):
        measured_before(file)
