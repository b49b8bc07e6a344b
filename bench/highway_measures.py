"""Recall@k, latency, bootstrap intervals, and splits by whether a target was relevant to an earlier query."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.highway_sets import Collection, Query

CUTS = (1, 2, 5, 10)


class Method(Protocol):
    """An object that ranks texts: it returns the places of the ten best texts for a query, best first."""

    def rank(self, query: str) -> Sequence[int]: ...


def recalls(method: Method, queries: Sequence[Query]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The recall of every query at every cut, float64[Q, 4], and the milliseconds of every query."""
    found = np.zeros((len(queries), len(CUTS)))
    took = np.zeros(len(queries))
    for i, query in enumerate(queries):
        began = time.perf_counter()
        ranked = list(method.rank(query.text))
        took[i] = 1000 * (time.perf_counter() - began)
        if query.relevant:
            found[i] = [len(query.relevant & set(ranked[:cut])) / len(query.relevant) for cut in CUTS]
    return found, took


def summary(found: NDArray[np.float64]) -> dict[str, Any]:
    """Mean recalls with 95 % bootstrap intervals (1,000 resamples of the queries, seed 0)."""
    if not len(found):
        return {"queries": 0}
    draws = np.random.default_rng(0).integers(0, len(found), (1000, len(found)))
    means = np.stack([found[draw].mean(axis=0) for draw in draws])
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    out: dict[str, Any] = {"queries": len(found)}
    out |= {f"recall@{cut}": round(float(mean), 4) for cut, mean in zip(CUTS, found.mean(axis=0), strict=True)}
    out["interval"] = {
        f"recall@{cut}": [round(float(a), 4), round(float(b), 4)] for cut, a, b in zip(CUTS, low, high, strict=True)
    }
    return out


def measure(method: Method, collection: Collection) -> dict[str, Any]:
    """Measure one method on one collection: recalls, latency, and both splits if there is a history."""
    for query in collection.queries[:2]:
        method.rank(query.text)
    found, took = recalls(method, collection.queries)
    out = summary(found)
    out["latency_ms"] = round(float(np.median(took)), 3) if len(took) else 0.0
    out["latency_p99_ms"] = round(float(np.percentile(took, 99)), 3) if len(took) else 0.0
    if collection.history:
        sought = frozenset().union(*(query.relevant for query in collection.history))
        again = np.array([bool(query.relevant & sought) for query in collection.queries], bool)
        out["resought"], out["never_sought"] = summary(found[again]), summary(found[~again])
    return out
