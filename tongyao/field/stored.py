"""Chunks as they stand in the index, and back: hashed words are packed as pairs of feature and count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tongyao.field.encoder import Vectors
from tongyao.field.facets import Chunk
from tongyao.field.features import BITS

_COUNT_BITS = 32 - BITS
_MOST = (1 << _COUNT_BITS) - 1


@dataclass(frozen=True)
class Stored:
    """Chunks of some people, a row each: whose, which number, where, as a vector, as counts (or None)."""

    ids: list[str]
    numbers: list[int]
    chunks: list[Chunk]
    vectors: Vectors
    counts: csr_matrix | None
    samples: frozenset[str] = frozenset()
    rare: npt.NDArray[np.bool_] | None = None  # of each entry of `counts`: whether it may be looked up

    def rows(self) -> Iterator[tuple[str, int, Chunk]]:
        return zip(self.ids, self.numbers, self.chunks, strict=True)

    def rare_words(self, row: int) -> list[int]:
        """The hashed words of a chunk by which it may be looked up."""
        if self.counts is None or self.rare is None:
            return []
        entries = slice(self.counts.indptr[row], self.counts.indptr[row + 1])
        words: list[int] = self.counts.indices[entries][self.rare[entries]].tolist()
        return words


def packed(counts: csr_matrix, row: int) -> bytes:
    """One row of hashed counts, 4 bytes a feature: its number and, in the lowest bits, how often (at most 1,023)."""
    start, end = counts.indptr[row], counts.indptr[row + 1]
    often = np.minimum(counts.data[start:end], _MOST).astype(np.uint32)
    pairs = (counts.indices[start:end].astype(np.uint32) << _COUNT_BITS) | often
    return bytes(pairs.astype("<u4").tobytes())


def unpacked(rows: Sequence[bytes | None]) -> csr_matrix:
    """The count matrix of packed rows."""
    held = [row or b"" for row in rows]
    pairs = np.frombuffer(b"".join(held), dtype="<u4")
    ends = np.cumsum([0] + [len(row) // 4 for row in held])
    data = (pairs & _MOST).astype(np.float64)
    return csr_matrix((data, (pairs >> _COUNT_BITS).astype(np.int32), ends), shape=(len(held), 1 << BITS))
