"""What is given to a model: 9 key short sentences, 6 long ones, 3 paragraphs, 1 memory, 2 related ones."""

from __future__ import annotations

import pytest

from crystalline_highway.recite.staging import recite
from crystalline_highway.seek.output import Excerpt, SeekResult, select_output
from crystalline_highway.seek.seeking import seek

PLACES = ("东村", "西村", "南村", "北村", "上村", "下村")
WORKS = ("打井", "修渠", "栽树", "养蜂", "烧陶", "织布")
TEXTS = [
    "\n".join(
        f"{place}今年{work}，{work}的人来自{place}。{place}的水渠通了，大家一起{work}。"
        for place in PLACES
        for work in works
    )
    for works in (WORKS[:3], WORKS[2:5], WORKS[3:], WORKS[:1])
]


@pytest.fixture(scope="module")
def found() -> SeekResult:
    memory = recite(TEXTS)
    return select_output(seek(memory, [("T", "东村 打井"), ("B1", "水渠"), ("E", "织布")]), TEXTS, budget=200)


def everything(found: SeekResult) -> list[Excerpt]:
    whole = [found.memory] if found.memory else []
    return [*found.short, *found.long, *found.paragraphs, *whole, *found.related]


def test_nine_six_three_one_two(found: SeekResult) -> None:
    assert (len(found.short), len(found.long), len(found.paragraphs), len(found.related)) == (9, 6, 3, 2)
    assert found.memory is not None


def test_every_level_is_sorted_by_activation(found: SeekResult) -> None:
    for level in (found.short, found.long, found.paragraphs, found.related):
        assert [piece.score for piece in level] == sorted((p.score for p in level), reverse=True)
    assert found.memory is not None
    assert found.memory.score >= found.related[0].score


def test_the_same_text_is_not_given_twice(found: SeekResult) -> None:
    texts = [piece.text for piece in everything(found)]
    assert len(set(texts)) == len(texts)


def test_every_piece_is_where_it_says_it_is(found: SeekResult) -> None:
    for piece in everything(found):
        assert TEXTS[piece.source][piece.start : piece.end] == piece.text
        assert piece.labels
        assert set(piece.labels) <= {"T", "B1", "E"}


def test_the_related_memory_is_a_whole_source_text(found: SeekResult) -> None:
    assert found.memory is not None
    assert found.memory.text == TEXTS[found.memory.source]


def test_a_short_memory_gives_what_there_is() -> None:
    found = select_output(seek(recite(["打井。"]), [("T", "打井")]), ["打井。"])
    assert [piece.text for piece in everything(found)] == ["打井。"], "one text, at its lowest level"


def test_other_texts_than_those_recited_are_refused() -> None:
    session = seek(recite(["打井。"]), [("T", "打井")])
    with pytest.raises(ValueError, match="not the texts that were recited"):
        select_output(session, ["打井了。"])
    with pytest.raises(ValueError, match="must not be negative"):
        select_output(session, ["打井。"], budget=-1)
