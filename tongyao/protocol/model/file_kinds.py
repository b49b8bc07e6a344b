"""Files that are no plain text although they may be pasted or sent as one: each is refused by its name, with what to do."""

from __future__ import annotations

from typing import Final, NamedTuple

_BEGINNINGS: Final = {"%PDF-": "pdf", "PK\x03\x04": "office", "\xd0\xcf\x11\xe0": "office", "{\\rtf": "rtf"}


class NotText(NamedTuple):
    """The kind of a file that is no text: a closed word, and the advice, in English and Chinese."""

    kind: str
    en: str
    zh: str


_WHAT: Final = {
    "pdf": (
        "this is a PDF file, not its text: open it, select all, copy, and paste the text here (or `pdftotext FILE.pdf FILE.txt`)",
        "这是一个 PDF 文件，不是文字：请打开它，全选、复制，把文字粘贴到这里（或者用 `pdftotext 文件.pdf 文件.txt`）",
    ),
    "office": (
        "this is a Word or other office file, not its text: open it, select all, copy, and paste the text here",
        "这是 Word 或其他办公软件的文件，不是文字：请打开它，全选、复制，把文字粘贴到这里",
    ),
    "rtf": (
        "this is an RTF file, not its text: open it, select all, copy, and paste the text here",
        "这是一个 RTF 文件，不是文字：请打开它，全选、复制，把文字粘贴到这里",
    ),
}


def not_text(given: str | bytes) -> NotText | None:
    """Return the kind of a file that begins like a PDF, an office or an RTF file; None for anything else."""
    start = given[:1_024].decode("latin-1") if isinstance(given, bytes) else given[:1_024]
    start = start.lstrip("\ufeff\xef\xbb\xbf \t\r\n")
    kind = next((kind for beginning, kind in _BEGINNINGS.items() if start.startswith(beginning)), None)
    return NotText(kind, *_WHAT[kind]) if kind is not None else None
