"""Nobody stops the gateway or a worker with a text that is hard to split into sentences.

While a pattern is searched for, no other thread of a process runs. So a search of exponential time stops everybody.
"""

from __future__ import annotations

import tracemalloc
from typing import Final

import pytest

from tests.security.growth import at_most, hold_linear
from tongyao.app.messaging.wire import MAX_TEXT
from tongyao.llm.extractive import english_ends
from tongyao.llm.extractive.sentences import split
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS

OPENINGS: Final = ("", "a.[", "a.(", " '", "“", "1. a. ", "a.[1]", "♨")
UNITS: Final = (
    "1", "1 ", "1,", "1-", " 1 - ", "1. ", "1. 2. 3. 4. ", "a. b. c. ", "a) b) ", "i. ii. ", "(a) ", "A. ", "e.g. ", "a.b.", "Mr. ", "[1]", "(", "'a ", "'a", "“a. ",
    "♨\ra. ", "? ", "?!", "!! ", "... ", ". ", "p. 1 ", "No. ", "” ", "ab：c d e\n",
)  # fmt: skip


def test_a_reference_of_many_digits_takes_no_exponential_time() -> None:
    with at_most(20, "split"):
        assert [one.text for one in split(f"I restore wheels.[{'1' * 60} and have a lathe. I want to learn milling.")]


@pytest.mark.parametrize("opening", OPENINGS)
def test_sentences_are_split_in_time_that_grows_with_the_text(opening: str) -> None:
    for unit in UNITS:

        def make(size: int, unit: str = unit) -> str:
            return opening + unit * (size // len(unit)) + " x"

        hold_linear(split, make, f"{opening!r}, {unit!r}", largest=MAX_TEXT)
        hold_linear(lambda text: list(english_ends.ends(text)), make, f"{opening!r}, {unit!r}", largest=MAX_TEXT)


@pytest.mark.parametrize("before", ["", "> ", "- "])
def test_tables_with_few_characters_do_not_become_millions_of_cells(before: str) -> None:
    table = f"{before}{'|a' * 180}\n{before}{'|-' * 180}\n" + f"{before}|\n" * 360 + "\n"
    text = table * (WHOLE_PROFILE_CHARS // len(table))
    tracemalloc.start()
    try:
        with at_most(60, "split"):
            split(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 150_000_000


def test_an_ordinary_table_is_read_row_by_row() -> None:
    rows = "\n".join(f"| a wheel of {number} feet | I can restore it in {number} weeks |" for number in range(30))
    found = split(f"| what | how long |\n|---|---|\n{rows}\n")
    assert len(found) == 31 and found[1].text.startswith("a wheel of 0 feet")
