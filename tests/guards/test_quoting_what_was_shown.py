"""Quotes are looked for in what their speaker was shown, and placed in the whole text."""

from __future__ import annotations

import pytest

from tongyao.protocol.guards import quoting
from tongyao.protocol.guards.evidence import check_items
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model.projection import Dimension, ItemDraft

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


def test_items_of_a_long_profile_are_checked_against_what_was_shown_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = TEXT + " I mend nets." * 100_000
    searched: list[int] = []
    find = quoting._find

    def noted(text: str, wanted: str) -> tuple[int, int] | None:
        searched.append(len(text))
        return find(text, wanted)

    monkeypatch.setattr(quoting, "_find", noted)
    draft = ItemDraft(
        dimension=Dimension.CAPABILITY, claim="can turn it", quotes=["restore water wheels with my lathe"]
    )
    checked = check_items(
        [draft], text=profile, shown=[(0, len(TEXT))], source="profile", round_number=1, alias="P01", targets=["B1"]
    )
    assert [profile[span.start : span.end] for item in checked.items for span in item.spans] == [
        "restore\nwater wheels **with** my lathe"
    ]
    assert max(searched) == len(TEXT)
