"""Encoding of chunks for the index: term counts packed as 32-bit pairs of hashed feature and count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tongyao.field.bm25 import TermCounts
from tongyao.field.encoders.encoder import Vectors
from tongyao.field.encoders.features import BITS
from tongyao.field.facets import Chunk

_COUNT_BITS = 32 - BITS
_MOST = (1 << _COUNT_BITS) - 1


@dataclass(frozen=True)
class StoredChunks:
    """Chunks of some people, one row each.

    `ids`: the owner's id. `numbers`: the chunk's number within the profile. `chunks`: facet and span. `vectors`:
    float32[rows, d]. `terms`: packed term counts (`packed`), or empty. `samples`: ids of people who came with Tongyao's
    own scenes. `rare`: the hashed words by which a chunk can be looked up; filled only when chunks are written.
    """

    ids: list[str]
    numbers: list[int]
    chunks: list[Chunk]
    vectors: Vectors
    terms: list[bytes]
    samples: frozenset[str] = frozenset()
    rare: list[list[int]] = field(default_factory=list)

    def rows(self) -> Iterator[tuple[str, int, Chunk]]:
        return zip(self.ids, self.numbers, self.chunks, strict=True)


def packed(counts: csr_matrix) -> list[bytes]:
    """Pack each row of hashed counts, 4 bytes per feature: the feature, and in the lowest bits its count (at most
    1,023)."""
    often = np.minimum(counts.data, _MOST).astype(np.uint32)
    pairs = ((counts.indices.astype(np.uint32) << _COUNT_BITS) | often).astype("<u4")
    return [pairs[start:end].tobytes() for start, end in pairwise(counts.indptr)]


def unpacked(terms: Sequence[bytes], among: npt.NDArray[np.int32] | None = None) -> TermCounts:
    """Unpack term counts. If `among` (sorted) is given, only these features are returned."""
    pairs = np.frombuffer(b"".join(terms), dtype="<u4")
    ends = np.cumsum([len(row) // 4 for row in terms], dtype=np.int64)
    often = pairs & _MOST
    before = np.concatenate([[0], np.cumsum(often, dtype=np.uint32)])
    lengths = np.diff(before[ends], prepend=0).astype(np.float64)
    kept = np.arange(len(pairs))
    if among is not None:
        alike = np.zeros(1 << 16, dtype=bool)  # a table of the lowest 16 bits rules out most features quickly
        alike[among.astype(np.uint16)] = True
        kept = np.flatnonzero(alike[(pairs >> _COUNT_BITS).astype(np.uint16)])
        kept = kept[np.isin((pairs[kept] >> _COUNT_BITS).astype(np.int32), among)]
    features = (pairs[kept] >> _COUNT_BITS).astype(np.int32)
    rows = np.searchsorted(ends, kept, side="right")
    return TermCounts.sorted(features, rows, often[kept].astype(np.float64), lengths)
