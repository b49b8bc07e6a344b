"""Indexes one level: every segment is read once per pass, and pairs that occur often enough are merged.

The rules are the rules of seed 004, as `docs/highway.md` interprets them. One *seek* reads one segment of the level,
and paths never cross its boundary. The longest known units are matched first, but never the segment itself: a segment
is reached through its parts. Each neighbouring pair is a *path*, whose count of walks rises by one. A path between
units of n_a and n_b base units consolidates after ceil(log2(n_a + n_b)) + 1 walks. Then the pair becomes one unit, the
walks move into the unit's strength, the path's walks become 0 (its lifetime tally is separate), and the two occurrences
are refractory until the seek ends. Only pairs consolidate. A segment is registered as a unit at its first seek, with or
without consolidation.

All data are in flat arrays and three open-addressing tables. Time and memory are linear in the recited text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.compiled import compiled
from crystalline_highway.recite.segments import B1, B2, P1, P2

LONGEST = 32
"""Maximum number of symbols in a unit that longest matching can find. A longer pair does not consolidate."""

SEEK = 2048
"""Maximum number of symbols in one seek: the largest segment below the last level. A longer text is read in pieces."""

# The rows of `sizes` are counts of units, nodes, paths and pairs. `OPEN` counts, for this pass, the new segments and
# the walks of paths that may still consolidate. If it stays 0, the level has settled: the next pass would walk the same
# paths over the same units.
UNITS, NODES, PATHS, PAIRS, OPEN = 0, 1, 2, 3, 4


def table(capacity: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """An empty open-addressing table that is at most half full with `capacity` entries."""
    slots = 1 << max(4, int(2 * capacity - 1).bit_length())
    return np.full(slots, -1, np.int64), np.full(slots, -1, np.int32)


@compiled
def slot_of(keys: Any, key: Any) -> Any:
    """The slot of `key`, or the empty slot where it belongs (open addressing; -1 is empty)."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    mask = np.int64(keys.size - 1)
    at = np.int64(mixed & np.uint64(mask))
    while keys[at] != -1 and keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def rehash(keys: NDArray[np.int64], values: NDArray[np.int32], into: Any, out: Any) -> None:
    for i in range(keys.size):
        if keys[i] != -1:
            at = slot_of(into, keys[i])
            into[at] = keys[i]
            out[at] = values[i]


@compiled
def join(left: Any, right: Any, n_right: Any) -> Any:
    """The surface key of two adjacent surfaces (polynomial, two residues)."""
    p1, p2, exponent = 1, 1, n_right
    b1, b2 = B1, B2
    while exponent > 0:
        if exponent & 1:
            p1, p2 = p1 * b1 % P1, p2 * b2 % P2
        b1, b2 = b1 * b1 % P1, b2 * b2 % P2
        exponent >>= 1
    first = ((left >> 31) * p1 + (right >> 31)) % P1
    second = ((left & 0x7FFFFFFF) * p2 + (right & 0x7FFFFFFF)) % P2
    return first << 31 | second


@compiled
def threshold(n: int) -> int:
    """The number of walks after which a path over `n` base units in total consolidates: ceil(log2 n) + 1."""
    bits = 0
    while (1 << bits) < n:
        bits += 1
    return bits + 1


@compiled
def _unit(
    key: Any, n: Any, level: Any, at: Any, sizes: Any, surface_keys: Any, surface_units: Any,
    unit_keys: Any, unit_n: Any, unit_level: Any, unit_first: Any,
) -> Any:  # fmt: skip
    """The unit with this surface, created if it is new. The division of a surface into parts makes no difference."""
    slot = slot_of(surface_keys, key)
    if surface_keys[slot] != -1:
        return surface_units[slot]
    unit = sizes[UNITS]
    sizes[UNITS] += 1
    surface_keys[slot] = key
    surface_units[slot] = unit
    unit_keys[unit], unit_n[unit], unit_level[unit], unit_first[unit] = key, n, level, at
    return unit


@compiled
def _plant(
    symbols: Any, start: int, stop: int, unit: int, sizes: Any, trie_keys: Any, trie: Any, node_unit: Any
) -> None:
    """Add a unit to the trie for longest matching."""
    node = np.int64(0)
    for i in range(start, stop):
        key = node << 32 | np.int64(symbols[i])
        slot = slot_of(trie_keys, key)
        if trie_keys[slot] == -1:
            trie_keys[slot] = key
            trie[slot] = sizes[NODES]
            sizes[NODES] += 1
        node = np.int64(trie[slot])
    node_unit[node] = unit


@compiled
def walk(
    symbols: Any, unit_of_symbol: Any, bounds: Any, first: int, last: int, level: int, sizes: Any,
    surface_keys: Any, surface_units: Any, trie_keys: Any, trie: Any, node_unit: Any,
    path_keys: Any, path_slot: Any, walks: Any, tally: Any, whole: Any, pairs: Any,
    unit_keys: Any, unit_n: Any, unit_level: Any, unit_first: Any, strength: Any, use: Any,
    segment_units: Any, origin: Any,
) -> None:  # fmt: skip
    """Seek the segments `first` to `last` (exclusive) of one level, each once, in order."""
    occurrence = np.empty(SEEK, np.int64)
    begin = np.empty(SEEK + 1, np.int64)
    for s in range(first, last):
        i0, i1 = bounds[s], bounds[s + 1]
        # the segment is registered at its first seek
        if segment_units[s] < 0:
            sizes[OPEN] += 1
            key, n = unit_keys[unit_of_symbol[symbols[i0]]], unit_n[unit_of_symbol[symbols[i0]]]
            for i in range(i0 + 1, i1):
                part = unit_of_symbol[symbols[i]]
                key, n = join(key, unit_keys[part], unit_n[part]), n + unit_n[part]
            segment_units[s] = _unit(
                key, n, level, origin[i0], sizes, surface_keys, surface_units,
                unit_keys, unit_n, unit_level, unit_first,
            )  # fmt: skip
            if i1 - i0 <= LONGEST:
                _plant(symbols, i0, i1, segment_units[s], sizes, trie_keys, trie, node_unit)
        # the longest match comes first, but the segment itself is not matched
        m, i = 0, i0
        while i < i1:
            node, j = np.int64(0), i
            found, stop = unit_of_symbol[symbols[i]], i + 1
            while j < i1 and j - i < LONGEST:
                slot = slot_of(trie_keys, node << 32 | np.int64(symbols[j]))
                if trie_keys[slot] == -1:
                    break
                node = np.int64(trie[slot])
                j += 1
                if node_unit[node] >= 0 and not (i == i0 and j == i1):
                    found, stop = node_unit[node], j
            occurrence[m], begin[m] = found, i
            use[found] += 1
            m += 1
            i = stop
        begin[m] = i1
        # walk the paths, and consolidate the paths with enough walks
        refractory = -1
        for k in range(m - 1):
            a, b = occurrence[k], occurrence[k + 1]
            slot = slot_of(path_keys, a << 32 | b)
            if path_keys[slot] == -1:
                path_keys[slot] = a << 32 | b
                path_slot[slot] = sizes[PATHS]
                sizes[PATHS] += 1
            path = path_slot[slot]
            walks[path] += 1
            tally[path] += 1
            n = unit_n[a] + unit_n[b]
            if begin[k + 2] - begin[k] > LONGEST:
                continue
            sizes[OPEN] += whole[path] < 0
            if refractory >= k or walks[path] < threshold(n):
                continue
            if whole[path] < 0:
                whole[path] = _unit(
                    join(unit_keys[a], unit_keys[b], unit_n[b]), n, level, origin[begin[k]], sizes,
                    surface_keys, surface_units, unit_keys, unit_n, unit_level, unit_first,
                )  # fmt: skip
                _plant(symbols, begin[k], begin[k + 2], whole[path], sizes, trie_keys, trie, node_unit)
                pair = sizes[PAIRS]
                sizes[PAIRS] += 1
                pairs[pair, 0], pairs[pair, 1], pairs[pair, 2] = whole[path], a, b
            strength[whole[path]] += walks[path]
            walks[path] = 0
            refractory = k + 1


@compiled
def enter(keys: Any, values: Any, new: NDArray[np.int64]) -> None:
    """Enter surface keys. Units are numbered in the given order."""
    for unit in range(new.size):
        slot = slot_of(keys, new[unit])
        keys[slot] = new[unit]
        values[slot] = unit
