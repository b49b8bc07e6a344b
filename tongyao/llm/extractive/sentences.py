"""A text as sentences with exact offsets, so that what is picked can be quoted verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pysbd

from tongyao.protocol.model.sizes import units

WINDOW: Final = 4_000
"""Characters that the splitter sees at once. Its cost grows faster than its input; in windows it stays
linear."""

SHORTEST: Final = 3
"""A sentence with fewer units says nothing that can be aligned with anything."""

_HEADING = re.compile(r"\s{0,3}#{1,6}\s(?P<title>.*)")
_BULLET = re.compile(r"\s*(?:[-*+•·]|\d{1,3}[.)、]|[（(]\d{1,3}[)）])\s+")
_CLOSERS = "”’」』）)》】\"'"
_CJK_END = re.compile(r"[。！？]")


@dataclass(frozen=True)
class Sentence:
    """`text == source[start:start + len(text)]`. `heading` is the Markdown heading that it stands under."""

    start: int
    text: str
    heading: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def split(text: str, *, offset: int = 0) -> list[Sentence]:
    """The sentences of `text` in order, headings, bullets and fragments left out; starts are shifted by
    `offset`."""
    found: list[Sentence] = []
    heading, position = "", 0
    for line in text.splitlines(keepends=True):
        title = _HEADING.match(line)
        if title:
            heading = title["title"].strip().rstrip("#").rstrip()
        else:
            bullet = _BULLET.match(line)
            lead = bullet.end() if bullet else 0
            for start, end in _spans(line[lead:]):
                piece = line[lead + start : lead + end]
                blank = len(piece) - len(piece.lstrip())
                piece = piece.strip()
                if units(piece) >= SHORTEST:
                    found.append(Sentence(offset + position + lead + start + blank, piece, heading))
        position += len(line)
    return found


def _spans(line: str) -> Iterator[tuple[int, int]]:
    # Built anew for each use: a segmenter keeps the text it works on as its own state, and threads share
    # modules.
    segmenter = pysbd.Segmenter(language="zh" if _CJK_END.search(line) else "en", clean=False, char_span=True)
    for base, window in _windows(line):
        cuts = [0, *(span.end for span in segmenter.segment(window)), len(window)] if window.strip() else []
        start = 0
        for end in cuts[1:]:
            # A full stop inside quotation marks: the closing mark belongs to the sentence it ends.
            while end < len(window) and window[end] in _CLOSERS and window[end - 1] in "。！？!?.…”’":
                end += 1
            if end > start:
                yield base + start, base + end
                start = end


def _windows(line: str) -> Iterator[tuple[int, str]]:
    start = 0
    while len(line) - start > WINDOW:
        piece = line[start : start + WINDOW]
        cut = max(piece.rfind(mark) for mark in "。！？；.!?; ") + 1 or WINDOW
        yield start, piece[:cut]
        start += cut
    yield start, line[start:]
