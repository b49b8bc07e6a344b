"""What a run found is counted from its record and its case alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evaluation.test_judging import CASE, NAMES, record
from tongyao.commands.actions.evaluate import measured_before, plans_of, table_of
from tongyao.evals.cases import CaseError, Expected, ExpectedTranslation, Link, Trap, load, only
from tongyao.evals.measure import Measures, measure
from tongyao.protocol.model.observation import Relation, SecondRelation, Translation
from tongyao.protocol.model.plan import Claim, Plan
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection, Span
from tongyao.protocol.model.record import Record

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXTS = {"P01": "I keep ice.", "P02": "I need ice."}


def measured(seen: Record, expected: Expected = CASE.expected) -> Measures:
    return measure(CASE.model_copy(update={"expected": expected}), seen, NAMES, TEXTS, engine="test")


def with_pair(**changes: object) -> Record:
    before = record()
    (seen,) = before.observations
    pair = seen.pairs[0].model_copy(update=changes)
    return before.model_copy(update={"observations": (seen.model_copy(update={"pairs": (pair,)}),)})


def test_a_link_is_found_by_its_kind_with_a_term_of_each_side() -> None:
    ran = measured(record())
    assert [(link.id, link.round, link.in_time) for link in ran.links] == [("L1", 1, True), ("L2", 0, False)]
    assert ran.found() == (1, 2)
    assert ran.found("offsetting") == (0, 1)
    assert ran.false_relations == ("T1",)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"relation": Relation.ALIGNED}, 0),
        ({"relation": Relation.NONE_FOUND}, 0),
        ({"sources": ("R1/P01/1",)}, 1),
    ],
)
def test_another_kind_or_one_side_alone_is_not_found(changes: dict[str, object], named: int) -> None:
    first = measured(with_pair(**changes)).links[0]
    assert (first.round, first.named_round) == (0, named)


def test_evidence_is_looked_for_in_claims_and_in_what_they_quote() -> None:
    link = Link(id="L", kind="complementary", between=("ada", "bo"), a_terms=("keep ice",), b_terms=("ice",))
    assert measured(record(), Expected(links=(link,))).links[0].round == 0
    said = record()
    first = said.projections[0]
    quoting = first.items[0].model_copy(update={"spans": (Span(source="profile", start=2, end=10),)})
    said = said.model_copy(
        update={"projections": (first.model_copy(update={"items": (quoting,)}), said.projections[1])}
    )
    assert measured(said, Expected(links=(link,))).links[0].round == 1


def test_a_translation_counts_with_a_word_of_each_side_whichever_comes_first() -> None:
    wanted = Expected(
        translations=(ExpectedTranslation(id="R1", between=("ada", "bo"), a_terms=("keep",), b_terms=("need",)),)
    )
    told = Translation(
        id="R1/catalyst/2", a="P02", b="P01", a_words="I need it", b_words="I keep it", text="may be one"
    )
    said = record()
    seen = said.observations[0].model_copy(update={"translations": (told,)})
    ran = measured(said.model_copy(update={"observations": (seen,)}), wanted)
    assert (ran.translations, ran.own_words) == (("R1",), 0.0)


def test_saying_again_lowers_the_delta_and_a_claim_without_source_the_traceability() -> None:
    said = record()
    again = Projection(
        round=2,
        alias="P01",
        outcome=Outcome.REPLIED,
        items=(
            Item(id="R2/P01/1", dimension=Dimension.CAPABILITY, claim="ice"),
            Item(id="R2/P01/2", dimension=Dimension.BOUNDARY, claim="closes in August"),
        ),
    )
    plan = Plan(panorama=(Claim(text="a", sources=("R1/P01/1",)), Claim(text="b", supported=False)))
    ran = measured(said.model_copy(update={"projections": (*said.projections, again), "plans": (plan,)}))
    assert (ran.delta, ran.traceable, ran.converged) == (0.5, 0.5, True)


def test_pairs_of_which_nothing_is_expected_are_counted_apart() -> None:
    none = Expected(traps=(Trap(id="T", kind="surface_match", between=("ada",)),))
    ran = measured(record(), none)
    assert (ran.relations, ran.unexpected, ran.false_relations) == (1, 1, ())


def test_every_shipped_case_loads_and_can_be_cut_to_some_of_its_people() -> None:
    cases = [load(path.parent) for path in sorted(EXAMPLES.rglob("case.json"))]
    assert len(cases) >= 7
    mountain = next(case for case in cases if case.id == "zh-medicine-mountain")
    fewer = only(mountain, ("haulier", "signalman"))
    assert list(fewer.profiles) == ["haulier", "signalman"]
    assert all(set(link.between) <= {"haulier", "signalman"} for link in fewer.expected.links)
    with pytest.raises(CaseError, match="has no nobody"):
        only(mountain, ("nobody",))


def test_a_folder_that_is_no_case_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"case\.json"):
        load(tmp_path)


def test_pairs_left_unrelated_are_counted_against_what_the_case_expects() -> None:
    unrelated = measured(with_pair(relation=Relation.NONE_FOUND), Expected())
    assert (unrelated.unrelated, unrelated.none_found, unrelated.none_found_right) == (1, 1, 1)
    missed = measured(with_pair(relation=Relation.NONE_FOUND))
    assert (missed.unrelated, missed.none_found, missed.none_found_right) == (0, 1, 0)


def test_links_are_counted_by_the_round_in_which_they_are_found() -> None:
    assert measured(record()).by_round() == {1: 1}


OFFSET = Expected(links=(Link(id="L9", kind="offsetting", between=("ada", "bo")),))
JOINED = Claim(text="ice goes to whoever needs it", sources=("R1/P01/1", "R1/P02/1"))


@pytest.mark.parametrize(
    ("plan", "walked_in"),
    [
        (Plan(panorama=(JOINED,)), ("L9",)),
        (Plan(panorama=(JOINED,), offsets=(Claim(text="no", sources=("R1/P01/1", "R1/P02/1")),)), ()),
        (Plan(panorama=(Claim(text="ice", sources=("R1/P01/1",)),)), ()),
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


def test_a_second_relation_of_a_pair_counts_by_its_own_kind_and_sources() -> None:
    link = Link(id="L", kind="complementary", between=("ada", "bo"), a_terms=("ice",), b_terms=("ice",))
    wanted = Expected(links=(link,))
    sources = ("R1/P01/1", "R1/P02/1")
    for kind, found in ((Relation.COMPLEMENTARY, 1), (Relation.OFFSETTING, 0)):
        second = SecondRelation(relation=kind, sources=sources)
        said = with_pair(relation=Relation.ALIGNED, second=second)
        assert measured(said, wanted).links[0].round == found
