"""Texts that no profile should be, and some will: all stays bounded, and what can be found is found."""

from __future__ import annotations

import pytest

from crystalline_highway.recite.segments import CAPS, Level, lay_out
from crystalline_highway.recite.staging import recite
from crystalline_highway.seek.output import select_output
from crystalline_highway.seek.seeking import seek

MILLION = 1_000_000
NO_STOPS = "".join(chr(0x4E00 + (i * i * 31 + i * 7) % 20000) for i in range(100_000))

TEXTS = {
    "one character a million times": "啊" * MILLION,
    "one letter a million times": "a" * MILLION,
    "one emoji a hundred thousand times": "🌵" * 100_000,
    "no punctuation": NO_STOPS,
    "only punctuation": "。，！？；" * 200_000,
    "only white space": " \n\t" * 100_000,
    "ten thousand identical lines": "每天早上六点开门。\n" * 10_000,
    "mixed scripts": "今天 deploy 了 v2.0，ユーザー数は 300 명 — спасибо! مرحبا ไทย ภาษา 🎉\n" * 500,
    "Thue-Morse": "".join("甲乙"[bin(i).count("1") % 2] for i in range(1 << 16)),
    "surrogates and controls": "\ud800\udfff\x00\x01﷽\u202e" * 1000,
    "nested brackets": "（" * 50_000 + "梨" + "）" * 50_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_reciting_and_seeking_stay_bounded(text: str) -> None:
    memory = recite([text])
    layout = lay_out([text])
    for level, cap in CAPS.items():
        bounds = layout.bounds(level)
        assert not len(layout.symbols) or max(bounds[1:] - bounds[:-1]) <= cap
    # Bounded by the text, whatever it is: a few hundred bytes for each base unit.
    assert memory.nbytes() <= 20_000 + 400 * len(layout.symbols)
    found = select_output(seek(memory, [("T", text[:300]), ("B1", "梨树 早上 deploy")]), [text], budget=1000)
    assert sum(len(piece.text) for piece in found.fitted) <= 1000
    for piece in (*found.short, *found.long, *found.paragraphs):
        assert text[piece.start : piece.end] == piece.text


def test_identical_lines_are_one_unit_in_many_places_and_given_once() -> None:
    text = "每天早上六点开门。\n" * 10_000 + "只有今天，梨树开花了。"
    memory = recite([text])
    assert len(memory.tables[Level.LONG].units) == 2
    found = select_output(seek(memory, [("T", "早上几点开门"), ("B1", "梨树")]), [text], budget=100)
    assert sorted(piece.text for piece in found.fitted) == ["只有今天，梨树开花了。", "每天早上六点开门。"]


def test_no_unit_no_answer() -> None:
    found = select_output(seek(recite(["。。。"]), [("T", "梨树"), ("E", "")]), ["。。。"], budget=10)
    assert found.fitted == ()
    assert found.recite_more


def test_a_needle_in_text_without_punctuation_is_found() -> None:
    text = NO_STOPS[:50_000] + "望远镜里的木星" + NO_STOPS[50_000:]
    found = select_output(seek(recite([text]), [("T", "望远镜 木星")]), [text], budget=200)
    assert any("望远镜" in piece.text or "木星" in piece.text for piece in found.fitted)


MIXTURE = "今天 deploy 了 v2.0 给用户。\nユーザー数は三百人です。\nСпасибо за помощь!\nภาษาไทยง่าย\nNow 🎉 is fun."


@pytest.mark.parametrize(
    ("query", "expected"),
    [("deploy v3", "deploy"), ("ユーザー", "ユーザー"), ("помощь", "помощь"), ("ไทย", "ไทย"), ("🎉", "🎉")],
)
def test_any_of_many_scripts_finds_its_line(query: str, expected: str) -> None:
    found = select_output(seek(recite([MIXTURE]), [("T", query)]), [MIXTURE])
    assert expected in found.short[0].text
