"""A sentence is an offer, a need or a limit by its main clause."""

from __future__ import annotations

import pytest

from tests.llm.extractive.extractive_requests import projected, turn
from tongyao.protocol.model.projection import Dimension


@pytest.mark.parametrize(
    ("sentence", "dimension"),
    [
        ("I have sixty free alarms that have to be given out before the end of March.", Dimension.CAPABILITY),
        ("I have sixty alarms left, and they have to be given out before the end of March.", Dimension.CAPABILITY),
        ("I need to know the make of each stove before I come.", Dimension.DIRECTION),
        ("I do not go on board; I need a room where people can come to me.", Dimension.DIRECTION),
        ("Somebody who knows boats has to hold her steady.", Dimension.DIRECTION),
        ("I will not come unannounced, because people think that I want to move them on.", Dimension.BOUNDARY),
        ("I cannot stop longer than ten minutes, or I miss the lock.", Dimension.BOUNDARY),
        ("西边那间空着两年了，可以放东西，只要有人每天开窗通风。", Dimension.CAPABILITY),
        ("座钟修好了没有人搬，一直堵在门口。", Dimension.DIRECTION),
        ("可是没有师傅愿意一次带二十个人。", Dimension.DIRECTION),
        ("街道要求年底前每间房都要有人用，不然收回去。", Dimension.BOUNDARY),
        ("我不赊账，东西给了就要当场结钱。", Dimension.BOUNDARY),
    ],
)
async def test_a_sentence_is_what_its_main_clause_says(sentence: str, dimension: Dimension) -> None:
    (item,) = (await projected(turn(words=sentence))).items
    assert item.dimension is dimension
