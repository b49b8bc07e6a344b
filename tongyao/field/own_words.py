"""Finds the tensions that a person might answer, from their own profile alone (docs/field.md §3).

The result depends on this profile and on the tensions, which everybody of the scene may read. It does not depend on
other profiles. So nobody can learn about another profile by changing their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix

from tongyao.field.encoders.encoder import Vectors
from tongyao.field.encoders.features import count_features, words
from tongyao.field.scene import searchable_chunks
from tongyao.protocol.model.tension import Tension

LEAST: Final = 0.08
"""If the cosine is lower, a passage and a line share little more than common words."""


@dataclass(frozen=True)
class Passage:
    """`text[start:end]` of the profile is near the part `part` (T, B1, E …) of the tension `tension`."""

    tension: str
    part: str
    start: int
    end: int


class TensionLines:
    """Lines of tensions as weighted terms. It holds no words. I is left out: it filters, nobody answers it."""

    def __init__(self, tensions: Mapping[str, Tension]) -> None:
        lines = [
            (id, part, text) for id, one in tensions.items() for part, text in one.targets().items() if part != "I"
        ]
        counts = count_features([text for *_, text in lines] or ["-"], words)
        often = np.bincount(counts.indices, minlength=counts.shape[1])
        self.lines = [(id, part) for id, part, _ in lines]
        self._weights = np.log(1 + (1 + len(lines)) / (1 + often))
        self._features = np.unique(counts.indices)
        weighted = _weighted(counts, self._weights)
        compact = (weighted.data, np.searchsorted(self._features, weighted.indices), weighted.indptr)
        self._terms = csr_matrix(compact, shape=(weighted.shape[0], len(self._features))).tocsc()
        self._ids = list(dict.fromkeys(id for id, *_ in lines))
        self._starts = [n for n, (id, *_) in enumerate(lines) if n == 0 or id != lines[n - 1][0]]

    def cosines(self, pieces: Sequence[str]) -> Vectors:
        """Cosines of weighted terms, float[lines, pieces]."""
        own = _weighted(count_features(pieces, words), self._weights).tocoo()
        known = np.isin(own.col, self._features)
        columns, place = np.unique(np.searchsorted(self._features, own.col[known]), return_inverse=True)
        dense = np.zeros((len(columns), len(pieces)))
        dense[place, own.row[known]] = own.data[known]
        return np.asarray(self._terms[:, columns] @ dense, dtype=np.float32)

    def nearest(self, text: str, most: int) -> list[str]:
        """Ids of the `most` tensions that a profile is nearest to."""
        pieces = [text[chunk.start : chunk.end] for chunk in searchable_chunks(text)]
        if not self.lines or not pieces:
            return []
        best = np.maximum.reduceat(self.cosines(pieces).max(axis=1), self._starts)
        order = np.argsort(-best, kind="stable")[:most]
        return [self._ids[n] for n in order]


def own_words(text: str, tensions: Mapping[str, Tension]) -> list[Passage]:
    """The nearest passage of a profile for each tension near it. The nearest tension comes first.

    The fewer lines contain a term, the higher is its weight.
    """
    there, chunks = TensionLines(tensions), searchable_chunks(text)
    if not there.lines or not chunks:
        return []
    near = there.cosines([text[chunk.start : chunk.end] for chunk in chunks])
    best: dict[str, tuple[float, Passage]] = {}
    for row, (id, part) in enumerate(there.lines):
        nearest = int(near[row].argmax())
        score = float(near[row, nearest])
        if score >= max(LEAST, best[id][0] if id in best else 0.0):
            best[id] = score, Passage(id, part, chunks[nearest].start, chunks[nearest].end)
    return [passage for _, passage in sorted(best.values(), key=lambda found: -found[0])]


def _weighted(counts: csr_matrix, weights: Any) -> csr_matrix:
    """Log counts times weights, each row of length 1."""
    data = np.log1p(counts.data) * weights[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, data**2, minlength=counts.shape[0]))
    return csr_matrix((data / np.maximum(norms[rows], 1e-12), counts.indices, counts.indptr), shape=counts.shape)
