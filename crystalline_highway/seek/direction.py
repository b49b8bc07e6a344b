"""The category field (seed 004): dense vectors re-rank segments that matched a query term.

A segment without a matching term keeps score 0, even if its vector is near. There is no nearest-neighbour search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import Level

DIRECTED = (Level.LONG, Level.PARAGRAPH)


class TextEncoder(Protocol):
    """Converts texts into vectors of length 1. The encoders of the intent field satisfy this interface."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[Any]: ...


def label(encoder: TextEncoder | None) -> str:
    """Name and version of the encoder of a memory's vectors. Vectors of different encoders are never compared."""
    return f"{encoder.name} {encoder.version}" if encoder is not None else ""


def give_direction(
    memory: Memory, texts: Sequence[str], encoder: TextEncoder, levels: Sequence[Level] = DIRECTED
) -> None:
    """Add to `memory` the vectors of all segments of these levels. Blocking: call it in a thread."""
    whole = "\n".join(texts)
    for level in levels:
        table, spans = memory.tables[level], memory.spans[level]
        _, first = np.unique(table.places, return_index=True)
        pieces = [whole[start:end] for start, end in spans[first].tolist()]
        memory.directions[level] = np.asarray(encoder.encode(pieces), np.float16).reshape(len(pieces), -1)
    memory.encoder = label(encoder)


def query_similarity(memory: Memory, query: str, encoder: TextEncoder | None) -> dict[Level, NDArray[np.float32]]:
    """By level, the cosine of each row with the query, at least 0: float32[R]. Empty without vectors of `encoder`."""
    if encoder is None or memory.encoder != label(encoder):
        return {}
    vector = np.asarray(encoder.encode([query], query=True), np.float32)[0]
    return {level: np.maximum(vectors @ vector, 0) for level, vectors in memory.directions.items()}
