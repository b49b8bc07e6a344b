"""Units of a memory by their surface, to look at what a recitation made."""

from __future__ import annotations

import numpy as np

from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import lay_out
from crystalline_highway.recite.walking import join


def unit_named(memory: Memory, surface: str) -> int | None:
    """The unit with this surface, of whatever grain; None if the memory has none."""
    layout = lay_out([surface])
    if not len(layout.symbols):
        return None
    keys = layout.keys[layout.symbols].tolist()
    whole = keys[0]
    for key in keys[1:]:
        whole = join(whole, key, 1)
    unit = int(memory.key_order()(np.array([whole], np.int64))[0])
    return unit if unit >= 0 else None
