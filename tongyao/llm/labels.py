"""The words with which code labels what it renders for a model, in the language of the request.

English labels are the keys. Closed words that an answer must hold (`complementary`, `gap`) are English in the answer
in both languages; the Chinese prompts give each with its label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tongyao.protocol.model.requests import Language
from tongyao.protocol.rules.standing import Asked
from tongyao.texts.catalogue import table

_LABELS: Final = table("protocol", "labels")


def line(text: str) -> str:
    """`text` on one line: an id counts only at the start of a line, and no claim may begin one."""
    return " ".join(bare for part in text.splitlines() if (bare := part.strip()))


def with_sources(text: str, sources: Iterable[str]) -> str:
    """`text` as one line, with the ids of its sources behind it."""
    named = ", ".join(sources)
    return f"{line(text)} [{named}]" if named else line(text)


def label(word: str, language: Language) -> str:
    """`word`, which is an English label or the name of a sentence, in `language`. Raises `KeyError` for one that `labels.toml` does not have."""
    return _LABELS[language][word]


def what_came(asked: Asked | None, answers: Iterable[str], language: Language) -> Iterator[str]:
    """What is known of a gap, as marks: whom it asks and what came of that, and the ids of the `answers`, whoever gave them."""
    if asked is not None:
        yield label(f"gap_{asked.outcome}", language).format(who=asked.alias, round=asked.round)
    if ids := ", ".join(answers):
        yield label("answered_by", language).format(ids=ids)


def why_ended(language: Language, *, rounds: int, converged: bool) -> str:
    """One sentence for the author of the plan."""
    return label("converged" if converged else "stopped", language).format(round=rounds)
