"""Where a seek starts: the units of a memory that occur in a query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tongyao.highway.memory import Memory
from tongyao.highway.recite.segments import lay_out
from tongyao.highway.recite.walking import LONGEST
from tongyao.highway.tables import matches


def starts_of(memory: Memory, query: str) -> tuple[NDArray[np.int32], float]:
    """All units of the memory that occur in a query, longest and shortest alike, and the share of its base
    units that the memory does not know (1.0 for a query without any)."""
    layout = lay_out([query])
    if not len(layout.symbols):
        return np.zeros(0, np.int32), 1.0
    symbols = memory.unit_of(layout.keys)[layout.symbols].astype(np.int64)
    out = np.empty((len(symbols) * (LONGEST + 1), 3), np.int64)
    trie = memory.trie
    count = matches(symbols, 0, len(symbols), trie.keys, trie.child, trie.unit, out)
    return np.unique(out[:count, 2]).astype(np.int32), float((symbols < 0).mean())
