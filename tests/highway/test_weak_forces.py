"""What bends a seek without making a way: frequency, length, instances, scaffolding, the category field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import Level
from crystalline_highway.recite.staging import recite
from crystalline_highway.seek.direction import TextEncoder, give_direction
from crystalline_highway.seek.explanation import explain
from crystalline_highway.seek.output import select_output
from crystalline_highway.seek.seeking import Session, seek
from crystalline_highway.settings import MemorySettings
from crystalline_highway.strengths import BoundStrengths, Strengths, strengths_of
from tests.highway.named import unit_named

ALONE = MemorySettings(surroundings=0)


def brightest(session: Session, text: str, level: Level = Level.PARAGRAPH) -> str:
    start, end = session.memory.spans[level][int(np.argmax(session.glow(level)))]
    return text[start:end]


def test_what_stands_in_a_line_that_is_said_a_hundred_times_is_frequent() -> None:
    """A dialogue: the filler is one row, and yet its words must not outshine the name that the question asks for."""
    talk = [f"{who}: I {verb} the tools." for who in ("Tom", "Maya") for verb in ("sold", "oiled", "found", "lent")]
    text = "\n".join([*talk, *["Maya: How did it go?"] * 60])
    found = brightest(seek(recite([text]), [("T", "How did it go when Maya lent the tools?")], ALONE), text)
    assert found == "Maya: I lent the tools."


def test_long_segments_are_weighed_as_long_ones_and_short_ones_as_short() -> None:
    settings = MemorySettings()
    for script in (settings.characters, settings.words):
        assert script.blend(script.short / 2) == script.blend(script.short) == 0
        assert script.blend(script.long) == script.blend(10 * script.long) == 1
        assert 0.4 < script.blend((script.short * script.long) ** 0.5) < 0.6


def rooms() -> str:
    """Forty places, eight sentences each; every sentence says 门, and one in each place names it."""
    names = [chr(0x4E00 + 7 * i) for i in range(40)]
    return "\n".join(
        "。".join([f"{name}门", *(f"门{k}号" for k in range(300 + 8 * i, 307 + 8 * i))]) for i, name in enumerate(names)
    )


def test_a_frequent_unit_is_lit_only_where_a_rarer_one_lit_something() -> None:
    text = rooms()
    memory = recite([text])
    query = [("T", f"{chr(0x4E00 + 7 * 20)}的门")]
    whole = seek(memory, query, replace(ALONE, instances=0))
    parted = seek(memory, query, replace(ALONE, instances=10, cell=8))
    lit, near = (int((session.glow(Level.LONG) > 0).sum()) for session in (whole, parted))
    assert lit == 320
    assert 1 <= near <= 16, "the instance of 门 that serves this cell, not the one of all others"
    assert brightest(whole, text, Level.LONG) == brightest(parted, text, Level.LONG)


def test_a_frequent_unit_alone_is_still_a_way() -> None:
    session = seek(recite([rooms()]), [("T", "门")], replace(ALONE, instances=10, cell=8))
    assert (session.glow(Level.LONG) > 0).all()


def test_an_explanation_names_only_the_instances_that_were_lit() -> None:
    text = rooms()
    session = seek(recite([text]), [("T", f"{chr(0x4E00 + 7 * 20)}的门")], replace(ALONE, instances=10, cell=8))
    found = select_output(session, [text])
    pieces = (*found.short, *found.paragraphs)
    assert pieces
    for piece in pieces:
        why = explain(session, piece)
        assert sum(touch.share for touch in why.touches) == pytest.approx(why.converged["T"], abs=1e-5)


def test_scaffolding_taken_down_leaves_every_way_of_its_parts() -> None:
    text = "甲乙丙丁。甲乙戊己。庚辛壬癸。"
    kept, bare = recite([text]), recite([text], MemorySettings(scaffolding=False))
    assert len(bare.trie.keys) <= len(kept.trie.keys)
    lost = set(kept.trie.unit.tolist()) - set(bare.trie.unit.tolist())
    assert {unit_named(kept, "甲乙丙丁"), unit_named(kept, "庚辛壬癸")} <= lost
    consolidated = unit_named(kept, "甲乙")
    assert consolidated in bare.trie.unit.tolist()
    for query in ("甲乙", "戊", "庚辛"):
        for level in (Level.SHORT, Level.LONG, Level.PARAGRAPH):
            lit = [seek(memory, [("T", query)], ALONE).glow(level) > 0 for memory in (kept, bare)]
            assert np.array_equal(lit[0], lit[1])


class Compass:
    """An encoder of two directions: water or wood."""

    name, version = "compass", "1"

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[Any]:
        return np.array([[1.0, 0.0] if set("河水舟") & set(text) else [0.0, 1.0] for text in texts])


def directed(text: str, encoder: TextEncoder) -> Memory:
    memory = recite([text])
    give_direction(memory, [text], encoder)
    return memory


def test_direction_decides_between_what_is_lit_alike_and_lights_nothing_itself() -> None:
    text = "老木匠修门。\n老河工修闸。\n一条小舟。"
    memory = directed(text, Compass())
    assert brightest(seek(memory, [("T", "水边修")], ALONE), text) == "老木匠修门。"
    session = seek(memory, [("T", "水边修")], ALONE, encoder=Compass())
    assert brightest(session, text) == "老河工修闸。"
    assert session.glow(Level.PARAGRAPH)[2] == 0, "in the direction, and without a way: dark"


def test_vectors_are_kept_with_the_memory_and_never_compared_with_another_encoders() -> None:
    class Other(Compass):
        version = "2"

    text = "老木匠修门。\n老河工修闸。"
    memory = Memory.load(directed(text, Compass()).dump())
    assert brightest(seek(memory, [("T", "水边修")], ALONE, encoder=Compass()), text) == "老河工修闸。"
    assert brightest(seek(memory, [("T", "水边修")], ALONE, encoder=Other()), text) == "老木匠修门。"


def test_a_start_that_led_everywhere_points_nowhere() -> None:
    text = (
        "\n".join(f"第{c}间放着{d}。" for c, d in zip("一二三四五六七八", "桶绳灯锤伞犁秤钟", strict=True))
        + "\n谁丢了帆。"
    )
    memory = recite([text])
    lines = text.split("\n")
    at = [text.index(line) for line in lines]

    def lent(*asked: tuple[str, int]) -> float:
        left = Strengths()
        for query, line in asked:
            left.add(strengths_of(memory, [query], [(at[line], at[line] + len(lines[line]))]))
        starts = np.array([unit_named(memory, "帆")], np.int32)
        everything = np.ones(len(memory.tables[Level.PARAGRAPH].units), np.float32)
        bound = BoundStrengths(memory, left, replace(MemorySettings(), trodden=0))
        return float(bound.lend(Level.PARAGRAPH, starts, np.ones(1, np.float32), everything)[0])

    once = lent(("帆", 0))
    often = lent(*(("帆", line) for line in range(8)))
    assert 0 < often < once / 4


@pytest.mark.parametrize(
    ("text", "query", "telling"),
    [
        ("Who knows what that is?\nDerek mended the gate.", "Who was it that mended what?", "Derek mended the gate."),
        ("谁知道是什么呢？\n阿周修门。", "谁修了什么呢？", "阿周修门。"),
    ],
)
def test_words_that_only_join_or_ask_say_hardly_anything(text: str, query: str, telling: str) -> None:
    memory = recite([text])
    assert brightest(seek(memory, [("T", query)], replace(ALONE, faint=1)), text) != telling
    assert brightest(seek(memory, [("T", query)], ALONE), text) == telling


def test_words_that_only_join_or_ask_are_still_a_way_where_there_is_no_other() -> None:
    text = "阿周修门。\n谁知道呢？"
    assert brightest(seek(recite([text]), [("T", "谁")], ALONE), text) == "谁知道呢？"


def test_a_unit_that_holds_more_than_such_words_is_not_faint() -> None:
    memory = recite(["什么锅。\n什么盖。\n什锦锅。\n什锦饭。"])
    asking, dish = unit_named(memory, "什么"), unit_named(memory, "什锦")
    assert asking is not None
    assert dish is not None
    assert (memory.faint[asking], memory.faint[dish]) == (True, False)


def test_of_two_that_hold_the_same_units_the_one_in_the_querys_order_is_brighter() -> None:
    text = "5月17日卖7份。\n5月7日卖17份。\n8月1日卖3份。"
    memory = recite([text])
    query = [("T", "5月7日")]
    either = seek(memory, query, replace(ALONE, order=0)).glow(Level.PARAGRAPH)
    assert either[0] == either[1] > 0
    assert brightest(seek(memory, query, ALONE), text) == "5月7日卖17份。"


def test_order_lights_nothing_that_no_start_has_reached_and_is_explained() -> None:
    text = "甲乙丙。\n丁戊。"
    session = seek(recite([text]), [("T", "甲乙")], ALONE)
    assert session.glow(Level.PARAGRAPH)[1] == 0
    piece = select_output(session, [text]).short[0]
    why = explain(session, piece)
    assert why.activation["T"] + why.surroundings["T"] == pytest.approx(piece.score)


def written_back(memory: Memory, text: str, query: str, *lines: str) -> BoundStrengths:
    spans = [(text.index(line), text.index(line) + len(line)) for line in lines]
    return BoundStrengths(memory, strengths_of(memory, [query], spans), MemorySettings())


def test_what_was_found_before_is_brighter_for_those_who_seek_alike() -> None:
    red, blue = "红伞在柜里。", "蓝伞在柜里。"
    text = f"{blue}\n{red}\n井边有桶。"
    memory = recite([text])
    bound = written_back(memory, text, "伞在柜里吗", red)
    assert brightest(seek(memory, [("T", "伞在柜里")], ALONE), text) == blue, "the earlier of two alike"
    assert brightest(seek(memory, [("T", "伞在柜里")], ALONE, bound), text) == red

    def gain(query: str) -> float:
        plain, led = (seek(memory, [("T", query)], ALONE, each).glow(Level.PARAGRAPH)[1] for each in (None, bound))
        return float(led - plain)

    assert gain("伞和桶") < gain("伞在柜里") / 10, "half of this has never led there"


def test_a_question_that_led_to_two_places_leads_from_the_one_to_the_other() -> None:
    film, his, another = "河灯是阿周拍的电影。", "阿周生在北镇。", "老何生在南镇。"
    text = f"{another}\n{film}\n{his}"
    memory = recite([text])
    query = [("T", "河灯电影谁生在镇上")]
    bound = written_back(memory, text, "拍河灯的人生在何处", film, his)
    before, after = (seek(memory, query, ALONE, each).glow(Level.PARAGRAPH) for each in (None, bound))
    assert before[2] == before[0] > 0
    assert after[2] > after[0]
