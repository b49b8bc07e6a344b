"""Stretches of a text, among which places are looked up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Stretches:
    """`(begin, end)` in any order, also overlapping. A place is looked up in time that hardly grows with their number."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        for begin, end in sorted(spans):
            if self._ends and begin <= self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._begins.append(begin)
                self._ends.append(end)

    def __contains__(self, at: int) -> bool:
        number = bisect_right(self._begins, at)
        return number > 0 and at < self._ends[number - 1]
