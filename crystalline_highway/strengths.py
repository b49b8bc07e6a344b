"""Relevance feedback (write-back): counts by units of the owner's memory, without the text of any query.

The spans used on an occasion are counted. There are three counts, all keyed by surface keys of units of the owner's
memory: how often a start was used and useful, how often a target was reached, and which starts led to which target
(direct paths). Words of a query that are not in the memory are not counted, so they cannot be read or inferred later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.memory import Memory, starts_of
from crystalline_highway.recite.segments import Level
from crystalline_highway.settings import MemorySettings
from crystalline_highway.tables import Table

_TARGETS = (Level.SHORT, Level.LONG, Level.PARAGRAPH)


@dataclass
class Strengths:
    """Counts by surface key. `used`, `useful`: of starts. `reached`: of targets. `direct`: of pairs (start, target)."""

    used: Counter[int] = field(default_factory=Counter)
    useful: Counter[int] = field(default_factory=Counter)
    reached: Counter[int] = field(default_factory=Counter)
    direct: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, other: Strengths) -> None:
        """Add the counts of `other`."""
        self.used.update(other.used)
        self.useful.update(other.useful)
        self.reached.update(other.reached)
        self.direct.update(other.direct)


def strengths_of(memory: Memory, queries: Iterable[str], spans: Sequence[tuple[int, int]]) -> Strengths:
    """Return the counts for `queries` that led to the use of `spans`: (start, end) in characters of the joined text."""
    left = Strengths()
    targets = {level: _covered(memory, level, spans) for level in _TARGETS}
    inner = [_units_in(memory, Level.LONG, row) for row in targets[Level.LONG]]
    if not inner:
        return left
    useful = np.unique(np.concatenate(inner))
    for query in queries:
        starts, _ = starts_of(memory, query)
        keys = memory.units.keys
        left.used.update(keys[starts].tolist())
        left.useful.update(keys[starts[np.isin(starts, useful)]].tolist())
        reached: set[int] = set()
        for level in _TARGETS:
            # targets are the narrowest segments that contain a whole span, and the segments around these
            if len(targets[level]) <= len(spans):
                reached.update(keys[memory.tables[level].units[targets[level]]].tolist())
        left.reached.update(reached)
        left.direct.update((start, target) for target in reached for start in keys[starts].tolist())
    return left


def _covered(memory: Memory, level: Level, spans: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    """Return the rows of the segments that overlap the spans."""
    table, edges = memory.tables[level], memory.spans[level]
    if not len(edges):
        return np.zeros(0, np.int32)
    places: list[NDArray[np.int64]] = []
    for start, end in spans:
        first = np.searchsorted(edges[:, 1], start, side="right")
        last = np.searchsorted(edges[:, 0], end, side="left")
        places.append(np.arange(first, last))
    return np.unique(table.places[np.concatenate(places)]) if places else np.zeros(0, np.int32)


def _units_in(memory: Memory, level: Level, row: int) -> NDArray[np.int32]:
    start, units = memory.tables[level].by_row()
    return units[start[row] : start[row + 1]]


class BoundStrengths:
    """Strengths resolved to the unit ids and rows of one memory, for queries."""

    def __init__(self, memory: Memory, strengths: Strengths, settings: MemorySettings) -> None:
        self._settings = settings
        self._factor = self._factors(memory, strengths)
        by_key = memory.key_order()
        self._reached: dict[Level, NDArray[np.float32]] = {}
        self._start: dict[Level, NDArray[np.int64]] = {}
        self._row: dict[Level, NDArray[np.int32]] = {}
        self._walks: dict[Level, NDArray[np.float32]] = {}
        targets, reached = _columns(strengths.reached)
        pairs = np.array(list(strengths.direct), np.int64).reshape(-1, 2)
        counts = np.array(list(strengths.direct.values()), np.float32)
        # a start that led to many targets is weak evidence for each: a path's weight is its share of the start's seeks
        used = np.array([strengths.used[start] for start in pairs[:, 0].tolist()], np.float32)
        worth = np.log2(1 + counts) * np.minimum(counts / np.maximum(used, 1), 1)
        sources, goals = by_key(pairs[:, 0]), by_key(pairs[:, 1])
        for level in _TARGETS:
            table = memory.tables[level]
            row_of = np.full(len(memory.units) + 1, -1, np.int32)
            row_of[table.units] = np.arange(len(table.units), dtype=np.int32)
            rows = row_of[by_key(targets)]
            self._reached[level] = np.zeros(len(table.units), np.float32)
            self._reached[level][rows[rows >= 0]] = np.log1p(reached[rows >= 0])
            goal = row_of[goals]
            kept = np.flatnonzero((sources >= 0) & (goal >= 0))
            kept = kept[np.argsort(sources[kept], kind="stable")]
            self._start[level] = np.searchsorted(sources[kept], np.arange(len(memory.units) + 1))
            # a unit within the target's own text leads to the target anyway, so its direct path gets no weight
            beyond = ~_holds(table, sources[kept], goal[kept])
            self._row[level], self._walks[level] = goal[kept], worth[kept] * beyond

    def nbytes(self) -> int:
        """The size of the arrays, in bytes."""
        by_level = (self._reached, self._start, self._row, self._walks)
        return self._factor.nbytes + sum(array.nbytes for arrays in by_level for array in arrays.values())

    def _factors(self, memory: Memory, strengths: Strengths) -> NDArray[np.float32]:
        """By unit: success rate relative to that of all units, smoothed towards 1 by the prior, clipped to [0, 3]."""
        factor = np.ones(len(memory.units), np.float32)
        keys, used = _columns(strengths.used)
        useful = np.array([strengths.useful[key] for key in keys.tolist()], np.float32)
        if useful.sum() > 0:
            usual, prior = float(useful.sum() / used.sum()), self._settings.prior
            rate = np.clip((useful + prior * usual) / (used + prior) / usual, 0.0, 3.0)
            units = memory.key_order()(keys)
            factor[units[units >= 0]] = rate[units >= 0]
        return factor

    def factor(self, starts: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the factors by which the weights of these starts are multiplied."""
        return self._factor[starts]

    def lend(
        self,
        level: Level,
        starts: NDArray[np.int32],
        shares: NDArray[np.float32],
        convergence: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Return the score that feedback adds to each row, from direct paths and from earlier uses of the row.

        Both are multiplied by convergence. Otherwise a row that covers little of the query would also be returned for
        queries meant for similar rows. Earlier uses are also multiplied by the share of this query's starts that led to
        the row before, to the power `MemorySettings.alike`.
        """
        if level not in self._reached:
            return np.zeros(len(convergence), np.float32)
        direct, same = (np.zeros(len(convergence), np.float32) for _ in range(2))
        begin = self._start[level]
        for unit, share in zip(starts.tolist(), shares.tolist(), strict=True):
            if begin[unit] < begin[unit + 1]:
                entries = slice(begin[unit], begin[unit + 1])
                direct[self._row[level][entries]] += share * self._walks[level][entries]
                same[self._row[level][entries]] += share
        settings = self._settings
        trodden = settings.trodden * self._reached[level] * same**settings.alike * convergence**2
        return (settings.direct * direct * convergence + trodden).astype(np.float32)


def _holds(table: Table, units: NDArray[np.int64], rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return, for each pair of a unit and a row, whether the unit leads to the row."""
    count = len(table.units)
    entries = np.repeat(np.arange(len(table.start) - 1), np.diff(table.start)) * count + table.row  # ascending order
    wanted = units * count + rows
    at = np.searchsorted(entries, wanted)
    return (
        np.asarray(entries[np.minimum(at, len(entries) - 1)] == wanted)
        if len(entries)
        else np.zeros(len(rows), np.bool_)
    )


def _columns(tally: Counter[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    return np.array(list(tally), np.int64), np.array(list(tally.values()), np.float32)
