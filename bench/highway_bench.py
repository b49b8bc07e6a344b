"""Retrieval benchmark: the Highway against baselines on question answering sets.

    python bench/highway_bench.py --cmrc FILE
    python bench/highway_bench.py --corpus FILE --queries FILE [--history FILE] --json

The first command searches the CMRC 2018 development set for the sentence with the answer. Then it repeats the search
with a random half of the questions as history. The second command takes any set as JSON lines. `--json` prints one
object: method → recall@1, recall@2, recall@5, recall@10 (share of a query's relevant texts found), latency_ms (median),
and more.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import highway_baselines as base
from bench.highway_measures import CUTS, Method, measure
from bench.highway_sets import Collection, Query, cmrc, json_lines
from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import Level
from crystalline_highway.recite.staging import recite
from crystalline_highway.seek.direction import give_direction
from crystalline_highway.seek.seeking import seek
from crystalline_highway.settings import MemorySettings
from crystalline_highway.strengths import BoundStrengths, Strengths, strengths_of
from tongyao.field.encoders.lexical import LexicalEncoder


class Lines:
    """A recited corpus with one paragraph per line, and the map from places back to lines."""

    def __init__(self, collection: Collection, settings: MemorySettings) -> None:
        lines = [" ".join(text.split()) for text in collection.texts]
        groups = np.asarray(collection.groups)
        edges = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(lines)] if lines else [0, 0]
        began = time.perf_counter()
        self.texts = ["\n".join(lines[a:b]) for a, b in pairwise(edges)]
        self.memory: Memory = recite(self.texts, settings)
        self.took = time.perf_counter() - began
        ends = np.cumsum([len(line) + 1 for line in lines])
        self.starts = np.concatenate([[0], ends[:-1]]) if lines else np.zeros(0)
        self.ends = ends - 1
        first = self.memory.spans[Level.PARAGRAPH][:, 0]
        self.line = np.searchsorted(self.starts, first, side="right") - 1
        self.count = len(lines)


class HighwayMethod:
    """The Highway as a method that scores lines. With `history`, the results of earlier queries have been written back."""

    def __init__(
        self,
        lines: Lines,
        settings: MemorySettings,
        history: Sequence[Query] = (),
        encoder: base.Direction | None = None,
    ) -> None:
        self._lines, self._settings, self._encoder = lines, settings, encoder
        self._bound: BoundStrengths | None = None
        if history:
            left = Strengths()
            for query in history:
                spans = [(int(lines.starts[p]), int(lines.ends[p])) for p in query.relevant if p >= 0]
                left.add(strengths_of(lines.memory, [query.text], spans))
            self._bound = BoundStrengths(lines.memory, left, settings)

    def scores(self, query: str) -> NDArray[Any]:
        memory, sought = self._lines.memory, [("T", query)]
        session = seek(memory, sought, self._settings, self._bound, [Level.PARAGRAPH], self._encoder)
        scores = np.zeros(self._lines.count, np.float32)
        np.maximum.at(scores, self._lines.line, session.glow(Level.PARAGRAPH))
        return scores

    def rank(self, query: str) -> list[int]:
        return base.top(self.scores(query))


def methods(collection: Collection, settings: MemorySettings, only: Sequence[str]) -> dict[str, Method]:
    """All methods for a collection. If it has a history, the methods that learn from it are included."""
    texts, history = collection.texts, collection.history
    asked = [query.text for query in collection.queries]

    def bigrams(text: str) -> list[str]:
        return base.words(text, characters=False)

    def grams(text: str) -> list[str]:
        return base.words(text, characters=True)

    lines = Lines(collection, settings)
    note(f"recited {lines.count} texts in {lines.took:.1f} s: {len(lines.memory.units)} units")
    highway = HighwayMethod(lines, settings, history)
    plain, tuned = base.BM25(texts, bigrams, 1.2, 0.75), base.BM25(texts, grams, 0.3, 0.3)
    tfidf = base.TfIdf(texts, bigrams)
    out: dict[str, Method] = {"highway": highway}
    if history:
        out["highway_no_history"] = HighwayMethod(lines, settings)
    out |= {
        "bm25": base.Ranked(plain),
        "bm25_tuned": base.Ranked(tuned),
        "rm3": base.Ranked(base.RM3(tuned)),
        "tfidf": base.Ranked(tfidf),
    }
    fused: list[base.Scorer] = [tuned, tfidf]
    if not only or "field_lexical" in only:
        out["field_lexical"] = base.Ranked(field_encoder(texts, asked))
    if not only or {"small_model", "fusion", "highway_direction"} & set(only):
        try:
            encode = base.small_model()
        except ImportError as error:
            note(f"small_model left out: {error}")
        else:
            model = base.Dense(texts, asked, encode)
            out["small_model"] = base.Ranked(model)
            fused.append(model)
            direction = base.Direction(encode)
            give_direction(lines.memory, lines.texts, direction, [Level.PARAGRAPH])
            out["highway_direction"] = HighwayMethod(lines, settings, history, direction)
    out["fusion"] = base.Fusion(fused)
    if history:
        out["bm25_clicks"] = base.Ranked(
            base.chosen(lambda past, weight: base.Clicks(tuned, past, weight), (0.5, 1, 2, 4, 8), history)
        )
        out["bm25_term_weights"] = base.Ranked(
            base.chosen(lambda past, prior: base.TermWeights(tuned, past, prior), (1, 3, 10, 30), history)
        )
    return {name: method for name, method in out.items() if not only or name in only}


def field_encoder(texts: Sequence[str], asked: Sequence[str]) -> base.Dense:
    """The intent field's lexical encoder, fitted on the corpus."""
    encoder = LexicalEncoder.fit(texts)
    return base.Dense(texts, asked, encoder.encode)


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(collection: Collection, only: Sequence[str]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, method in methods(collection, MemorySettings(), only).items():
        results[name] = measure(method, collection)
        note(f"{name}: R@1 {results[name].get('recall@1')}, {results[name]['latency_ms']} ms")
    return results


def table(results: dict[str, Any], split: str = "") -> str:
    """Recalls with their intervals, one method per row."""
    rows = [f"| {split or 'all'} | " + " | ".join(f"R@{cut}" for cut in CUTS) + " | ms |", "|---" * 6 + "|"]
    for name, result in results.items():
        part = result.get(split, {}) if split else result
        if part.get("queries"):
            cells = [
                f"{part[f'recall@{cut}']:.3f} [{part['interval'][f'recall@{cut}'][0]:.3f}, "
                f"{part['interval'][f'recall@{cut}'][1]:.3f}]"
                for cut in CUTS
            ]
            rows.append(f"| {name} ({part['queries']}) | " + " | ".join(cells) + f" | {result['latency_ms']} |")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cmrc", type=Path, help="cmrc2018_dev.json")
    parser.add_argument("--corpus", type=Path, help='JSON lines {"id", "text"}')
    parser.add_argument("--queries", type=Path, help='JSON lines {"query", "relevant": [ids]}')
    parser.add_argument("--history", type=Path, help="JSON lines like the queries: earlier queries, in this order")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--methods", default="", help="only these, separated by commas (default: all)")
    options = parser.parse_args(arguments)
    only = [name for name in options.methods.split(",") if name]
    if options.cmrc:
        collection = cmrc(options.cmrc)
    elif options.corpus and options.queries:
        collection = json_lines(options.corpus, options.queries, options.history)
    else:
        parser.error("give --cmrc FILE, or --corpus FILE and --queries FILE")
    results = run(collection, only)
    if options.json:
        print(json.dumps(results, ensure_ascii=False))
        return
    print(table(results))
    if options.cmrc:
        shuffled = random.Random(0).sample(collection.queries, len(collection.queries))
        half = len(shuffled) // 2
        collection.history, collection.queries = shuffled[:half], shuffled[half:]
        results = run(collection, only or [*set(results) - {"small_model", "fusion", "highway_direction"}, *LEARNING])
    if collection.history:
        print("\n" + table(results, "resought") + "\n\n" + table(results, "never_sought"))


LEARNING = ("highway_no_history", "bm25_clicks", "bm25_term_weights")

if __name__ == "__main__":
    main()
