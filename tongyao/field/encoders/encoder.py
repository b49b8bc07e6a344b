"""The interface of encoders, which turn texts into vectors: an extension point (docs/field.md §5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tongyao.records.database import RecordsError

Vectors = npt.NDArray[np.float32]


class EncoderUnusable(Exception):
    """The encoder cannot be used: missing weights, or fewer dimensions than asked for. The message says what to do."""


class IndexGone(RecordsError):
    """The index was dropped, because another one of its scene and kind replaced it."""


class Encoder(Protocol):
    """Vectors are only compared with vectors of the same `name`, `version` and `dimension`: an index keeps all three."""

    @property
    def name(self) -> str:
        """`lexical`, or the name of a model."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same text would get another vector."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def languages(self) -> frozenset[str]:
        """Languages of the queries it may be asked, as `language_of` names them; empty: all."""
        ...

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Rows of length 1 (or zero), shape (texts, dimension). Blocking: call it in a thread. `query`: asked with these."""
        ...
