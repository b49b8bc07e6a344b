"""Somebody says what a part of their intent is about: it stands in that part of the tension, whatever its words say."""

from __future__ import annotations

from datetime import date
from typing import Literal

import pytest

from tongyao.llm.extractive.formulation import formulate
from tongyao.protocol.model.intent_parts import lens_over, under
from tongyao.protocol.model.requests import FormulationRequest, Material, Piece

SAID = {
    "en": {
        "wish": "I want the shed to be used in winter.",
        "B": "I have told people, and they nod and forget.",
        "E": "A lower price in January, and dry room for thirty bicycles.",
        "profile": "I can mend anything with two wheels. I am bad at reminding people.",
    },
    "zh": {
        "wish": "我想让棚子冬天也有人用。",
        "B": "我跟大家说过，他们点点头就忘了。",
        "E": "一月便宜一点，还有放得下三十辆车的干地方。",
        "profile": "我会修所有两个轮子的东西。我不会提醒别人。",
    },
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_written_under_a_question_stands_in_its_part(language: Literal["en", "zh"]) -> None:
    said = SAID[language]
    intent = "\n\n".join([said["wish"], under("B", said["B"], language), under("E", said["E"], language)])
    material = Material(pieces=(Piece(start=0, text=said["profile"]),), total_chars=len(said["profile"]))
    request = FormulationRequest(language=language, began=date(2026, 1, 1), intent=intent, material=material)
    draft = formulate(request)
    assert said["wish"] in draft.transition
    assert draft.barriers == [said["B"]]
    assert draft.exchange == said["E"], "nothing of the profile beside what they said they give"


def test_other_headings_announce_nothing() -> None:
    assert [lens_over(one) for one in ("What I can give:", "挡在路上的：", "What I look for", "")] == [
        "E",
        "B",
        None,
        None,
    ]


def test_what_the_demander_does_not_want_is_neither_a_barrier_nor_given_and_money_is() -> None:
    profile = (
        "- 我能腾出一张长桌。\n- 我自己出八百块钱，多了没有。\n- 我不想办成卖东西的集市，也不要拉横幅拍照的活动。\n"
    )
    request = FormulationRequest(
        language="zh",
        began=date(2026, 1, 1),
        intent="我想让街上扔掉的旧东西有人修、有地方放。",
        material=Material(pieces=(Piece(start=0, text=profile),), total_chars=len(profile)),
    )
    draft = formulate(request)
    assert "集市" in draft.initial_state
    assert "集市" not in "".join((*draft.barriers, draft.exchange))
    assert "长桌" in draft.exchange
    assert "八百块钱" in draft.exchange


@pytest.mark.parametrize(
    ("language", "wish", "spare", "barrier"),
    [
        ("en", "I want to keep apples.", "I have a dry cellar that nobody uses.", "Nobody can tell sorts apart."),
        ("en", "I want a choir.", "My brother has a barn no one needs.", "No one needs another hobby."),
        ("zh", "我想让村里有个唱歌的地方。", "我家有个地窖没人用。", "没有人会识谱。"),
    ],
)
def test_a_thing_that_nobody_uses_is_given_and_is_no_barrier(
    language: Literal["en", "zh"], wish: str, spare: str, barrier: str
) -> None:
    intent = f"{wish} {spare} {barrier}"
    draft = formulate(FormulationRequest(language=language, began=date(2026, 1, 1), intent=intent))
    assert (draft.exchange, draft.barriers) == (spare, [barrier])
