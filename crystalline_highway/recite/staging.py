"""Resumable indexing: one level at a time. The state after each level is stored."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from crystalline_highway.memory import RECITED, Memory, assemble
from crystalline_highway.recite.recitation import Paths, Recited, Reciter, Trie, Units
from crystalline_highway.recite.segments import Level, lay_out
from crystalline_highway.settings import MemorySettings


class StagedRecitation:
    """One recitation of source texts. The same texts and settings give the same bytes, even after interruptions."""

    def __init__(
        self, texts: Sequence[str], settings: MemorySettings, stages: Mapping[Level, bytes] | None = None
    ) -> None:
        """`stages`: the states that `step` returned for finished levels. Raises ValueError if a state is damaged."""
        self._texts = texts
        self._passes, self._scaffolding = settings.passes, settings.scaffolding
        self._layout = lay_out(texts)
        self._recited: dict[Level, Recited] = {}
        units: Units | None = None
        for level in RECITED:
            if not stages or level not in stages:
                break
            units, self._recited[level] = _load(stages[level])
        self._reciter = Reciter(self._layout, units)

    @property
    def next(self) -> Level | None:
        """The next level to recite. None if all levels are finished."""
        return RECITED[len(self._recited)] if len(self._recited) < len(RECITED) else None

    def step(self) -> tuple[Level, bytes]:
        """Recite the next level. Returns it and the state to store. Raises RuntimeError if all levels are finished."""
        level = self.next
        if level is None:
            raise RuntimeError("all levels are already recited")
        below = self._recited[Level(level - 1)].segments if level > Level.PHRASE else None
        self._recited[level] = self._reciter.recite(level, below, self._passes)
        return level, _dump(self._reciter.units, self._recited[level])

    def memory(self) -> Memory:
        """The finished memory. Raises RuntimeError if levels are missing."""
        if self.next is not None:
            raise RuntimeError(f"level {self.next.name} is not recited yet")
        units = self._reciter.units
        return assemble(
            self._texts, self._layout, units, self._recited, passes=self._passes, scaffolding=self._scaffolding
        )


def recite(
    texts: Sequence[str], settings: MemorySettings | None = None, progress: Callable[[Level], None] | None = None
) -> Memory:
    """Recite source texts into a memory. It is deterministic, and the time is linear in the texts.

    `progress` is called after each level. Any strings are accepted. Texts without base units give an empty memory.
    """
    recitation = StagedRecitation(texts, settings or MemorySettings())
    while recitation.next is not None:
        level, _ = recitation.step()
        if progress is not None:
            progress(level)
    return recitation.memory()


def _dump(units: Units, recited: Recited) -> bytes:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {"segments": recited.segments, "settled": np.array(recited.settled)}
    for prefix, group in (("units", units), ("paths", recited.paths), ("trie", recited.trie)):
        arrays |= {f"{prefix}.{f.name}": getattr(group, f.name) for f in fields(group)}
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _load(data: bytes) -> tuple[Units, Recited]:
    def group(kind: type[Any], prefix: str) -> Any:
        return kind(**{f.name: arrays[f"{prefix}.{f.name}"] for f in fields(kind)})

    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            paths, trie = group(Paths, "paths"), group(Trie, "trie")
            recited = Recited(paths, trie, arrays["segments"], bool(arrays["settled"]))
            return group(Units, "units"), recited
    except (KeyError, OSError) as error:
        raise ValueError(f"this is not a stage of a recitation ({error}): recite from the start") from error
