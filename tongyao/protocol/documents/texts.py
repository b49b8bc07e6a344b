"""Wordings of documents in both languages, out of `texts.toml`. Pure but for reading that file once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tongyao.protocol.model.requests import Language

Wordings = Mapping[Language, Mapping[str, str]]

_TABLES: Final[dict[str, dict[str, list[str]]]] = tomllib.loads(
    Path(__file__).with_name("texts.toml").read_text(encoding="utf-8")
)


def table(name: str) -> Wordings:
    """A table of `texts.toml` by language and key. Raises `KeyError` for a table that does not exist."""
    pairs = _TABLES[name].items()
    return {"en": {key: english for key, (english, _) in pairs}, "zh": {key: chinese for key, (_, chinese) in pairs}}
