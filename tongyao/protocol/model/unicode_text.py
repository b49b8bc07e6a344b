"""Unicode normalisation in linear time, folding for the search of names and addresses, file detection, and removal of
markup. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

MOST_MARKS: Final = 30
"""Maximum of combining marks kept in a row, as in the Stream-Safe Text Format (Unicode Standard Annex 15, section 13).

Normalisation sorts the marks after one base character in quadratic time, so 100,000 marks take minutes.
"""

UNSPACED: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
"""Scripts written without spaces between words, for use inside a character class."""

_MAY_BE_MARKS: Final = re.compile(rf"[^\w\s\x00-\x7f]{{{MOST_MARKS + 1},}}")
_TABLE_SIZE: Final = 20_000
_LONGEST_FOLD: Final = 6
"""Maximum number of characters from one folded character: `㌖` gives six. No name contains `ﷺ`, which gives 18."""


_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""Characters that control a terminal, that change the direction of text, or that models read and people cannot see.

Tabs and line ends are not included.
"""


def without_controls(text: str) -> str:
    """Return `text` without control characters."""
    return text if text.isprintable() else _CONTROLS.sub("", text)


def normalized(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return `text` in a normal form. Combining marks after the first `MOST_MARKS` in a row are removed."""
    return unicodedata.normalize(form, text if text.isascii() else _MAY_BE_MARKS.sub(_bounded, text))


def _bounded(found: re.Match[str]) -> str:
    kept, marks = [], 0
    for char in found.group():
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= MOST_MARKS:
            kept.append(char)
    return "".join(kept)


_FILLERS: Final = "\u115f\u1160\u3164\uffa0"
"""Hangul letters that are invisible."""


class _Folds(dict[int, str]):
    """Maps a code point to its folded form, which is computed at first use. The size is limited to save memory."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) < _TABLE_SIZE:
            self[code] = folded
        return folded


def _fold(char: str) -> str:
    if unicodedata.category(char) in ("Cf", "Mn", "Me") or char in _FILLERS:
        return ""
    if char in "ıİ":
        return "i"
    if (digit := unicodedata.decimal(char, None)) is not None:
        return str(digit)
    bare = "".join(mark for mark in unicodedata.normalize("NFKD", char) if not unicodedata.combining(mark))
    return unicodedata.normalize("NFKC", bare).casefold()[:_LONGEST_FOLD]


_FOLDS: Final = _Folds()


_BEGINNINGS: Final = {"%PDF-": "pdf", "PK\x03\x04": "office", "\xd0\xcf\x11\xe0": "office", "{\\rtf": "rtf"}


def kind_of_file(given: str | bytes) -> str:
    """Return `pdf`, `office` or `rtf` if the text or bytes begin like such a file; otherwise an empty string."""
    start = given[:1_024].decode("latin-1") if isinstance(given, bytes) else given[:1_024]
    start = start.lstrip("\ufeff\xef\xbb\xbf \t\r\n")
    return next((kind for beginning, kind in _BEGINNINGS.items() if start.startswith(beginning)), "")


@dataclass(frozen=True)
class Folded:
    """A source and its folded form `text`, which does not depend on case, width, accents and invisible characters."""

    source: str
    text: str

    def spans(self, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Convert ascending spans of `text` to spans of `source`. Combining marks after a span are included."""
        if not found:
            return []
        if len(self.text) == len(self.source) and self.source.isascii():
            return found
        at = self._in_source
        return [(at[start], at[end] if end < len(at) else len(self.source)) for start, end in found]

    @cached_property
    def has_capitals(self) -> bool:
        """Whether `source` has any capital letter."""
        return self.source != self.source.lower()

    @cached_property
    def _in_source(self) -> list[int]:
        """For each character of `text`, the index of its original character in `source`."""
        return [index for index, char in enumerate(self.source) for _ in _FOLDS[ord(char)]]


def folded(text: str) -> Folded:
    """Return the folded form: compatibility forms resolved, lower case, no accents, no invisible characters."""
    return Folded(text, text.lower() if text.isascii() else text.translate(_FOLDS))


_COMMENT: Final = re.compile(r"<!--(?:(?!-->)[^<]){0,2000}-->")
_ELEMENTS: Final = (
    "a|abbr|address|area|article|aside|audio|b|base|bdi|bdo|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|"
    "data|datalist|dd|del|details|dfn|dialog|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|"
    "head|header|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|marquee|math|menu|meta|meter|nav|noscript|"
    "object|ol|optgroup|option|output|p|param|picture|pre|progress|q|rp|rt|ruby|s|samp|script|section|select|slot|small|source|"
    "span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|"
    "video|wbr|xmp"
)
_TAG: Final = re.compile(rf"</?(?:{_ELEMENTS})(?:[\s/][^<>]{{0,2000}})?>", re.IGNORECASE)
_OPENS: Final = re.compile(r"<(?=[A-Za-z/!?])")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)")
_REFERENCE: Final = re.compile(r"!?\[([^\[\]\n]{1,500})\]\[[^\[\]\n]{0,500}\]")
_DEFINITION: Final = re.compile(r"^[ ]{0,3}\[[^\[\]\n]{1,500}\]:[^\n]*$", re.MULTILINE)
_IMAGE: Final = re.compile(r"!(?=\[)")


def for_others(markdown: str) -> str:
    """Return `markdown` without control characters, tags, comments, images and link targets. Texts of tags, images and
    links are kept. Any other `<` that could open a tag becomes `‹`."""
    markdown = without_controls(markdown)
    if "<" in markdown:
        markdown = _OPENS.sub("‹", _TAG.sub("", _COMMENT.sub("", markdown)))
    if "[" in markdown:
        markdown = _DEFINITION.sub("", _REFERENCE.sub(r"\1", _LINK.sub(r"\1", markdown)))
        markdown = _IMAGE.sub("", markdown)
    return markdown
