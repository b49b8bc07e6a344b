"""Names out, aliases in (docs/protocol.md §6.3). The record stays verbatim; only views pass through here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)

_CONTACT = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # e-mail addresses
    r"|(?<![\w/])(?:https?://|www\.)\S+"  # addresses of personal pages
    r"|(?<!\d)1[3-9]\d{9}(?!\d)"  # Chinese mobile numbers
    r"|(?<![\w.])\+\d[\d\s\-()]{7,}\d"  # international telephone numbers
)
_CONTACT_SIGNS = ("@", "://", "www.", "+")
_MOBILE_DIGITS = re.compile(r"\d{11}")
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')
"""Characters that JSON writes otherwise than they are."""
HIDDEN = "[…]"


class Anonymizer:
    """Replaces every identity by its alias, and every address or telephone number by `[…]`."""

    def __init__(self, identities: Mapping[str, Iterable[str]]) -> None:
        """`identities`: alias → the strings that name its owner. Single characters are too common to be replaced."""
        aliases = {
            name.casefold(): alias
            for alias, names in identities.items()
            for name in (raw.strip() for raw in names)
            if len(name) > 1
        }
        self._aliases = aliases
        longest_first = sorted(aliases, key=len, reverse=True)
        pattern = "|".join(_as_pattern(name) for name in longest_first)
        self._names = re.compile(pattern, re.IGNORECASE) if pattern else None
        self._plain = not any(_ESCAPED.search(name) for name in aliases)

    def text(self, text: str) -> str:
        """`text` without names and addresses. Most texts hold none, which is cheaper seen than searched for."""
        if not self._named(text):
            return text
        if self._names is not None:
            text = self._names.sub(lambda match: self._aliases[match.group().casefold()], text)
        return _CONTACT.sub(HIDDEN, text)

    def _named(self, text: str) -> bool:
        """Whether there may be something to replace in `text`."""
        folded = text.casefold()
        return (
            any(name in folded for name in self._aliases)
            or any(sign in text for sign in _CONTACT_SIGNS)
            or _MOBILE_DIGITS.search(text) is not None
        )

    def model(self, model: ModelT) -> ModelT:
        """`model`, every string in it passed through `text`."""
        if self._plain and not self._named(model.model_dump_json()):  # most are: seen at once, in all of its strings
            return model
        return type(model).model_validate(self._walk(model.model_dump(mode="python")))

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str) and type(value) is str:
            return self.text(value)
        if isinstance(value, dict):
            return {key: self._walk(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._walk(item) for item in value)
        return value


def _as_pattern(name: str) -> str:
    """Latin names match as whole words only ("Ann" is not in "planning"); CJK has no word boundary to ask for."""
    escaped = re.escape(name)
    left = r"(?<![A-Za-z0-9_])" if name[0].isascii() and name[0].isalnum() else ""
    right = r"(?![A-Za-z0-9_])" if name[-1].isascii() and name[-1].isalnum() else ""
    return f"{left}{escaped}{right}"
