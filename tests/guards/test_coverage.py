"""Every pair stands once: as stated in this round, or carried from an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.judgement.rooms import exchange, item, request, seen
from tongyao.protocol.guards.coverage import PairStatements, missing_pairs
from tongyao.protocol.guards.observation_review import settle_observation
from tongyao.protocol.model.observation import Basis, Observation, ObservationDraft, Pair, PairDraft, Relation
from tongyao.protocol.model.projection import Dimension
from tongyao.protocol.model.requests import CatalystRequest, Exchange

COMPLEMENTARY = {"relation": "complementary", "lack": ["R1/P02/1"], "means": ["R1/P01/1"]}
OFFSETTING = {"relation": "offsetting", "condition": ["R1/P01/1"], "cancels": ["R1/P02/1"]}


def draft(**changes: Any) -> PairDraft:
    fields = {"a": "P02", "b": "p01", "text": "…", "sources": ["R1/P01/1", "R1/P02/1"], **COMPLEMENTARY, **changes}
    return PairDraft.model_validate(fields)


def first_round(*, limit: bool = False) -> CatalystRequest:
    """P01 and P02 with a quoted item each; `limit`: that of P01 is a boundary."""
    dimension = Dimension.BOUNDARY if limit else Dimension.CAPABILITY
    return request(
        [exchange(1, [item("R1/P01/1", quote=(0, 50), dimension=dimension), item("R1/P02/1", quote=(0, 50))])]
    )


def settled(pairs: Sequence[PairDraft], asked: CatalystRequest, guards: Counter[str] | None = None) -> Observation:
    return settle_observation(ObservationDraft(pairs=list(pairs), markdown="…"), asked, guards=guards)


def after(*stated: PairDraft, limit: bool = False) -> Exchange:
    """The first round with what was stated in it."""
    asked = first_round(limit=limit)
    return asked.exchange[0].model_copy(update={"observation": settled(stated, asked)})


def faults(pair: PairDraft, asked: CatalystRequest) -> list[str]:
    return [fault for _, _, fault in PairStatements(asked).faults([pair])]


def test_a_pair_is_one_pair_whoever_comes_first_and_however_the_alias_is_written() -> None:
    assert missing_pairs([draft()], [("P01", "P02")]) == ()
    (pair,) = settled([draft()], first_round()).pairs
    assert (pair.id, pair.a, pair.b) == ("R1/catalyst/1", "P01", "P02")
    assert (pair.relation, pair.basis, pair.sources) == (
        Relation.COMPLEMENTARY,
        Basis.STATED,
        ("R1/P01/1", "R1/P02/1"),
    )


def test_ids_in_the_form_are_sources() -> None:
    (pair,) = settled([draft(sources=[])], first_round()).pairs
    assert set(pair.sources) == {"R1/P01/1", "R1/P02/1"}


@pytest.mark.parametrize(
    ("sources", "without"),
    [(["R1/P01/1"], "P02"), ([], "P01, P02"), (["R1/catalyst/1"], "P01, P02"), (["R9/P02/1", "R1/P01/1"], "P02")],
)
def test_a_relation_without_an_item_of_each_side_is_complained_of_and_does_not_stand(
    sources: list[str], without: str
) -> None:
    pair = draft(sources=sources, lack=[], means=[])
    assert faults(pair, first_round()) == [f"its sources name no item of {without}."]
    assert settled([pair], first_round()).pairs[0].relation is Relation.NONE_FOUND


@pytest.mark.parametrize(
    "form",
    [
        {"lack": []},
        {"lack": ["R1/P01/1"]},
        {"relation": "offsetting"},
        {"relation": "offsetting", "condition": ["R1/P01/1"], "cancels": ["R1/catalyst/1"]},
        {"relation": "aligned"},
        {"relation": "aligned", "steps": [{"a": "R1/P01/1", "b": "R1/P02/1"}, {"a": "R1/P02/1", "b": "R1/P01/1"}]},
        {"relation": "aligned", "steps": [{"a": "R1/P01/1", "b": "R1/P01/1"}, {"a": "R1/P02/1", "b": ""}]},
    ],
)
def test_a_relation_that_cites_both_sides_without_its_form_stands_as_inferred(form: dict[str, Any]) -> None:
    guards: Counter[str] = Counter()
    pair = draft(**form)
    assert len(faults(pair, first_round())) == 1
    (stands,) = settled([pair], first_round(), guards).pairs
    assert (stands.relation, stands.basis) == (pair.relation, Basis.INFERRED)
    assert guards["inferred_relations"] == 1


def test_an_aligned_relation_has_two_steps_with_items_of_both_sides() -> None:
    asked = request(
        [exchange(1, [item(f"R1/{alias}/{number}", quote=(0, 9)) for alias in ("P01", "P02") for number in (1, 2)])]
    )
    steps = [{"a": "R1/P01/1", "b": "R1/P02/1"}, {"a": "R1/P02/2", "b": "R1/P01/2"}]
    (pair,) = settled([draft(relation="aligned", steps=steps)], asked).pairs
    assert pair.basis is Basis.STATED
    assert [(step.a, step.b) for step in pair.form.steps] == [("R1/P01/1", "R1/P02/1"), ("R1/P01/2", "R1/P02/2")]
    likeness = draft(relation="aligned", steps=[{"a": "R1/P01/1", "b": "R1/P02/1"}, {"a": "R1/P01/2", "b": "R1/P02/1"}])
    assert "four different items" in faults(likeness, asked)[0]
    (pair,) = settled([likeness], asked).pairs
    assert pair.basis is Basis.INFERRED, "both steps rest on one item of P02"


@pytest.mark.parametrize(
    ("theirs", "basis"), [(Dimension.DIRECTION, Basis.STATED), (Dimension.CAPABILITY, Basis.INFERRED)]
)
def test_two_whose_directions_overlap_are_aligned_by_the_one_item_that_says_the_change(
    theirs: Dimension, basis: Basis
) -> None:
    """Seed 000: the direction is what an aligned relation is about. An endpoint says a whole change in one item of this dimension."""
    said = [
        item("R1/P01/1", quote=(0, 50), dimension=Dimension.DIRECTION),
        item("R1/P02/1", quote=(0, 50), dimension=theirs),
    ]
    asked = request([exchange(1, said)])
    changed = draft(relation="aligned", steps=[{"a": "R1/P01/1", "b": "R1/P02/1"}])
    assert (faults(changed, asked) == []) is (basis is Basis.STATED)
    assert settled([changed], asked).pairs[0].basis is basis


def test_slots_hold_items_of_both_where_each_of_the_two_lacks_what_the_other_has() -> None:
    said = [item(f"R1/{alias}/{number}", quote=(0, 9)) for alias in ("P01", "P02") for number in (1, 2)]
    asked = request([exchange(1, said)])
    both = draft(lack=["R1/P01/1", "R1/P02/1"], means=["R1/P02/2", "R1/P01/2"])
    assert faults(both, asked) == []
    (pair,) = settled([both], asked).pairs
    assert (pair.form.lack, pair.form.means) == (("R1/P01/1", "R1/P02/1"), ("R1/P02/2", "R1/P01/2"))


def test_pairs_with_a_new_item_on_a_side_are_examined_again_and_others_are_carried() -> None:
    people = ("P01", "P02", "P03")
    round_1 = exchange(1, [item(f"R1/{alias}/1", quote=(0, 9)) for alias in people])
    stated = [draft(), draft(a="P01", b="P03", relation="none_found"), draft(a="P02", b="P03", relation="none_found")]
    round_1 = round_1.model_copy(update={"observation": settled(stated, request([round_1]))})
    asked = request([round_1, exchange(2, [item("R2/P03/1", quote=(100, 150))])])
    assert PairStatements(asked).wanted == (("P01", "P03"), ("P02", "P03"))
    carried = settled([], asked)
    assert [(pair.id, pair.carried) for pair in carried.pairs] == [
        ("R1/catalyst/1", True),
        ("R1/catalyst/2", True),
        ("R1/catalyst/3", True),
    ]
    assert "### Relations that stand from earlier rounds" in carried.markdown
    assert missing_pairs([], PairStatements(asked).wanted) == (("P01", "P03"), ("P02", "P03"))


def test_somebody_who_speaks_for_the_first_time_makes_pairs_that_were_never_examined() -> None:
    asked = request([after(draft()), exchange(2, [item("R2/P03/1", quote=(0, 9))])])
    pairs = {(pair.a, pair.b): pair for pair in settled([], asked).pairs}
    assert pairs["P01", "P03"].relation is Relation.NOT_EXAMINED
    assert pairs["P01", "P02"].carried


def test_a_relation_is_not_relabelled_where_neither_side_has_a_new_item() -> None:
    asked = request([after(draft()), exchange(2, [])])
    (pair,) = settled([draft(**OFFSETTING)], asked).pairs
    assert (pair.relation, pair.carried) == (Relation.COMPLEMENTARY, True)


def test_a_relation_may_be_found_late_between_two_who_said_nothing_new() -> None:
    asked = request([after(draft(relation="none_found")), exchange(2, [])])
    (pair,) = settled([draft()], asked).pairs
    assert (pair.id, pair.relation, pair.carried) == ("R2/catalyst/1", Relation.COMPLEMENTARY, False)


def test_a_relation_that_is_stated_again_without_anything_new_stays_the_first_statement() -> None:
    asked = request([after(draft()), exchange(2, [item("R2/P01/1", quote=(100, 150))])])
    for again in (draft(text="as in R1", sources=[], lack=[], means=[]), draft(text="other words")):
        (pair,) = settled([again], asked).pairs
        assert (pair.id, pair.text, pair.carried) == ("R1/catalyst/1", "…", False)
    (restated,) = settled([draft(sources=["R2/P01/1"], lack=[], means=[])], asked).pairs
    assert restated.id == "R2/catalyst/1"
    assert restated.basis is Basis.STATED, "the form of the first statement holds"
    assert {"R1/P01/1", "R1/P02/1", "R2/P01/1"} == set(restated.sources)


def test_an_inferred_relation_is_stated_once_its_form_is_given() -> None:
    asked = request([after(draft(lack=[])), exchange(2, [item("R2/P01/1")])])
    (pair,) = settled([draft()], asked).pairs
    assert (pair.id, pair.basis) == ("R2/catalyst/1", Basis.STATED)


@pytest.mark.parametrize("relation", ["complementary", "aligned", "none_found"])
def test_what_rests_on_a_boundary_with_a_quote_is_relabelled_only_with_a_new_quote(relation: str) -> None:
    stood = after(draft(**OFFSETTING), limit=True)
    softened = draft(relation=relation, sources=["R2/P02/1", "R1/P01/1"], lack=["R2/P02/1"], means=["R1/P01/1"])
    for quote, kept in (((0, 50), True), (None, True), ((100, 150), False)):
        asked = request([stood, exchange(2, [item("R2/P02/1", quote=quote)])])
        guards: Counter[str] = Counter()
        (pair,) = settled([softened], asked, guards).pairs
        assert (pair.relation is Relation.OFFSETTING) is kept, quote
        assert (guards["relations_refused"] == 1) is kept
        assert ("boundary with a quote" in " ".join(faults(softened, asked))) is kept


def test_a_relation_on_no_boundary_is_relabelled_on_any_new_item() -> None:
    asked = request([after(draft()), exchange(2, [item("R2/P02/1", inferred=True)])])
    (pair,) = settled([draft(**OFFSETTING)], asked).pairs
    assert pair.relation is Relation.OFFSETTING


def test_a_change_that_cites_no_item_of_a_side_leaves_the_relation_as_it_stood() -> None:
    asked = request([after(draft()), exchange(2, [item("R2/P02/1")])])
    bare = draft(relation="offsetting", sources=["R2/P02/1"], lack=[], means=[])
    assert faults(bare, asked) == ["its sources name no item of P01."]
    (pair,) = settled([bare], asked).pairs
    assert (pair.id, pair.relation) == ("R1/catalyst/1", Relation.COMPLEMENTARY)


def test_an_answer_that_cannot_be_read_leaves_what_stood_and_examines_nothing_else() -> None:
    assert settled([], first_round()).pairs[0].relation is Relation.NOT_EXAMINED
    asked = request([after(draft()), exchange(2, [item("R2/P02/1", quote=(100, 150))])])
    assert settled([], asked).pairs[0].carried


def test_a_pair_that_was_not_examined_is_asked_for_again() -> None:
    unread = Pair(id="R1/catalyst/1", a="P01", b="P02", relation=Relation.NOT_EXAMINED)
    first = first_round().exchange[0].model_copy(update={"observation": seen(1, pairs=(unread,))})
    assert PairStatements(request([first, exchange(2, [])])).wanted == (("P01", "P02"),)


def test_what_rests_on_a_boundary_that_its_speaker_took_back_may_be_relabelled() -> None:
    stood = after(draft(**OFFSETTING), limit=True)
    back = item("R2/P01/1", inferred=True).model_copy(update={"withdraws": ("R1/P01/1",)})
    asked = request([stood, exchange(2, [back])])
    (pair,) = settled([draft(relation="none_found", sources=[], lack=[], means=[])], asked).pairs
    assert pair.relation is Relation.NONE_FOUND


def test_what_was_taken_back_does_not_come_back_with_a_relation_that_is_stated_again() -> None:
    back = item("R2/P01/1").model_copy(update={"withdraws": ("R1/P01/1",)})
    asked = request([after(draft()), exchange(2, [back])])
    again = draft(sources=["R2/P01/1", "R1/P02/1"], lack=["R1/P02/1"], means=["R2/P01/1"])
    (pair,) = settled([again], asked).pairs
    assert "R1/P01/1" not in pair.sources
