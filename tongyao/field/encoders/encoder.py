"""The interface of encoders, which turn texts into vectors. It is an extension point (docs/field.md §5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tongyao.records.database import RecordsError

Vectors = npt.NDArray[np.float32]


class EncoderUnusable(Exception):
    """Weights are missing, or the encoder has fewer dimensions than requested. The message gives the remedy."""


class IndexGone(RecordsError):
    """The index was dropped because another index of the same scene and kind replaced it."""


class Encoder(Protocol):
    """Turns texts into vectors. Vectors with equal `name`, `version` and `dimension` are comparable. An index stores
    these."""

    @property
    def name(self) -> str:
        """`lexical`, or the name of a model."""
        ...

    @property
    def version(self) -> str:
        """A text that changes whenever the same input would get another vector."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def languages(self) -> frozenset[str]:
        """Languages of queries that this encoder supports, as `language_of` returns them. Empty: all."""
        ...

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Return rows of norm 1 or 0, shape (texts, dimension). Blocks. `query`: whether the texts are queries."""
        ...
