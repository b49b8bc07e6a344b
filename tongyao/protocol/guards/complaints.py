"""Complaints about an answer, in the language of its request."""

from __future__ import annotations

from typing import Final, Literal

from tongyao.protocol.documents.texts import table
from tongyao.protocol.model.requests import Language

Fault = Literal[
    "item",
    "empty_text",
    "no_quote",
    "quote_not_found",
    "disclosed",
    "address",
    "missing_pair",
    "relation",
    "note",
    "between",
    "one_sided",
    "protected",
    "protected_ended",
    "sentence",
    "recommendation",
    "private_talk",
    "judgement",
    "too_long",
    "too_many_barriers",
    "no_transition",
    "line_quote_not_found",
    "line_without_quote",
    "claim_without_source",
    "residual_too_long",
    "plan_too_long",
    "unreadable",
]

_WORDS: Final = table("complaints")


def complaint(language: Language, fault: Fault, **named: object) -> str:
    """The complaint in `language`, with what it names filled in. Raises `KeyError` where something is not given."""
    return _WORDS[language][fault].format(**named)
