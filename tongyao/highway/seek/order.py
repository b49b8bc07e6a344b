"""In which order a query's units stand: what sequence paths carry (seed 004), and what decides between things lit alike.

"The 7th of February" and "the 17th of February, 7 returned" hold the same units. Pairs that stand side by side in a query,
within a phrase, are looked for in the brightest segments only: they light nothing that no start has reached.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tongyao.highway.compiled import compiled
from tongyao.highway.memory import Memory
from tongyao.highway.recite.segments import Level, lay_out

BRIGHTEST = 64
"""Segments of a level that are looked at."""


def pairs_of(memory: Memory, query: str) -> NDArray[np.int64]:
    """The neighbouring base units of a query that the memory knows, left << 32 | right, sorted; not those that are faint."""
    layout = lay_out([query])
    units = memory.unit_of(layout.keys)[layout.symbols].astype(np.int64)
    paired = np.flatnonzero((layout.breaks[1:] == 0) & (units[:-1] >= 0) & (units[1:] >= 0))
    left, right = units[paired], units[paired + 1]
    telling = ~(memory.faint[left] & memory.faint[right])
    return np.unique(left[telling] << 32 | right[telling])


def in_order(
    memory: Memory, level: Level, pairs: NDArray[np.int64], activation: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Per row, the share of the pairs, by their rarity, that stand side by side in it; 0 but in the brightest rows."""
    share = np.zeros(len(activation), np.float32)
    if not len(pairs) or level is Level.TEXT:
        return share
    rows = np.flatnonzero(activation > 0)
    if len(rows) > BRIGHTEST:
        rows = rows[np.argpartition(-activation[rows], BRIGHTEST)[:BRIGHTEST]]
    rarity = memory.rarity[level]
    worth = 0.1 + rarity[pairs >> 32] + rarity[pairs & 0xFFFFFFFF]
    start, at = memory.tables[level].where()
    _meet(rows, at[start[rows]], memory.edges[level], memory.symbols, memory.joined, pairs, worth / worth.sum(), share)
    return share


@compiled
def _meet(rows: Any, places: Any, edges: Any, symbols: Any, joined: Any, pairs: Any, worth: Any, share: Any) -> None:
    stamp = np.full(pairs.size, -1, np.int64)
    for k in range(rows.size):
        for i in range(edges[places[k]] + 1, edges[places[k] + 1]):
            if not joined[i]:
                continue
            pair = np.int64(symbols[i - 1]) << 32 | np.int64(symbols[i])
            at = np.searchsorted(pairs, pair)
            if at < pairs.size and pairs[at] == pair and stamp[at] != k:
                stamp[at] = k
                share[rows[k]] += worth[at]
