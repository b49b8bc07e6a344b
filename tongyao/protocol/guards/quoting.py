"""Search for a quote in its source (docs/protocol.md §4.4). Pure, in time linear in the source's length.

A quote is verbatim if its characters are the same. Unintended differences are ignored: white space and line breaks, the
form of quotation marks and dashes, full and half width, upper case, Markdown marks. The stored span always comes from
the source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from tongyao.protocol.model.sizes import units

LEAST_UNITS: Final = 2
"""Least length of a quote, in units. A single word or character occurs in any text and is no evidence."""

_SPACE: Final = re.compile(r"\s+")
_FAINT: Final = re.compile(r"[\s*_`]+")
REPLACED: Final = re.compile(r"\bP\d{2,3}\b|\[somebody\]|\[某人\]|\[…\]|\[(?:person|firm|某人|某单位) \d{1,6}\]")
"""A mark in place of a name or a contact."""
_LONGEST_NAME: Final = 100
_BETWEEN_SHOWN: Final = "\x00"
"""A separator that no text contains, so no quote can span it."""

_ELISION: Final = re.compile(r"\[?(?:…+|\.{3,})\]?")
_AROUND: Final = " \t\r\n\"'“”‘’「」『』…。，,.;；"

_SAME: Final = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»「」『』＂", '"'),
        **dict.fromkeys("‘’‚‛＇`´", "'"),
        **dict.fromkeys("‐‑‒–—―−－", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
        "‹": "<",
        "。": ".",
        "、": ",",
        **{chr(0xFF01 + at): chr(0x21 + at) for at in range(94) if chr(0x21 + at) not in "\"'-"},
    }
)


def find_quote(text: str, quote: str) -> tuple[int, int] | None:
    """Return the span (start, end) of `quote` in `text`, in characters; None if it does not occur."""
    wanted = quote.strip()
    if not wanted:
        return None
    for candidate in dict.fromkeys((wanted, wanted.strip(_AROUND))):
        if candidate and (found := _find(text, candidate)) is not None:
            return found
    return None


def find_pieces(text: str, quote: str) -> tuple[tuple[int, int], ...]:
    """Return the span of `quote`, or the spans of its parts if `…` marks an omission. The parts may occur in any order.

    Empty if a part does not occur in `text`, or if the quote is too short to be evidence.
    """
    if units(quote) < LEAST_UNITS:
        return ()
    whole = find_quote(text, quote)
    if whole is not None:
        return (whole,)
    if around := _around_marks(text, quote):
        return (around,)
    parts = [part for part in _ELISION.split(quote) if part.strip(_AROUND)]
    if len(parts) < 2 or any(units(part) < LEAST_UNITS for part in parts):
        return ()
    spans = [find_quote(text, part) for part in parts]
    return tuple(span for span in spans if span is not None) if all(spans) else ()


class Shown:
    """The shown spans of a text, joined; without spans, the whole text.

    Quotes are searched in it, because a profile may be a hundred times longer than its shown part.
    """

    def __init__(self, text: str, spans: Sequence[tuple[int, int]] = ()) -> None:
        self._spans = spans or ((0, len(text)),)
        self.text = _BETWEEN_SHOWN.join(text[start:end] for start, end in spans) if spans else text
        self._begins = [0, *accumulate(end - start + len(_BETWEEN_SHOWN) for start, end in self._spans)]

    def in_source(self, found: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Convert spans of `text` to spans of the source. Empty if any span crosses a border between pieces."""
        spans = []
        for begin, stop in found:
            number = bisect_right(self._begins, begin) - 1
            start, end = self._spans[number]
            if stop - self._begins[number] > end - start:
                return ()
            spans.append((start + begin - self._begins[number], start + stop - self._begins[number]))
        return tuple(spans)

    def find_pieces(self, quote: str) -> tuple[tuple[int, int], ...]:
        """Like the function `find_pieces`, with spans of the source."""
        return self.in_source(find_pieces(self.text, quote))

    def passages(self, quote: str) -> tuple[str, ...]:
        """Return the verbatim passages of the source that `quote` names. Empty if it does not occur."""
        found = find_pieces(self.text, quote)
        return tuple(self.text[start:end] for start, end in found) if self.in_source(found) else ()


def _around_marks(text: str, quote: str) -> tuple[int, int] | None:
    """Return the span of a quote copied from a text with marks in place of names.

    The parts between the marks follow each other in the source, with no more than a name between them. The longest part
    is searched first. The other parts, which may be single words, must be next to it.
    """
    parts = [part for part in (piece.strip() for piece in REPLACED.split(quote)) if part.strip(_AROUND)]
    if not REPLACED.search(quote) or not parts:
        return None
    longest = max(range(len(parts)), key=lambda at: units(parts[at]))
    if units(parts[longest]) < LEAST_UNITS or (found := find_quote(text, parts[longest])) is None:
        return None
    start, end = found
    for part in parts[longest + 1 :]:
        behind = find_quote(text[end : end + len(part) + 2 * _LONGEST_NAME], part)
        if behind is None or behind[0] > _LONGEST_NAME:
            return None
        end += behind[1]
    for part in reversed(parts[:longest]):
        first = max(0, start - len(part) - 2 * _LONGEST_NAME)
        before = _last(text[first:start], part)
        if before is None or start - first - before[1] > _LONGEST_NAME:
            return None
        start = first + before[0]
    return start, end


def _last(text: str, part: str) -> tuple[int, int] | None:
    """Return the last span of `part` in a short `text`, or else the span that `find_quote` returns."""
    at = _plain(text).rfind(_plain(part)) if len(_plain(text)) == len(text) else text.rfind(part)
    return (at, at + len(part)) if at >= 0 else find_quote(text, part)


def _find(text: str, wanted: str) -> tuple[int, int] | None:
    at = text.find(wanted)
    if at >= 0:
        return at, at + len(wanted)
    same, sought = _plain(text), _plain(wanted)
    if len(same) != len(text):  # a character whose lower case has two characters would shift the offsets
        same, sought = text.translate(_SAME), wanted.translate(_SAME)
    at = same.find(sought)
    if at >= 0:
        return at, at + len(sought)
    # Plain searches, because a pattern of many words with `\s+` backtracks for hours on a long text.
    for runs, left in ((_SPACE, " "), (_FAINT, "")):
        folded = runs.sub(left, sought)
        if folded and (at := runs.sub(left, same).find(folded)) >= 0:
            return _unfolded(same, at, runs, left), _unfolded(same, at + len(folded) - 1, runs, left) + 1
    return None


def _plain(text: str) -> str:
    return text.translate(_SAME).lower()


def _unfolded(text: str, folded_at: int, runs: re.Pattern[str], left: str) -> int:
    """Return the index in `text` of the character at `folded_at` of the folded text."""
    surplus = 0
    for run in runs.finditer(text):
        if run.start() - surplus > folded_at or (left and run.start() - surplus == folded_at):
            break
        surplus += run.end() - run.start() - len(left)
    return folded_at + surplus
