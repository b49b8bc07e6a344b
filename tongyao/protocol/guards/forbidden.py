"""Phrases that a person forbade their proxy to disclose, found however they are written (docs/protocol.md §3.5). Pure, and linear in the text's length."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from tongyao.protocol.model.unicode_text import UNSPACED, folded
from tongyao.protocol.rules.identity.markup import for_others

_MARKS: Final = re.compile(r"[*_`~|\\]+")
_BETWEEN: Final = re.compile(r"[\s‐‑‒–—―−-]+")
_WITHIN: Final = re.compile(rf"(?<=[{UNSPACED}]) (?=[{UNSPACED}])")
_QUOTES: Final = str.maketrans({**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛`´", "'")})


class Forbidden:
    """Some phrases, compared with what others would read of a text. Case, width, accents, invisible characters, white space, Markdown's
    marks, character references, the shape of quotation marks and a hyphen for a blank make no difference.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = [phrase for phrase in (_as_read(one).strip() for one in phrases) if phrase]

    def stands_in(self, text: str) -> bool:
        """Whether any of the phrases stands in `text`."""
        if not self._phrases:
            return False
        said = _as_read(text)
        return any(phrase in said for phrase in self._phrases)


def _as_read(text: str) -> str:
    plain = _MARKS.sub("", folded(html.unescape(for_others(text))).text.translate(_QUOTES))
    return _WITHIN.sub("", _BETWEEN.sub(" ", plain))
