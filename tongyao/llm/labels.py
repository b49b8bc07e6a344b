"""The words with which code labels what it renders for a model, in the language of the request.

English labels are the keys. Closed words that an answer must hold (`complementary`, `gap`) are English in the answer
in both languages; the Chinese prompts give each with its label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tongyao.protocol.documents.texts import table
from tongyao.protocol.model.requests import Language
from tongyao.protocol.rules.standing import Asked

_LABELS: Final = table("labels")


def line(text: str) -> str:
    """`text` on one line: an id counts only at the start of a line, and no claim may begin one."""
    return " ".join(bare for part in text.splitlines() if (bare := part.strip()))


def with_sources(text: str, sources: Iterable[str]) -> str:
    """`text` as one line, with the ids of its sources behind it."""
    named = ", ".join(sources)
    return f"{line(text)} [{named}]" if named else line(text)


def label(word: str, language: Language) -> str:
    """`word`, which is an English label, in `language`. Raises `KeyError` for one that `texts.toml` does not have."""
    return _LABELS[language][word]


def what_came(asked: Asked | None, answers: Iterable[str], language: Language) -> Iterator[str]:
    """What is known of a gap, as marks: whom it asks and what came of that, and the ids of the `answers`, whoever gave them."""
    english, ids = language == "en", ", ".join(answers)
    if asked is not None and asked.outcome == "open":
        yield f"asks {asked.alias}, not asked yet" if english else f"问 {asked.alias}，还没问"
    elif asked is not None:
        was = f"{asked.alias} was asked in round {asked.round}" if english else f"第 {asked.round} 轮问了 {asked.alias}"
        no_answer, own_words = (", no answer", ", spoke in own words") if english else ("，没答", "，用自己的话说了")
        yield was + {"unanswered": no_answer, "replied": own_words}.get(asked.outcome, "")
    if ids:
        yield f"answered by {ids}" if english else f"答它的是 {ids}"


def why_ended(language: Language, *, rounds: int, converged: bool) -> str:
    """One sentence for the author of the plan."""
    if language == "zh":
        why = "连续两轮没有要紧的新内容，或者没有人再有新的可说" if converged else "没有收敛就停了"
        return f"到第 {rounds} 轮为止：{why}"
    why = (
        "nothing that matters came any more, or nobody had anything new"
        if converged
        else "they were stopped before they converged"
    )
    return f"ended after round {rounds}: {why}"
