"""The words that label rendered data for a model, in the language of the request.

The keys are the English labels. Fixed values in answers (`complementary`, `gap`) are English in both languages. The
Chinese prompts list these values with their Chinese labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tongyao.protocol.model.requests import Language
from tongyao.protocol.rules.standing import Asked
from tongyao.texts.catalogue import table

_LABELS: Final = table("protocol", "labels")


def line(text: str) -> str:
    """`text` on one line. A line break in a text could forge an id, because ids count only at the start of a line."""
    return " ".join(bare for part in text.splitlines() if (bare := part.strip()))


def with_sources(text: str, sources: Iterable[str]) -> str:
    """`text` as one line, followed by the ids of its sources."""
    named = ", ".join(sources)
    return f"{line(text)} [{named}]" if named else line(text)


def label(word: str, language: Language) -> str:
    """The label or sentence with the key `word`, in `language`. Raises `KeyError` if `labels.toml` does not have the
    key."""
    return _LABELS[language][word]


def what_came(asked: Asked | None, answers: Iterable[str], language: Language) -> Iterator[str]:
    """The known facts of a gap, as marks: whom it asks, the outcome, and the ids of all `answers` by anybody."""
    if asked is not None:
        yield label(f"gap_{asked.outcome}", language).format(who=asked.alias, round=asked.round)
    if ids := ", ".join(answers):
        yield label("answered_by", language).format(ids=ids)


def why_ended(language: Language, *, rounds: int, converged: bool) -> str:
    """One sentence on why the rounds ended, for the model that writes the plan."""
    return label("converged" if converged else "stopped", language).format(round=rounds)
