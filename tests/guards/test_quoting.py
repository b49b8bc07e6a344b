"""Where a quote stands in its source, whatever its white space, in a text of any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongyao.protocol.guards import quoting
from tongyao.protocol.guards.quoting import Shown, find_pieces, find_quote

TEXTS = st.text(alphabet=st.sampled_from("ab钟 \n\t.*+(\\"), min_size=1, max_size=80)


@given(TEXTS, st.data())
def test_a_piece_is_found_however_its_white_space_was_folded(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    piece = text[start:end]
    found = find_quote(text, " ".join(piece.split()))
    if not piece.strip():
        assert found is None
    else:
        assert found is not None
        assert text[slice(*found)].split() == piece.split()


@given(TEXTS, TEXTS)
def test_what_is_found_is_what_was_asked_for(text: str, quote: str) -> None:
    found = find_quote(text, quote)

    def bare(said: str) -> str:
        return "".join(said.translate({ord(mark): None for mark in "*_`"}).split())

    assert found is None or bare(text[slice(*found)]).strip(".") == bare(quote).strip(".")


@pytest.mark.parametrize(
    ("source", "quote", "span"),
    [
        ("他说“等最重的那口钟”，就停。", '他说"等最重的那口钟"', "他说“等最重的那口钟”"),
        ("钟敲了\n十二下才停", "钟敲了十二下才停", "钟敲了\n十二下才停"),
        ("We **never** stop before dawn.", "we never stop before dawn", "We **never** stop before dawn"),
        ("from 03:00 – 05:40, empty", "from 03:00 - 05:40", "from 03:00 – 05:40"),
        ("每天（周一除外）十点", "每天(周一除外)十点", "每天（周一除外）十点"),
        ("It is a cold room.", "“a cold room”", "a cold room"),
    ],
)
def test_what_a_pen_changes_is_forgiven_and_the_span_is_the_sources_own(source: str, quote: str, span: str) -> None:
    found = find_quote(source, quote)
    assert found is not None
    assert source[slice(*found)] == span


def test_a_quote_that_leaves_something_out_is_several_spans_all_of_which_stand() -> None:
    source = "I have two boats. They are old. I mend nets in winter."
    assert [source[slice(*one)] for one in find_pieces(source, "I have two boats … mend nets in winter")] == [
        "I have two boats",
        "mend nets in winter",
    ]
    assert find_pieces(source, "I have two boats … and a pier") == ()


def test_one_word_shows_nothing() -> None:
    assert find_pieces("I mend nets", "I") == ()
    assert find_pieces("我补网", "我") == ()


def test_hostile_quotes_on_a_text_of_two_million_characters_are_answered() -> None:
    """A backtracking search would not come back: runs of white space, prefixes that nearly fit."""
    blank = " " * 1_000_000 + "a" + "\n" * 1_000_000
    repeated = "a " * 1_000_000
    assert find_quote(blank, "a b") is None
    assert find_quote(blank, "b  a") is None
    assert find_quote(repeated, "a " * 3_000 + "b") is None
    assert find_quote(repeated, "a\n" * 1_000 + "a") == (0, 2_001)
    assert find_quote(repeated, "a  a " * 200_000 + "b") is None


TEXT = "I run a mill. I restore\nwater wheels **with** my lathe. I bake bread. I lend oxen to anybody."


def _span(words: str) -> tuple[int, int]:
    start = TEXT.index(words)
    return start, start + len(words)


def test_a_quote_of_a_later_piece_is_placed_in_the_whole_text() -> None:
    shown = Shown(TEXT, [_span("I run a mill."), _span("I restore\nwater wheels **with** my lathe.")])
    [(start, end)] = shown.find_pieces("I restore water wheels with my lathe.")
    assert TEXT[start:end] == "I restore\nwater wheels **with** my lathe."


def test_what_was_not_shown_is_no_quote() -> None:
    assert Shown(TEXT, [_span("I run a mill.")]).find_pieces("I bake bread.") == ()


def test_a_quote_does_not_reach_from_one_piece_into_the_next() -> None:
    shown = Shown(TEXT, [_span("I run a mill."), _span("I bake bread.")])
    assert shown.find_pieces("a mill.\n…\nI bake") == (_span("a mill."), _span("I bake"))
    assert shown.in_source([(2, len("I run a mill.") + 8)]) == ()


def test_without_pieces_the_whole_text_was_shown() -> None:
    assert Shown(TEXT).find_pieces("I lend oxen") == (_span("I lend oxen"),)


def test_a_passage_is_the_sources_own_text() -> None:
    shown = Shown(TEXT, [_span("I run a mill."), _span("I restore\nwater wheels **with** my lathe.")])
    assert shown.passages("i restore water wheels … I run a mill") == (
        "I restore\nwater wheels",
        "I run a mill",
    )
    assert shown.passages("I bake bread.") == ()


def test_a_long_profile_is_searched_in_what_was_shown_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    find = quoting._find

    def noted(text: str, wanted: str) -> tuple[int, int] | None:
        searched.append(len(text))
        return find(text, wanted)

    monkeypatch.setattr(quoting, "_find", noted)
    shown = Shown(TEXT + " I mend nets." * 100_000, [(0, len(TEXT))])
    assert shown.passages("restore water wheels with my lathe") == ("restore\nwater wheels **with** my lathe",)
    assert max(searched) == len(TEXT)
