"""Which tensions somebody might answer, by their own profile alone (docs/field.md §3).

What is near depends on two texts and on the tensions that everybody of the scene may read. No other profile has a part in it, so that
nobody learns of one by changing their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix

from tongyao.field.encoders.features import count_features, words
from tongyao.field.scene import searchable_chunks
from tongyao.protocol.model.tension import Tension

LEAST: Final = 0.08
"""Cosine below which a passage has little more than common words with a line."""


@dataclass(frozen=True)
class Passage:
    """`text[start:end]` of the profile is near this part (T, B1, E …) of this tension."""

    tension: str
    part: str
    start: int
    end: int


def own_words(text: str, tensions: Mapping[str, Tension]) -> list[Passage]:
    """The nearest passage of a profile for each tension that it is near, the nearest tension first.

    Terms are weighted by how few of the lines have them.
    """
    lines = [
        (id, part, line) for id, tension in tensions.items() for part, line in tension.targets().items() if part != "I"
    ]
    chunks = searchable_chunks(text)
    if not lines or not chunks:
        return []
    counts = count_features([line for _, _, line in lines], words)
    often = np.bincount(counts.indices, minlength=counts.shape[1])
    weights = np.log(1 + (1 + len(lines)) / (1 + often))
    own = _weighted(count_features([text[chunk.start : chunk.end] for chunk in chunks], words), weights)
    near = np.asarray((_weighted(counts, weights) @ own.T).todense())
    best: dict[str, tuple[float, Passage]] = {}
    for row, (id, part, _) in enumerate(lines):
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
