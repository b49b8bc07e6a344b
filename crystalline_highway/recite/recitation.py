"""Indexes a text level by level: phrases, short sentences, long sentences, paragraphs, texts.

The symbols of the first level are base units. The symbols of every other level are the segments of the level below,
which are units too. So one procedure (`walking.walk`) indexes all levels.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.recite import walking
from crystalline_highway.recite.segments import Layout, Level
from crystalline_highway.recite.walking import NODES, OPEN, PAIRS, PATHS, SEEK, UNITS

_CHUNK = 1 << 15  # symbols recited between two checks of the array sizes


@dataclass
class Units:
    """All units of a memory. The index is the unit id, and base units come first.

    `keys` int64: surface keys. `n` int32: length in base units. `level` uint8: the level at which the unit was recited.
    `first` int32: the base unit of the layout where the unit first occurs. `strength` int32: walks that consolidation
    moved into the unit. `use` int32: number of matches during recitation. `pairs` int32[P, 3]: (whole, left part, right
    part).
    """

    keys: NDArray[np.int64]
    n: NDArray[np.int32]
    level: NDArray[np.uint8]
    first: NDArray[np.int32]
    strength: NDArray[np.int32]
    use: NDArray[np.int32]
    pairs: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass
class Paths:
    """Sequence paths of one level.

    `ends` int32[P, 2]: left and right unit. `walks` int32: walks since the last consolidation. `tally` int32: all
    walks. `whole` int32: the unit into which the path was consolidated, or -1.
    """

    ends: NDArray[np.int32]
    walks: NDArray[np.int32]
    tally: NDArray[np.int32]
    whole: NDArray[np.int32]


@dataclass
class Trie:
    """The trie for longest matching on a level: `keys` (node << 32 | symbol) → `child`. `unit`: of a node, or -1."""

    keys: NDArray[np.int64]
    child: NDArray[np.int32]
    unit: NDArray[np.int32]


@dataclass
class Recited:
    """One recited level.

    `segments` int32[S]: the unit of every segment. `settled`: further passes would create no other units.
    """

    paths: Paths
    trie: Trie
    segments: NDArray[np.int32]
    settled: bool


def _grown(array: NDArray[Any], needed: int, fill: int) -> NDArray[Any]:
    if len(array) >= needed:
        return array
    bigger = np.full((max(needed, len(array) * 3 // 2), *array.shape[1:]), fill, array.dtype)
    bigger[: len(array)] = array
    return bigger


class Reciter:
    """The state of one recitation, in growing arrays."""

    def __init__(self, layout: Layout, units: Units | None = None) -> None:
        """`units`: the units of the levels recited before, to continue from there."""
        self._layout = layout
        self._sizes = np.zeros(5, np.int64)
        self._keys = np.zeros(0, np.int64)
        self._n, self._first, self._strength, self._use = (np.zeros(0, np.int32) for _ in range(4))
        self._level = np.zeros(0, np.uint8)
        self._pairs = np.zeros((0, 3), np.int32)
        self._surface_keys, self._surface_units = walking.table(16)
        count = len(layout.keys)
        self._room(count)
        self._keys[:count], self._n[:count] = layout.keys, 1
        self._first[layout.symbols[::-1]] = np.arange(len(layout.symbols), dtype=np.int32)[::-1]
        if units is not None:
            count = len(units)
            self._keys, self._n, self._level = units.keys, units.n, units.level
            self._first, self._strength, self._use = units.first, units.strength, units.use
            self._pairs, self._sizes[PAIRS] = units.pairs, len(units.pairs)
            self._room(count)
        walking.enter(self._surface_keys, self._surface_units, self._keys[:count])
        self._sizes[UNITS] = count

    def recite(self, level: Level, below: NDArray[np.int32] | None, passes: int) -> Recited:
        """Recite one level. `below`: the unit of each segment of the level below (None: base units)."""
        layout, sizes = self._layout, self._sizes
        bounds = layout.bounds(level)
        if below is None:
            symbols, unit_of_symbol = layout.symbols, np.arange(len(layout.keys), dtype=np.int32)
            origin = np.arange(len(symbols), dtype=np.int32)
        else:
            lower = layout.bounds(Level(level - 1))
            unit_of_symbol, symbols = (a.astype(np.int32) for a in np.unique(below, return_inverse=True))
            bounds, origin = np.searchsorted(lower, bounds), lower[:-1].astype(np.int32)
        stretches, owner = _stretches(bounds)
        segments = np.full(len(stretches) - 1, -1, np.int32)
        trie_keys, trie = walking.table(16)
        path_keys, path_ids = walking.table(16)
        node_unit = np.full(1, -1, np.int32)
        walks, tally, whole = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32)
        sizes[NODES], sizes[PATHS] = 1, 0
        for _ in range(passes):
            first, sizes[OPEN] = 0, 0
            while first < len(segments):
                last = max(first + 1, int(np.searchsorted(stretches, stretches[first] + _CHUNK, side="right")) - 1)
                load = int(stretches[last] - stretches[first])
                self._room(load + last - first)
                trie_keys, trie = _wider(trie_keys, trie, int(sizes[NODES]) + 2 * load)
                path_keys, path_ids = _wider(path_keys, path_ids, int(sizes[PATHS]) + load)
                node_unit = _grown(node_unit, int(sizes[NODES]) + 2 * load, -1)
                walks = _grown(walks, int(sizes[PATHS]) + load, 0)
                tally = _grown(tally, int(sizes[PATHS]) + load, 0)
                whole = _grown(whole, int(sizes[PATHS]) + load, -1)
                walking.walk(
                    symbols, unit_of_symbol, stretches, first, last, int(level), sizes,
                    self._surface_keys, self._surface_units, trie_keys, trie, node_unit,
                    path_keys, path_ids, walks, tally, whole, self._pairs,
                    self._keys, self._n, self._level, self._first, self._strength, self._use, segments,
                    origin,
                )  # fmt: skip
                first = last
        count = int(sizes[PATHS])
        used = path_keys != -1
        ends = np.empty((count, 2), np.int32)
        ends[path_ids[used]] = np.stack([path_keys[used] >> 32, path_keys[used] & 0xFFFFFFFF], axis=1)
        paths = Paths(ends, walks[:count], tally[:count], whole[:count])
        kept = Trie(trie_keys, trie, node_unit[: int(sizes[NODES])])
        return Recited(paths, kept, segments[owner], bool(sizes[OPEN] == 0))

    def _room(self, units: int) -> None:
        needed = int(self._sizes[UNITS]) + units
        self._keys, self._n = _grown(self._keys, needed, 0), _grown(self._n, needed, 0)
        self._level, self._first = _grown(self._level, needed, 0), _grown(self._first, needed, 0)
        self._strength, self._use = _grown(self._strength, needed, 0), _grown(self._use, needed, 0)
        self._pairs = _grown(self._pairs, int(self._sizes[PAIRS]) + units, 0)
        self._surface_keys, self._surface_units = _wider(self._surface_keys, self._surface_units, needed)

    @property
    def units(self) -> Units:
        count, pairs = int(self._sizes[UNITS]), int(self._sizes[PAIRS])
        return Units(
            self._keys[:count], self._n[:count], self._level[:count], self._first[:count],
            self._strength[:count], self._use[:count], self._pairs[:pairs],
        )  # fmt: skip


def _wider(
    keys: NDArray[np.int64], values: NDArray[np.int32], needed: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    if 2 * needed <= len(keys):
        return keys, values
    wider, out = walking.table(needed)
    walking.rehash(keys, values, wider, out)
    return wider, out


def _stretches(bounds: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut segments of more than SEEK symbols into pieces. Returns the new bounds and every segment's last piece."""
    cuts = [np.arange(a, b, SEEK) for a, b in itertools.pairwise(bounds.tolist())] if len(bounds) > 1 else []
    ends = np.cumsum([len(c) for c in cuts], dtype=np.int64) - 1
    return np.concatenate([*cuts, bounds[-1:]]).astype(np.int64), ends
