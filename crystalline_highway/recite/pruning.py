"""Removes "scaffolding" from the lookup trie: units that occur in one place and were never merged.

Such a unit is a whole phrase that occurs once. Its parts already lead to its segment, and the unit would only add
weight to a query that repeats the phrase. Only its trie entry is removed. The unit and its paths stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.compiled import compiled
from crystalline_highway.recite import walking
from crystalline_highway.recite.recitation import Trie, Units


def pruned(trie: Trie, units: Units, base: int, phrases: NDArray[np.int32]) -> Trie:
    """The trie without scaffolding. `base`: the number of base units. `phrases`: the unit of every phrase."""
    often = np.bincount(phrases, minlength=len(units))
    gone = (np.arange(len(units)) >= base) & (often <= 1) & (units.strength == 0)
    unit = np.where((trie.unit >= 0) & gone[trie.unit], -1, trie.unit)
    taken = trie.keys != -1
    keys, child = trie.keys[taken], trie.child[taken]
    parent = np.full(len(unit), -1, np.int64)
    parent[child] = keys >> 32
    alive = np.zeros(len(unit), np.bool_)
    alive[0] = True
    tips = np.flatnonzero(unit >= 0)
    while len(tips):
        alive[tips] = True
        tips = np.unique(parent[tips])
        tips = tips[(tips >= 0) & ~alive[tips]]
    number = np.cumsum(alive) - 1
    kept = alive[child]
    out_keys, out_child = walking.table(int(kept.sum()) + 1)
    _plant(out_keys, out_child, number[keys[kept] >> 32] << 32 | keys[kept] & 0xFFFFFFFF, number[child[kept]])
    return Trie(out_keys, out_child, unit[alive].astype(np.int32))


@compiled
def _plant(keys: Any, child: Any, new_keys: Any, new_child: Any) -> None:
    for i in range(new_keys.size):
        slot = walking.slot_of(keys, new_keys[i])
        keys[slot] = new_keys[i]
        child[slot] = new_child[i]
