"""The collapsed table of each level: the segments to which each unit leads, and the number of hops on the index path.

A phrase has the index paths of all its sub-units, and not only of the longest matches. The path of a sub-unit leads to
the smallest unit around it, and so on up to the phrase, then to the short sentence, the long sentence, the paragraph
and the text. Every query would walk the same paths. So the paths are walked once, when the memory is built, and
collapsed into one sparse table per level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.compiled import compiled
from crystalline_highway.recite.recitation import Trie
from crystalline_highway.recite.segments import Level
from crystalline_highway.recite.walking import LONGEST, slot_of

_MOST = 255  # term frequencies and hops are stored as bytes


@dataclass
class Table:
    """The table of one level. A *row* is a distinct segment (a unit). A *place* is an occurrence of a row in the texts.

    `start` int64[U+1]: first entry of each unit. Per entry: `row`, a row to which the unit leads; `touches`, its number
    of occurrences there; `hops`, the hops of the shortest path. `units` int32[R]: the unit of a row. `length` int32[R]:
    its length in base units. `places` int32[S]: the row of every segment, in text order. `above` int32[S]: for every
    segment, the segment of the next level that contains it.
    """

    start: NDArray[np.int64]
    row: NDArray[np.int32]
    touches: NDArray[np.uint8]
    hops: NDArray[np.uint8]
    units: NDArray[np.int32]
    length: NDArray[np.int32]
    places: NDArray[np.int32]
    above: NDArray[np.int32]

    @cached_property
    def mean_length(self) -> float:
        """Return the mean length of all places, in base units."""
        return max(float(self.length[self.places].mean()), 1.0) if len(self.places) else 1.0

    def by_row(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the inverse table: `start` int64[R+1], and the sorted units of every row."""
        return self._by_row

    @cached_property
    def _by_row(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        start = np.zeros(len(self.units) + 1, np.int64)
        np.cumsum(np.bincount(self.row, minlength=len(self.units)), out=start[1:])
        units = np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))
        return start, units[np.argsort(self.row, kind="stable")]

    def where(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of every row: `start` int64[R+1], and the places in text order."""
        return self._where

    @cached_property
    def _where(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        start = np.zeros(len(self.units) + 1, np.int64)
        np.cumsum(np.bincount(self.places, minlength=len(self.units)), out=start[1:])
        return start, np.argsort(self.places, kind="stable")


@compiled
def matches(symbols: Any, first: int, last: int, keys: Any, child: Any, unit: Any, out: Any) -> int:
    """Write all known units in symbols[first:last], including base units, as rows (start, end, unit) to `out`.

    Returns the number of rows written.
    """
    count = 0
    for i in range(first, last):
        if symbols[i] < 0:
            continue
        out[count, 0], out[count, 1], out[count, 2] = i, i + 1, symbols[i]
        count += 1
        node = np.int64(0)
        for j in range(i, min(last, i + LONGEST)):
            if symbols[j] < 0:
                break
            slot = slot_of(keys, node << 32 | np.int64(symbols[j]))
            if keys[slot] == -1:
                break
            node = np.int64(child[slot])
            if unit[node] >= 0 and j > i:
                out[count, 0], out[count, 1], out[count, 2] = i, j + 1, unit[node]
                count += 1
    return count


@compiled
def climb(found: Any, count: int, around: Any, hops: Any) -> None:
    """Compute the hops from every match to the whole phrase. Each match leads to the smallest match around it
    (`around`)."""
    order = np.argsort(found[:count, 0] - found[:count, 1])  # longest first
    for x in range(count):
        a = order[x]
        best, size = -1, 1 << 30
        for y in range(x):
            b = order[y]
            extent = found[b, 1] - found[b, 0]
            inside = found[b, 0] <= found[a, 0] and found[b, 1] >= found[a, 1]
            if inside and found[a, 1] - found[a, 0] < extent < size:
                best, size = b, extent
        around[a] = best
        hops[a] = 0 if best < 0 else hops[best] + 1


@compiled
def _collect(
    symbols: Any, bounds: Any, keys: Any, child: Any, unit: Any, out_start: Any, n_units: int, room: int
) -> Any:
    """Return units, touches and hops of every phrase, as one sparse matrix with a row per phrase."""
    units = np.empty(room, np.int32)
    touches = np.empty(room, np.uint8)
    hop = np.empty(room, np.uint8)
    stamp = np.full(n_units, -1, np.int64)
    at = np.empty(n_units, np.int64)
    found = np.empty((LONGEST * LONGEST, 3), np.int64)
    around = np.empty(LONGEST * LONGEST, np.int64)
    hops = np.empty(LONGEST * LONGEST, np.int64)
    filled = 0
    for p in range(bounds.shape[0]):
        count = matches(symbols, bounds[p, 0], bounds[p, 1], keys, child, unit, found)
        climb(found, count, around, hops)
        if filled + count > units.size:
            size = max(2 * units.size, filled + count)
            units = np.concatenate((units, np.empty(size - units.size, np.int32)))
            touches = np.concatenate((touches, np.empty(size - touches.size, np.uint8)))
            hop = np.concatenate((hop, np.empty(size - hop.size, np.uint8)))
        out_start[p] = filled
        for k in range(count):
            u = found[k, 2]
            # all matches of a phrase lead to the phrase itself; the match of the whole phrase is at hop 0
            if stamp[u] == p:
                e = at[u]
                touches[e] = min(touches[e] + 1, 255)
                hop[e] = min(hop[e], hops[k])
            else:
                stamp[u], at[u] = p, filled
                units[filled], touches[filled], hop[filled] = u, 1, min(hops[k], 255)
                filled += 1
    out_start[bounds.shape[0]] = filled
    return units[:filled].copy(), touches[:filled].copy(), hop[:filled].copy()


@compiled
def _gather(bounds: Any, child_rows: Any, parts: Any, out_start: Any, n_units: int) -> Any:
    """Return units, touches and hops of segments that consist of segments: those of the parts, one hop further."""
    start, units, touches, hops = parts
    room = 16
    for s in range(bounds.shape[0]):
        for c in range(bounds[s, 0], bounds[s, 1]):
            room += start[child_rows[c] + 1] - start[child_rows[c]]
    out_units = np.empty(room, np.int32)
    out_touches = np.empty(room, np.uint8)
    out_hops = np.empty(room, np.uint8)
    stamp = np.full(n_units, -1, np.int64)
    at = np.empty(n_units, np.int64)
    filled = 0
    for s in range(bounds.shape[0]):
        out_start[s] = filled
        # a segment with only one part is the same unit as the part, without another hop
        further = 0 if bounds[s, 1] - bounds[s, 0] == 1 else 1
        for c in range(bounds[s, 0], bounds[s, 1]):
            for k in range(start[child_rows[c]], start[child_rows[c] + 1]):
                u = units[k]
                if stamp[u] == s:
                    e = at[u]
                    out_touches[e] = min(np.int64(out_touches[e]) + touches[k], 255)
                    out_hops[e] = min(np.int64(out_hops[e]), np.int64(hops[k] + further))
                else:
                    stamp[u], at[u] = s, filled
                    out_units[filled], out_touches[filled] = u, touches[k]
                    out_hops[filled] = min(np.int64(255), hops[k] + further)
                    filled += 1
    out_start[bounds.shape[0]] = filled
    return out_units[:filled].copy(), out_touches[:filled].copy(), out_hops[:filled].copy()


@compiled
def _transpose(start: Any, units: Any, touches: Any, hops: Any, n_units: int) -> Any:
    """Invert the table: from units of each segment to segments of each unit."""
    out = np.zeros(n_units + 1, np.int64)
    for k in range(units.size):
        out[units[k] + 1] += 1
    for u in range(n_units):
        out[u + 1] += out[u]
    fill = out[:-1].copy()
    rows = np.empty(units.size, np.int32)
    out_touches = np.empty(units.size, np.uint8)
    out_hops = np.empty(units.size, np.uint8)
    for row in range(start.size - 1):
        for k in range(start[row], start[row + 1]):
            e = fill[units[k]]
            fill[units[k]] += 1
            rows[e], out_touches[e], out_hops[e] = row, touches[k], hops[k]
    return out, rows, out_touches, out_hops


def _distinct(
    segments: NDArray[np.int32], inner: NDArray[np.int64], below: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first place of every row, in text order, and the row of every place.

    Segments with the same surface are one unit. They are one row only if they also have the same parts, because
    punctuation may divide a unit in one segment and not in the other. The parts are in `below`, cut at `inner`; the
    lowest level has none.
    """
    key = segments.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    if len(below):
        ordinal = np.arange(len(below)) - np.repeat(inner[:-1], np.diff(inner))
        mixed = (below.astype(np.uint64) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * (2 * ordinal + 1).astype(np.uint64)
        key += np.add.reduceat(mixed, inner[:-1])
    _, first, rows = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[rows.ravel()]


def collapse(
    symbols: NDArray[np.int32],
    bounds: dict[Level, NDArray[np.int64]],
    segments: dict[Level, NDArray[np.int32]],
    trie: Trie,
    lengths: NDArray[np.int32],
) -> dict[Level, Table]:
    """Collapse the index paths. Returns the tables of SHORT, LONG, PARAGRAPH and TEXT.

    `bounds`, `segments`: of every level from PHRASE up. `lengths`: lengths of units in base units.
    """
    n_units = len(lengths)
    tables: dict[Level, Table] = {}
    below_rows = np.zeros(0, np.int32)
    parts: tuple[Any, Any, Any, Any] = (below_rows,) * 4
    for level in (Level.PHRASE, Level.SHORT, Level.LONG, Level.PARAGRAPH, Level.TEXT):
        edges = bounds[level]
        inner = edges if level is Level.PHRASE else np.searchsorted(bounds[Level(level - 1)], edges)
        first, rows = _distinct(segments[level], inner, below_rows)
        units = segments[level][first]
        start = np.zeros(len(units) + 1, np.int64)
        if level is Level.PHRASE:
            extent = np.stack([edges[first], edges[first + 1]], axis=1)
            found = _collect(
                symbols,
                extent,
                trie.keys,
                trie.child,
                trie.unit,
                start,
                n_units,
                3 * len(symbols) + LONGEST**2,
            )
        else:
            extent = np.stack([inner[first], inner[first + 1]], axis=1)
            found = _gather(extent, below_rows, parts, start, n_units)
            outer = bounds[Level(level + 1)] if level < Level.TEXT else edges
            above = np.searchsorted(outer, edges[:-1], side="right") - 1
            by_unit, led, touches, hops = _transpose(start, found[0], found[1], found[2], n_units)
            tables[level] = Table(
                start=by_unit,
                row=led,
                touches=touches,
                hops=hops,
                units=units.astype(np.int32),
                length=lengths[units].astype(np.int32),
                places=rows.astype(np.int32),
                above=above.astype(np.int32),
            )
        below_rows, parts = rows.astype(np.int32), (start, found[0], found[1], found[2])
    return tables
