"""A relation stands on an item of each side, of this round or as an earlier observation had it."""

from __future__ import annotations

from typing import Any

import pytest

from tongyao.protocol.guards.coverage import missing_pairs, settle_observation, unfounded_pairs
from tongyao.protocol.model.observation import Observation, ObservationDraft, PairDraft, Relation

PEOPLE = ("P01", "P02")
ITEMS = {"R1/P01/1": "a cold room", "R1/P02/1": "needs cold", "R1/catalyst/1": "one has what the other needs"}


def draft(**changes: Any) -> PairDraft:
    fields = {"a": "P02", "b": "p01", "relation": "complementary", "sources": ["R1/P01/1", "R1/P02/1"], **changes}
    return PairDraft.model_validate(fields)


def settled(pair: PairDraft, *earlier: Observation, round_number: int = 1) -> Observation:
    return settle_observation(
        ObservationDraft(pairs=[pair]),
        round_number=round_number,
        contributors=PEOPLE,
        targets=("T", "B1"),
        item_texts=ITEMS,
        verdict_counts=False,
        earlier=earlier,
    )


def test_a_pair_is_one_pair_whoever_comes_first_and_however_the_alias_is_written() -> None:
    assert missing_pairs([draft()], PEOPLE) == ()
    (pair,) = settled(draft()).pairs
    assert (pair.a, pair.b, pair.relation, pair.sources) == (
        "P01",
        "P02",
        Relation.COMPLEMENTARY,
        ("R1/P01/1", "R1/P02/1"),
    )


@pytest.mark.parametrize(
    ("sources", "without"),
    [(["R1/P01/1"], "P02"), ([], "P01 and P02"), (["R1/catalyst/1"], "P01 and P02"), (["R9/P02/1", "R1/P01/1"], "P02")],
)
def test_a_relation_without_an_item_of_each_side_is_complained_of_and_does_not_stand(
    sources: list[str], without: str
) -> None:
    pair = draft(sources=sources)
    assert unfounded_pairs([pair], PEOPLE, ITEMS) == (("P01", "P02", without),)
    assert settled(pair).pairs[0].relation is Relation.NONE_FOUND


def test_what_stays_as_it_was_keeps_what_it_stood_on_and_what_changes_does_not() -> None:
    before = settled(draft())
    same, other = draft(sources=["R1/catalyst/1"]), draft(relation="offsetting", sources=["R1/catalyst/1"])
    assert unfounded_pairs([same], PEOPLE, ITEMS, [before]) == ()
    kept = settled(same, before, round_number=2).pairs[0]
    assert kept.relation is Relation.COMPLEMENTARY
    assert {"R1/P01/1", "R1/P02/1"} <= set(kept.sources)
    assert unfounded_pairs([other], PEOPLE, ITEMS, [before])
    assert settled(other, before, round_number=2).pairs[0].relation is Relation.NONE_FOUND
