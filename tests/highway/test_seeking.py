"""Seeking, as seed 004 has it: lighting from zero along index paths, bounded by hops."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crystalline_highway.memory import SOUGHT, Memory, starts_of
from crystalline_highway.recite.segments import Level, lay_out
from crystalline_highway.recite.staging import recite
from crystalline_highway.seek.explanation import explain
from crystalline_highway.seek.output import fill_budget, select_output
from crystalline_highway.seek.seeking import seek
from crystalline_highway.settings import MemorySettings
from tests.highway.named import unit_named

ALONE = MemorySettings(surroundings=0)
GARDEN = (
    "我在城南管一片果园，种了四十亩梨树。春天剪枝，夏天疏果，秋天采收。\n"
    "去年学会了用无人机拍树冠，能看出哪几棵缺水。邻村的人来问过，我教了三户。\n"
    "冬天闲下来，我修拖拉机，也修水泵。最怕的是四月的霜，一夜就能冻掉一半的花。"
)
LETTERS = (
    "I repair cellos and violas in a shed behind the station. Spruce takes years to dry.\n"
    "Most customers are students; they pay in lessons, bread or time. I never learned to keep accounts.\n"
    "Winters are slow. Then I carve bridges, and teach two neighbours to sharpen their tools."
)


def brightest(memory: Memory, text: str, query: str, level: Level = Level.LONG) -> str:
    glow = seek(memory, [("T", query)]).glow(level)
    start, end = memory.spans[level][int(np.argmax(glow))]
    return text[start:end] if glow.max() > 0 else ""


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        (GARDEN, "谁能用无人机看树缺不缺水？", "去年学会了用无人机拍树冠，能看出哪几棵缺水。"),
        (GARDEN, "怕霜冻", "最怕的是四月的霜，一夜就能冻掉一半的花。"),
        (
            LETTERS,
            "someone to sharpen a tool",
            "Then I carve bridges, and teach two neighbours to sharpen their tools.",
        ),
        (LETTERS, "does anybody dry spruce", "Spruce takes years to dry."),
    ],
)
def test_a_query_lights_the_sentence_where_it_meets(text: str, query: str, expected: str) -> None:
    assert brightest(recite([text]), text, query) == expected


def test_all_sub_units_of_a_query_are_starts_not_only_the_longest() -> None:
    memory = recite(["果园丰收\n果园荒了\n丰收节"])
    starts, unknown = starts_of(memory, "果园丰收")
    wanted = ("果", "园", "果园", "丰收", "果园丰收")
    assert {unit_named(memory, surface) for surface in wanted} <= set(starts.tolist())
    assert unknown == 0


def test_no_path_is_an_answer() -> None:
    memory = recite([GARDEN])
    found = select_output(seek(memory, [("T", "xylophone quartet")]), [GARDEN], budget=500)
    assert (found.short, found.long, found.paragraphs, found.memory, found.fitted) == ((), (), (), None, ())
    assert found.recite_more, "no way means: not recited enough"
    assert found.unknown == {"T": 1.0}


def test_every_session_starts_from_zero() -> None:
    memory = recite([GARDEN])
    before = seek(memory, [("T", "果园")]).glow(Level.LONG)
    seek(memory, [("T", "拖拉机")])
    assert np.array_equal(before, seek(memory, [("T", "果园")]).glow(Level.LONG))


def test_a_session_lights_up_bit_by_bit_with_every_query() -> None:
    memory = recite([GARDEN])
    one, two = ("T", "果园"), ("B1", "拖拉机")
    both = seek(memory, [one, two]).glow(Level.LONG)
    assert np.allclose(both, seek(memory, [one]).glow(Level.LONG) + seek(memory, [two]).glow(Level.LONG))


def test_the_ttl_bounds_the_index_hops() -> None:
    # 甲 → 甲乙 → the phrase → the short sentence → the long one → the paragraph → the text
    text = "甲乙丙子的甲乙丁，丑。寅卯。\n甲乙戊，辰。巳午。"
    memory = recite([text])
    far = seek(memory, [("T", "甲")], replace(ALONE, ttl=8))
    near = seek(memory, [("T", "甲")], replace(ALONE, ttl=2))
    assert all(far.glow(level).max() > 0 for level in SOUGHT)
    assert near.glow(Level.SHORT).max() > 0
    assert near.glow(Level.TEXT).max() == 0
    lit = [seek(memory, [("T", "甲")], replace(ALONE, ttl=ttl)) for ttl in range(9)]
    reached = [sum(int((session.glow(level) > 0).sum()) for level in SOUGHT) for session in lit]
    assert reached == sorted(reached)
    assert reached[0] == 0


def test_a_rare_unit_says_more_than_a_frequent_one() -> None:
    text = "\n".join(["河边有树。"] * 1 + [f"河边有{c}。" for c in "石草沙桥船鱼鸟"])
    assert brightest(recite([text]), text, "河边的桥") == "河边有桥。"


def test_neighbours_light_each_other_only_where_they_belong_together() -> None:
    topics = ("木匠刨子", "渔船罗盘", "蜂箱蜂蜜", "陶窑釉色")
    story = [f"{topic[:2]}{verb}{topic[2:]}。" for topic in topics for verb in ("擦净", "带来", "看重", "卖掉")]
    heap = [story[(7 * i) % 16] for i in range(16)]
    assert recite(["\n".join(story)]).cohesion[Level.LONG] == 1
    assert recite(["\n".join(heap)]).cohesion[Level.LONG] == 0


@settings(max_examples=40)
@given(st.lists(st.text("甲乙丙丁，。\n", max_size=30), min_size=1, max_size=4))
@example(["丁。丁", "丁丁"])
def test_the_collapsed_table_holds_what_walking_the_texts_finds(texts: list[str]) -> None:
    """The reference: a unit leads to every segment one of whose phrases contains its surface."""
    memory = recite(texts)
    layout = lay_out(texts)
    phrases = layout.bounds(Level.PHRASE)
    surface = {}
    for node_unit in set(memory.trie.unit[memory.trie.unit >= 0].tolist()):
        first = int(memory.units.first[node_unit])
        surface[node_unit] = tuple(layout.symbols[first : first + int(memory.units.n[node_unit])].tolist())
    for level in SOUGHT:
        table, bounds = memory.tables[level], layout.bounds(level)
        start, units = table.by_row()
        for place, (i, j) in enumerate(itertools.pairwise(bounds)):
            inside = [layout.symbols[a:b].tolist() for a, b in itertools.pairwise(phrases) if i <= a < j]
            expected = {
                unit
                for unit, form in surface.items()
                if any(tuple(p[k : k + len(form)]) == form for p in inside for k in range(len(p)))
            }
            row = table.places[place]
            assert set(units[start[row] : start[row + 1]].tolist()) >= expected


@pytest.mark.parametrize(("text", "query"), [(GARDEN, "无人机 缺水 邻村"), (LETTERS, "students pay for lessons")])
def test_an_explanation_names_the_starts_their_ways_and_adds_up(text: str, query: str) -> None:
    memory = recite([text])
    session = seek(memory, [("T", query), ("B1", "霜 winters")])
    found = select_output(session, [text])
    for piece in (*found.short, *found.long, *found.paragraphs):
        why = explain(session, piece)
        assert sum(why.activation.values()) + sum(why.surroundings.values()) == pytest.approx(piece.score, abs=1e-5)
        assert why.touches
        for touch in why.touches:
            assert touch.way[0] == touch.surface
            assert touch.surface in text
            assert touch.way[-1].strip() == piece.text.strip()
            assert all(inner.strip() in outer for inner, outer in zip(touch.way, touch.way[1:], strict=False))
            assert len(touch.way) - 1 <= session.settings.ttl
        for label, share in why.converged.items():
            assert share == pytest.approx(sum(t.share for t in why.touches if t.label == label), abs=1e-5)


def test_a_deeper_unit_climbs_over_the_units_around_it() -> None:
    text = "果园丰收节到了。\n果园丰收了。\n果园丰收。\n果园荒了。\n果园大。"
    memory = recite([text])
    session = seek(memory, [("T", "果")])
    piece = select_output(session, [text]).short[0]
    way = explain(session, piece).touches[0].way
    assert way[0] == "果"
    assert "果园" in way


def test_what_fits_the_budget_does_not_overlap_and_is_sorted() -> None:
    memory = recite([GARDEN])
    session = seek(memory, [("T", "果园 梨树 霜 无人机 拖拉机 水泵 采收")])
    everything = sum(len(piece.text) for piece in fill_budget(session, [GARDEN], 10_000))
    for budget in (0, 5, 20, 60, everything, 10_000):
        pieces = fill_budget(session, [GARDEN], budget)
        assert sum(len(piece.text) for piece in pieces) <= budget
        spans = sorted((piece.start, piece.end) for piece in pieces)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
        assert [piece.score for piece in pieces] == sorted((piece.score for piece in pieces), reverse=True)
        assert all(GARDEN[piece.start : piece.end] == piece.text for piece in pieces)
    assert fill_budget(session, [GARDEN], 12), "where no sentence fits, its brightest part does"
