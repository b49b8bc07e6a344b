"""Names of persons and firms are found without a model, and places are left alone (docs/evaluation.md)."""

from __future__ import annotations

import pytest

from tests.names.scores import Half, score, texts
from tongyao.llm.extractive.names_in_text import names_in_text


@pytest.mark.parametrize(
    ("lang", "half", "recall", "precision"),
    [
        ("en", "dev", 0.95, 0.95),
        ("zh", "dev", 0.95, 0.95),
        ("en", "held_out", 0.85, 0.85),
        ("zh", "held_out", 0.85, 0.85),
    ],
)
def test_most_names_are_found_and_few_other_words(lang: str, half: Half, recall: float, precision: float) -> None:
    """The floors of the held-out half are what was reached."""
    found = score(lang, half)
    assert found.recall >= recall
    assert found.precision >= precision


def test_there_are_sixty_texts() -> None:
    halves: tuple[Half, ...] = ("dev", "held_out")
    assert sum(len(texts(lang, half)) for lang in ("en", "zh") for half in halves) == 60


def test_firms_are_told_from_persons_and_names_come_in_the_order_of_the_text() -> None:
    found = names_in_text("Joe Hargreaves left Cooper & Sons. 我在恒泰建材公司认识了王建国。")
    assert {(one.name, one.kind) for one in found} == {
        ("Joe Hargreaves", "person"), ("Cooper & Sons", "firm"), ("恒泰建材公司", "firm"), ("王建国", "person"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["水箱可以放在车库里占地方。", "我是夜班护士，早班护士下班我才来。", "找值班医生签字。"]
)
def test_a_place_or_a_shift_is_no_name(text: str) -> None:
    assert names_in_text(text) == ()


def test_a_surname_with_a_title_is_a_name() -> None:
    assert [one.name for one in names_in_text("去问李师傅，班老师也行。")] == ["李师傅", "班老师"]
