"""The category field: an encoder's vectors as a weak pull (seed 004), or none.

It gives direction and never a way: a segment that no start reached stays dark, however near its vector is, and
nothing is looked for within a radius.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tongyao.highway.memory import Memory
from tongyao.highway.recite.segments import Level

DIRECTED = (Level.LONG, Level.PARAGRAPH)


class Encoder(Protocol):
    """Texts → vectors of length 1; an encoder of the intent field is one."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[Any]: ...


def label(encoder: Encoder | None) -> str:
    """What a memory's vectors were made by; vectors of two encoders are never compared."""
    return f"{encoder.name} {encoder.version}" if encoder is not None else ""


def give_direction(memory: Memory, texts: Sequence[str], encoder: Encoder, levels: Sequence[Level] = DIRECTED) -> None:
    """Encode every segment of these levels of a recited memory, once. Blocking: call it in a thread."""
    whole = "\n".join(texts)
    for level in levels:
        table, spans = memory.tables[level], memory.spans[level]
        _, first = np.unique(table.places, return_index=True)
        pieces = [whole[start:end] for start, end in spans[first].tolist()]
        memory.directions[level] = np.asarray(encoder.encode(pieces), np.float16).reshape(len(pieces), -1)
    memory.encoder = label(encoder)


def toward(memory: Memory, query: str, encoder: Encoder | None) -> dict[Level, NDArray[np.float32]]:
    """By level, how far each row lies in the query's direction (cosine, not below 0); empty without vectors."""
    if encoder is None or memory.encoder != label(encoder):
        return {}
    vector = np.asarray(encoder.encode([query], query=True), np.float32)[0]
    return {level: np.maximum(vectors @ vector, 0) for level, vectors in memory.directions.items()}
