"""Cuts a text into chunks: whole sentences, joined up to a size. Each chunk is a verbatim span (docs/field.md §2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

CHUNK_CHARS: Final = 160
"""The target length of a chunk: two or three Chinese sentences, which mostly have one subject (docs/field.md §2)."""

_SENTENCE = re.compile(r"[^。！？!?；;\n]*(?:[。！？!?；;\n]+|\.(?=\s)|$)[”’」』）)\"']*\s*")
_SOFT = re.compile(r"[，,、：:\s]")


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of `text[start:end]`, without gaps. A blank sentence is joined to the next one."""
    stop = len(text) if end is None else end
    begun = start
    for match in _SENTENCE.finditer(text, start, stop):
        if text[begun : match.end()].strip() and match.end() > begun:
            yield begun, match.end()
            begun = match.end()
    if text[begun:stop].strip():
        yield begun, stop


def windows(
    text: str, start: int = 0, end: int | None = None, *, chars: int = CHUNK_CHARS
) -> Iterator[tuple[int, int]]:
    """Spans of whole sentences with at most `chars` characters. A longer sentence is cut at a comma or a space."""
    begun: int | None = None
    reached = start
    for first, last in sentences(text, start, end):
        if begun is not None and last - begun > chars:
            yield begun, reached
            begun = None
        if begun is None:
            begun = first
        while last - begun > chars:
            cut = _soft_cut(text, begun, begun + chars)
            yield begun, cut
            begun = cut
        reached = last
    if begun is not None and begun < reached:
        yield begun, reached


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at its ends."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - (len(piece) - len(piece.rstrip()))


def _soft_cut(text: str, start: int, limit: int) -> int:
    """Return the position for a cut: after the last comma or space of the second half, else at `limit`."""
    middle = start + (limit - start) // 2
    found = [match.end() for match in _SOFT.finditer(text, middle, limit)]
    return found[-1] if found else limit
