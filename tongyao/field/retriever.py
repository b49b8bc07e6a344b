"""Retrieval from a long profile: the chunks nearest to each part of the tension (docs/field.md §9)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tongyao.field.bm25 import QueryTerms, TermCounts, bm25, z_scores
from tongyao.field.encoders.encoder import Encoder, Vectors
from tongyao.field.encoders.features import count_features, words
from tongyao.field.encoders.lexical import LexicalEncoder
from tongyao.field.facets import windows
from tongyao.heavy_work import READINGS
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.requests import Material, Piece
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension
from tongyao.single_flight import SingleFlight

BUDGET_CHARS: Final = 15_000
"""Maximum number of characters that an endpoint reads of a profile over 50,000 characters.

In the example of the specification, a proxy reads 3,888 of 700,000 characters, a ratio of 180:1.
"""

PIECE_CHARS: Final = 400
CHINESE_PIECE_CHARS: Final = 120
"""Length of a piece, in characters: 70 English words or three Chinese sentences, which mostly have one subject."""
SVD_DIMENSION: Final = 64
SVD_WEIGHT: Final = 0.5


class ChunkRetriever:
    """Splits, fits and searches one profile at a time, in a thread. Caches the last `keep` fitted profiles.

    `budget_chars`: maximum number of shown characters. The ratio is `Material.total_chars / Material.shown_chars`.
    """

    name = "chunks"

    def __init__(self, *, budget_chars: int = BUDGET_CHARS, keep: int = 16) -> None:
        if budget_chars < 1:
            raise ValueError("budget_chars must be at least 1")
        self._budget = budget_chars
        self._fitted = SingleFlight[Fitted](keep=keep)

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension, focus: tuple[str, ...] = ()) -> Material:
        """Return the pieces of `text` that are nearest to the queries, in text order.

        The queries are the texts of `focus`. If `focus` is empty, they are T, I, each barrier and E. Each piece carries
        the labels of the parts of the tension for which it was found.

        The queries take turns. In a turn a query chooses its best remaining piece, until the budget is used up. Chosen
        pieces that touch are joined.
        """
        key = (profile.profile_id, profile.version, hash(text))
        fitted = await self._fitted.get(key, lambda: READINGS.run(partial(fit, text)))
        chosen = await asyncio.to_thread(choose, fitted, queries_of(tension, focus), self._budget)
        return Material(
            pieces=joined(text, [(*span, labels_in(tension, labels)) for span, labels in chosen.items()]),
            total_chars=len(text),
        )


@dataclass(frozen=True)
class Fitted:
    """A profile prepared for searches. Row n of `vectors` and of `counts` belongs to `spans[n]`."""

    spans: list[tuple[int, int]]
    encoder: Encoder
    vectors: Vectors
    counts: TermCounts


def fit(text: str) -> Fitted:
    """Cut `text` into pieces and fit an encoder on them."""
    is_chinese = language_of(text) == "zh"
    spans = list(windows(text, chars=CHINESE_PIECE_CHARS if is_chinese else PIECE_CHARS))
    texts = [text[start:end] for start, end in spans]
    encoder = LexicalEncoder.fit(texts, dimension=SVD_DIMENSION, max_features=30_000)
    return Fitted(spans, encoder, encoder.encode(texts), TermCounts.of(count_features(texts, words)))


def choose(fitted: Fitted, targets: dict[str, str], budget: int) -> dict[tuple[int, int], set[str]]:
    """Choose spans with at most `budget` characters in total, each with the labels of the `targets` that chose it."""
    if not fitted.spans or not targets:
        return {}
    asked = list(targets.values())
    near: npt.NDArray[np.float64] = (fitted.encoder.encode(asked, query=True) @ fitted.vectors.T).astype(np.float64)
    scores = SVD_WEIGHT * z_scores(np.maximum(near, 0.0) ** 2) + z_scores(
        bm25(fitted.counts, QueryTerms.of(count_features(asked, words)))
    )
    orders = np.argsort(-scores, axis=1, kind="stable")
    chosen: dict[tuple[int, int], set[str]] = {}
    left = budget
    for turn in range(orders.shape[1]):
        for label, order in zip(targets, orders, strict=True):
            span = fitted.spans[order[turn]]
            if span not in chosen:
                if span[1] - span[0] > left:
                    if not chosen:  # if the budget is smaller than one piece, only the beginning of the piece is shown
                        chosen[span[0], span[0] + left] = {label}
                    return chosen
                left -= span[1] - span[0]
            chosen.setdefault(span, set()).add(label)
    return chosen


def queries_of(tension: Tension, focus: Iterable[str]) -> dict[str, str]:
    """Return the queries for a search in a profile, by label.

    The queries are the texts of `focus`, labelled by number. If `focus` has no text, they are the lines of the tension.
    With `focus` the lines are not needed, because the passages nearest to them were already read in round 1.
    """
    return {str(number): text for number, text in enumerate(focus, 1) if text.strip()} or tension.targets()


def labels_in(tension: Tension, labels: Iterable[str]) -> tuple[str, ...]:
    """Return those of `labels` that are lines of the tension, in order."""
    return tuple(sorted(set(labels) & set(tension.targets())))


def joined(text: str, spans: Iterable[tuple[int, int, Iterable[str]]]) -> tuple[Piece, ...]:
    """Make pieces of `text` from spans (start, end, labels), in text order. Adjacent or overlapping spans become one
    piece."""
    merged: list[tuple[int, int, set[str]]] = []
    for start, end, labels in sorted(spans, key=lambda span: span[:2]):
        if merged and start <= merged[-1][1]:
            first, last, before = merged[-1]
            merged[-1] = (first, max(last, end), before.union(labels))
        else:
            merged.append((start, end, set(labels)))
    return tuple(
        Piece(start=start, text=text[start:end], labels=tuple(sorted(labels))) for start, end, labels in merged
    )
