"""BM25 over hashed words: the formula as published, the same over packed words, and over people as over their chunks."""

from __future__ import annotations

from math import log1p

import numpy as np
import pytest

from tongyao.field.bm25 import K1, B, CorpusStatistics, QueryTerms, TermCounts, bm25
from tongyao.field.encoders.features import count_features, words
from tongyao.field.index.packing import packed, unpacked

CHUNKS = ["前端网页开发，网页", "酵母面包", "open source 网页", "酵母 酵母 sourdough", "潜水救援"]
QUERIES = ["谁会做网页", "酵母 sourdough", "没有人用的词"]


def published(chunks: list[str], query: str) -> list[float]:
    """Robertson and Zaragoza 2009, equation 3.15, with idf that is never negative."""
    documents = [list(words(chunk)) for chunk in chunks]
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in set(words(query)):
            often, frequency = document.count(word), sum(word in other for other in documents)
            idf = log1p((len(documents) - frequency + 0.5) / (frequency + 0.5))
            score += idf * often * (K1 + 1) / (often + K1 * (1 - B + B * len(document) / average))
        scores.append(score)
    return scores


def test_scores_are_those_of_the_formula() -> None:
    scores = bm25(TermCounts.of(count_features(CHUNKS, words)), QueryTerms.of(count_features(QUERIES, words)))
    assert scores == pytest.approx(np.array([published(CHUNKS, query) for query in QUERIES]))
    assert (scores > 0).tolist() == [
        [True, False, True, False, False],
        [False, True, False, True, False],
        [False] * 5,
    ]


def test_words_out_of_the_index_score_the_same_though_only_those_asked_for_are_unpacked() -> None:
    matrix = count_features(CHUNKS, words)
    terms = QueryTerms.of(count_features(QUERIES, words))
    whole = TermCounts.of(matrix)
    some = unpacked(packed(matrix), terms.features)
    assert set(some.features.tolist()) == set(terms.features.tolist()) & set(whole.features.tolist())
    known = CorpusStatistics.of(whole, terms.features)
    assert bm25(some, terms, known) == pytest.approx(bm25(whole, terms))
    assert bm25(unpacked(packed(matrix)), terms) == pytest.approx(bm25(whole, terms))


def test_people_have_the_words_of_their_chunks_but_of_those_left_out() -> None:
    of_people = TermCounts.of(count_features(CHUNKS, words)).grouped(np.array([0, 0, -1, 1, 1]), 2)
    matrix = count_features(CHUNKS[:2], words).sum(axis=0), count_features(CHUNKS[3:], words).sum(axis=0)
    for person, counts in enumerate(matrix):
        theirs = of_people.rows == person
        wanted = np.asarray(counts).ravel()
        assert dict(zip(of_people.features[theirs], of_people.often[theirs], strict=True)) == {
            feature: wanted[feature] for feature in np.flatnonzero(wanted)
        }
        assert of_people.lengths[person] == wanted.sum()


def test_a_question_without_words_scores_nobody() -> None:
    counts = TermCounts.of(count_features(CHUNKS, words))
    terms = QueryTerms.of(count_features(["？？"], words))
    assert bm25(counts, terms).tolist() == [[0.0] * len(CHUNKS)]
    assert len(unpacked(packed(count_features(CHUNKS, words)), terms.features).features) == 0
