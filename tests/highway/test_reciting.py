"""Reciting, as seed 004 has it: paths are walked, walks consolidate, counts move.

In `lay`, one line is one seek of a phrase.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crystalline_highway.memory import RECITED, Memory
from crystalline_highway.recite.segments import Level
from crystalline_highway.recite.staging import StagedRecitation, recite
from crystalline_highway.recite.walking import threshold
from crystalline_highway.settings import MemorySettings
from tests.highway.named import unit_named

ONCE = MemorySettings(passes=1)
lines = st.lists(st.text("甲乙丙丁，。 ab", max_size=12), max_size=12)


def lay(*seeks: str) -> Memory:
    return recite(["\n".join(seeks)], ONCE)


def path(memory: Memory, left: str, right: str) -> tuple[int, int] | None:
    """(walks, lifetime tally) of the phrase level's path between two surfaces."""
    paths = memory.paths[Level.PHRASE]
    ends = [unit_named(memory, left), unit_named(memory, right)]
    at = np.flatnonzero((paths.ends == ends).all(axis=1))
    return (int(paths.walks[at[0]]), int(paths.tally[at[0]])) if len(at) else None


def strength(memory: Memory, surface: str) -> int:
    unit = unit_named(memory, surface)
    assert unit is not None
    return int(memory.units.strength[unit])


@pytest.mark.parametrize(("n", "walks"), [(2, 2), (3, 3), (4, 3), (5, 4), (8, 4), (9, 5), (16, 5)])
def test_the_threshold_is_the_rounded_up_logarithm_of_the_unit_count_plus_one(n: int, walks: int) -> None:
    assert threshold(n) == walks


def test_one_walk_does_not_consolidate() -> None:
    memory = lay("甲乙丙")
    assert unit_named(memory, "甲乙") is None
    assert path(memory, "甲", "乙") == (1, 1)


def test_the_second_walk_between_two_base_units_reaches_the_threshold_and_the_count_moves() -> None:
    memory = lay("甲乙丙", "甲乙丁")
    assert strength(memory, "甲乙") == 2
    assert path(memory, "甲", "乙") == (0, 2), "the path stays, at 0; its lifetime is tallied apart"
    assert memory.units.n[unit_named(memory, "甲乙")] == 2


def test_an_occurrence_that_took_part_is_refractory_until_its_seek_ends() -> None:
    memory = lay("子甲乙丙", "丑甲乙丙")
    # In the second seek both paths reach 2; 乙 has just been used up by 甲乙.
    assert strength(memory, "甲乙") == 2
    assert unit_named(memory, "乙丙") is None
    assert path(memory, "乙", "丙") == (2, 2)


def test_a_refractory_path_consolidates_when_it_is_walked_again_in_another_seek() -> None:
    memory = lay("子甲乙丙", "丑甲乙丙", "寅乙丙")
    assert strength(memory, "乙丙") == 3


def test_the_longest_known_unit_is_matched_first() -> None:
    memory = lay("甲乙丙", "甲乙丁", "甲乙戊")
    assert path(memory, "甲", "乙") == (0, 2), "the third seek walks from 甲乙, not from 甲"
    assert path(memory, "甲乙", "戊") == (1, 1)


def test_only_pairs_consolidate_and_their_unit_counts_add_up() -> None:
    memory = lay(*(f"甲乙丙{end}" for end in "丁戊己庚辛"))
    # Twice to make 甲乙 (2 units), then three walks 甲乙 → 丙 (3 units: threshold 3).
    unit = unit_named(memory, "甲乙丙")
    assert unit is not None
    assert memory.units.n[unit] == 3
    assert strength(memory, "甲乙丙") == 3
    _whole, left, right = memory.units.pairs[memory.units.pairs[:, 0] == unit][0]
    assert (left, right) == (unit_named(memory, "甲乙"), unit_named(memory, "丙"))


def test_paths_never_cross_the_boundary_of_what_is_sought() -> None:
    memory = lay("甲", "乙", "甲", "乙")
    assert path(memory, "甲", "乙") is None


def test_a_segment_is_a_unit_from_the_first_time_it_is_sought() -> None:
    memory = lay("甲乙丙")
    unit = unit_named(memory, "甲乙丙")
    assert unit is not None
    assert strength(memory, "甲乙丙") == 0, "registered, not consolidated"
    assert memory.units.level[unit] == Level.PHRASE


def test_the_same_surface_is_one_unit_whichever_way_it_came_about() -> None:
    memory = lay("甲乙", "甲乙丙", "甲乙丁")
    assert len(set(memory.units.keys.tolist())) == len(memory.units)
    assert unit_named(memory, "甲乙") is not None


def test_each_level_is_recited_over_the_segments_of_the_level_below() -> None:
    memory = recite(["春天来了，河水涨了。春天来了，河水涨了。\n春天来了，燕子回来了。"])
    for surface, level in (("春天来", Level.PHRASE), ("河水涨了", Level.SHORT)):
        unit = unit_named(memory, surface)
        assert unit is not None
        assert memory.units.level[unit] == level
    sentence = unit_named(memory, "春天来了河水涨了")
    assert sentence is not None
    assert memory.units.level[sentence] == Level.LONG
    assert memory.units.strength[sentence] > 0, "two short sentences in a row, walked again and again, consolidate"


def test_english_is_recited_by_words() -> None:
    memory = lay("solar power grid", "Solar Power plant")
    assert strength(memory, "solar power") == 2


@settings(max_examples=60)
@given(lines)
def test_no_walk_is_lost(seeks: list[str]) -> None:
    memory = recite(["\n".join(seeks)])
    tally = sum(int(memory.paths[level].tally.sum()) for level in RECITED)
    walks = sum(int(memory.paths[level].walks.sum()) for level in RECITED)
    assert tally == walks + int(memory.units.strength.sum())
    n = memory.units.n
    assert all(n[whole] == n[left] + n[right] for whole, left, right in memory.units.pairs)


@settings(max_examples=30)
@given(lines, st.integers(1, 5))
def test_a_recitation_taken_up_again_is_the_same_to_the_byte(seeks: list[str], stop: int) -> None:
    texts = ["\n".join(seeks), "甲乙丙。甲乙。"]
    first = StagedRecitation(texts, ONCE)
    stages = dict(first.step() for _ in range(stop))
    second = StagedRecitation(texts, ONCE, stages)
    while second.next is not None:
        second.step()
    assert second.memory().dump() == recite(texts, ONCE).dump()


def test_a_pass_in_which_nothing_could_consolidate_settles_a_memory() -> None:
    seeks = "甲乙丙丁\n甲乙丙戊\n己庚"
    made = [recite([seeks], MemorySettings(passes=passes)) for passes in range(1, 12)]
    settled = [memory.settled for memory in made]
    assert settled == sorted(settled), "and it stays so"
    assert not settled[0]
    first = settled.index(True)
    assert len(made[first].units) > len(made[0].units)
    assert len({memory.units.keys.tobytes() for memory in made[first - 1 :]}) == 1


@settings(max_examples=40)
@given(lines, st.integers(1, 12))
def test_more_passes_over_a_settled_memory_make_no_other_unit(seeks: list[str], passes: int) -> None:
    memory = recite(["\n".join(seeks)], MemorySettings(passes=passes))
    if memory.settled:
        again = recite(["\n".join(seeks)], MemorySettings(passes=passes + 8))
        assert again.settled
        assert np.array_equal(memory.units.keys, again.units.keys)


def test_a_damaged_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="recite from the start"):
        StagedRecitation(["甲乙"], ONCE, {Level.PHRASE: b"PK\x05\x06" + bytes(18)})
