"""Nobody stops the service, a process or a page by the names that stand in a text of theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.security.growth import hold_linear
from tests.support.marking import hiding
from tongyao.app.choosing.candidate_sentences import whole_sentences
from tongyao.protocol.identity.proposer import MOST_FOUND, MOST_READ, proposed_names
from tongyao.protocol.model.tension import MOST_NAME_CHARS

LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
HAN: Final = [chr(0x4E00 + 37 * number) for number in range(500)]


def _word(number: int) -> str:
    """A word of its own for each number, with a capital."""
    letters = [LETTERS[number // 26**place % 26] for place in range(5)]
    return "".join(letters).capitalize()


KINDS: Final[dict[str, Callable[[int], str]]] = {
    "other names": lambda number: f"Mr. {_word(number)}. ",
    "other names of two words": lambda number: f"I asked {_word(number)} {_word(number + 7)}. ",
    "labels": lambda number: f"|||{_word(number)}\n",
    "titles": lambda number: f"*{_word(number)} Ab* Ann Bell, ",
    "places": lambda number: f"in {_word(number)} Street ",
    "languages": lambda number: "English French ",
    "one sequence": lambda number: f"{_word(number)} ",
    "joined names": lambda number: f"{_word(number)} & ",
    "names joined by and": lambda number: f"{_word(number)} and ",
    "one Chinese name": lambda number: "李默",
    "Chinese names": lambda number: f"王{HAN[number % 500]}{HAN[number // 500 % 500]}",
    "Chinese names that speak": lambda number: f"王{HAN[number % 500]}说，",
    "Chinese titles": lambda number: f"王老师{HAN[number % 500]}",
    "Chinese firms": lambda number: f"{HAN[number % 500]}{HAN[number // 500 % 500]}公司",
    "words of the dictionary": lambda number: "高中生芦埠人",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_time_to_find_names_grows_with_the_length_of_a_text_only(kind: str) -> None:
    parts = [KINDS[kind](number) for number in range(MOST_READ // 2)]

    def make(size: int) -> str:
        made, length = [], 0
        for part in parts:
            if length + len(part) > size:
                break
            made.append(part)
            length += len(part)
        return "".join(made)

    hold_linear(proposed_names, make, kind, largest=40_000)


def test_of_a_text_of_names_the_first_are_found() -> None:
    found = proposed_names("".join(f"Mr. {_word(number)}. " for number in range(5_000)))
    assert len(found) == MOST_FOUND
    assert found[0].name == "Mr. Aaaaa"


@pytest.mark.parametrize(("by", "letters"), [(" & ", 5), ("-", 24)])
def test_a_list_of_people_longer_than_a_name_breaks_nothing(by: str, letters: int) -> None:
    """It raised: the page of candidates failed for whoever found this person, and a process that seated them never went on."""
    listed = by.join(_word(number).ljust(letters, "z") for number in range(16))
    found = proposed_names(f"I work with {listed}, every day. I asked Wilf Arkwright.")
    assert [one.name for one in found] == ["Wilf Arkwright"]


TOKENS: Final = [
    "Ann", "Ann Bell", "Mr. ", "and", "&", ",", ".", " ", "-", "'s", "’", "The ", "of", "in ", "Bakery", "St. ", "de", "de la ", "English", "May",
    "*", "_", "“", "”", "|", "\n", "\n\n", "# ", "I asked ", "said", "A", "O'", "王", "李", "小明", "和", "同", "与", "老师", "公司", "店", "说", "叫", "老", "阿",
    "平安", "张", "张开", "和平", "“恒泰”", "《", "》", "，", "。", "家", "园长　",
]  # fmt: skip


@settings(max_examples=400)
@given(st.lists(st.sampled_from(TOKENS), max_size=40).map("".join))
def test_no_text_makes_finding_names_fail(text: str) -> None:
    for one in proposed_names(text):
        assert 0 < len(one.name) <= MOST_NAME_CHARS


@pytest.mark.slow
def test_a_text_full_of_a_name_without_capitals_is_read_in_time_in_proportion_to_its_length() -> None:
    names = hiding("Xuli Limm")
    hold_linear(names.text, lambda size: "xuli É " * (size // 7), "small names", largest=20_000)


@pytest.mark.slow
def test_the_sentence_around_a_place_is_found_without_reading_the_whole_profile() -> None:
    def sentence(text: str) -> object:
        return whole_sentences(text, len(text) - 40, len(text) - 20)

    text = "I mend nets. " * 150_000
    begin, end = whole_sentences(text, len(text) - 40, len(text) - 20)
    assert text[begin:end].strip() == "I mend nets. I mend nets. I mend nets." or end - begin < 60
    hold_linear(sentence, lambda size: "I mend nets. " * (size // 13), "sentences", largest=2_000_000)
    unended = "word " * 400_000
    begin, end = whole_sentences(unended, 1_000_000, 1_000_020)
    assert unended[begin - 1 : begin] in (" ", "") and end - begin < 5_000
