"""How the extractive engine splits texts into sentences, each a verbatim piece at its place."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.extractive.extractive_requests import PROFILE
from tongyao.llm.extractive.sentences import split


def _bare(text: str) -> str:
    return re.sub(r"[\s*_`]+", "", text)


@given(st.text(alphabet="甲乙。！？” \n#-abA.1“…,，\t", max_size=300))
@settings(max_examples=150)
def test_a_sentence_is_a_verbatim_piece_at_its_place_but_for_line_breaks_and_marks(text: str) -> None:
    end = 0
    for sentence in split(text):
        assert _bare(text[sentence.start : sentence.end]) == _bare(sentence.text)
        assert "\n" not in sentence.text
        assert sentence.start >= end
        end = sentence.end


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("他说“吃了吃了。”然后走了。没有人问。", ["他说“吃了吃了。”", "然后走了。", "没有人问。"]),
        (
            "Dr. Smith paid $3.50 at 5 p.m. today. Nobody saw it.",
            ["Dr. Smith paid $3.50 at 5 p.m. today.", "Nobody saw it."],
        ),
        ("## Work\n- I keep bees here.\n- I mend old hives.", ["I keep bees here.", "I mend old hives."]),
        ("我用 Python 3.11 写程序。价格是3.5元一个。", ["我用 Python 3.11 写程序。", "价格是3.5元一个。"]),
    ],
)
def test_splitting_knows_quotation_marks_abbreviations_headings_and_both_languages(
    text: str, sentences: list[str]
) -> None:
    assert [sentence.text for sentence in split(text)] == sentences


def test_a_sentence_knows_its_heading() -> None:
    assert {one.heading for one in split(PROFILE)} == {"About", "What I can offer", "What I need", "Limits"}


def test_soft_line_breaks_are_joined_in_both_languages() -> None:
    assert [one.text for one in split("I mend brass and\nwoodwind. I have\nno car.\n\n会修铜管，\n也会修木管。")] == [
        "I mend brass and woodwind.",
        "I have no car.",
        "会修铜管，也会修木管。",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "**What I need**\n- a van on Fridays",
        "**What I need**\na van on Fridays",
        "What I need:\n\n1. a van on Fridays",
        "What I need\n\n* a van on\n  Fridays",
        "**What I need:** a van on Fridays",
        "What I need\n===========\na van on **Fridays**",
    ],
)
def test_what_people_use_as_a_heading_is_one(text: str) -> None:
    (sentence,) = split(text)
    assert (sentence.heading, sentence.text) == ("What I need", "a van on Fridays")


def test_the_heading_of_a_list_ends_with_its_list() -> None:
    listed, after = split("What I need:\n- a van on Fridays\n\nI can lend you a trailer.")
    assert (listed.heading, after.heading) == ("What I need", "")


def test_items_behind_bullets_of_no_markdown_stand_for_themselves() -> None:
    assert [one.text for one in split("• 会修铜管乐器\n• 没有车可以开\n1、星期六有空的")] == [
        "会修铜管乐器",
        "没有车可以开",
        "星期六有空的",
    ]


def test_each_field_of_a_profile_stands_for_itself_under_its_name() -> None:
    text = "name：Ira Stone\noffers：A lathe, on Mondays.\nwants：Somebody for the mill.\nNot in May.\nlimits：No night work.\nNo lifts."
    found = split(text)
    assert [(one.heading, one.text) for one in found] == [
        ("offers", "A lathe, on Mondays."),
        ("wants", "Somebody for the mill."),
        ("wants", "Not in May."),
        ("limits", "No night work."),
    ]
    assert all(text[one.start : one.end] == one.text for one in found)


def test_one_line_as_long_as_a_book_is_split_whole() -> None:
    line = "We carried the hives up the hill again. " * 2_500
    sentences = split(line)
    assert sum(len(one.text) + 1 for one in sentences) == len(line)
