"""Term order breaks ties: adjacent units of a query that are adjacent in a segment too (seed 004, sequence paths).

"The 7th of February" and "the 17th of February, 7 returned" contain the same units. Adjacent pairs within a phrase are
compared only in the segments with the best scores. So a segment without a matching term never gets a score from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.compiled import compiled
from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import Level, lay_out

BRIGHTEST = 64
"""Only this number of segments of a level, those with the best scores, are compared."""


def pairs_of(memory: Memory, query: str) -> NDArray[np.int64]:
    """Adjacent base units of a query in the memory: int64, left << 32 | right, sorted. Without pairs of stop words."""
    layout = lay_out([query])
    units = memory.unit_of(layout.keys)[layout.symbols].astype(np.int64)
    paired = np.flatnonzero((layout.breaks[1:] == 0) & (units[:-1] >= 0) & (units[1:] >= 0))
    left, right = units[paired], units[paired + 1]
    telling = ~(memory.faint[left] & memory.faint[right])
    return np.unique(left[telling] << 32 | right[telling])


def order_scores(
    memory: Memory, level: Level, pairs: NDArray[np.int64], activation: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Per row, the share of pairs adjacent in it, weighted by rarity: float32[R]. 0 for rows outside the best."""
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
