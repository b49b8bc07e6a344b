"""How well people are found: a need passes when enough of its expected people are in the top ten."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from pydantic import BaseModel

from tongyao.protocol.value import Value


class Labelled(BaseModel):
    """A need with the people who should be found, and how many of them make it pass."""

    need: str
    expected: list[str]
    minimum: int
    level: str = "unlabelled"


class Row(Value):
    """Counts of one level, or of all: `passed` of `needs`, `hits` of `expected` people."""

    level: str
    passed: int
    needs: int
    hits: int
    expected: int


def evaluate_lists(needs: Sequence[Labelled], answers: Sequence[Sequence[str]], *, top: int = 10) -> list[Row]:
    """A row per level in order of appearance, then one for all. `answers` are profile ids, best first."""
    levels = [*dict.fromkeys(need.level for need in needs), "all"]
    found = [len(set(answer[:top]) & set(need.expected)) for need, answer in zip(needs, answers, strict=True)]
    rows = []
    for level in levels:
        chosen = [(need, hits) for need, hits in zip(needs, found, strict=True) if level in ("all", need.level)]
        rows.append(
            Row(
                level=level,
                passed=sum(hits >= need.minimum for need, hits in chosen),
                needs=len(chosen),
                hits=sum(hits for _, hits in chosen),
                expected=sum(len(need.expected) for need, _ in chosen),
            )
        )
    return rows


def interval(passed: int, total: int) -> tuple[float, float]:
    """95 % interval of a rate (Wilson 1927)."""
    if total == 0:
        return 0.0, 1.0
    z = 1.96
    rate = passed / total
    middle = rate + z * z / (2 * total)
    spread = z * sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
