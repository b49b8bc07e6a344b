"""Queries a memory: the query's units score the segments to which their index paths lead. Queries share no state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.compiled import compiled
from crystalline_highway.memory import SOUGHT, Memory, starts_of
from crystalline_highway.recite.segments import Level
from crystalline_highway.seek.direction import TextEncoder, query_similarity
from crystalline_highway.seek.term_order import order_scores, pairs_of
from crystalline_highway.settings import MemorySettings, Script, TermWeighting
from crystalline_highway.strengths import BoundStrengths
from crystalline_highway.tables import Table


@dataclass
class LevelScores:
    """Scores of one query on one level.

    `starts` int32[Q]: unit ids of the query terms. `weights` float32[Q]. Per row: `activation` (relative to the query's
    weight, with term order and feedback) and `convergence` (share of the weight that matched there, in [0, 1]). Per
    place: `glow`, the activation plus the effect of neighbours and vectors. `everywhere` bool[Q]: whether a start
    scores all rows to which it leads. Otherwise it scores only rows in `open` cells (bool, one per
    `MemorySettings.cell` rows).
    """

    starts: NDArray[np.int32]
    weights: NDArray[np.float32]
    everywhere: NDArray[np.bool_]
    open: NDArray[np.bool_]
    activation: NDArray[np.float32]
    convergence: NDArray[np.float32]
    glow: NDArray[np.float32]


@dataclass
class Session:
    """The scores of all labelled queries of one search, by level."""

    memory: Memory
    settings: MemorySettings
    lit: list[tuple[str, dict[Level, LevelScores]]] = field(default_factory=list)
    unknown: dict[str, float] = field(default_factory=dict)
    """By label: the share of the query's base units that this memory does not know."""

    def glow(self, level: Level) -> NDArray[np.float32]:
        """The score of every place of a level, summed over all queries: float32[S]."""
        total = np.zeros(len(self.memory.tables[level].places), np.float32)
        for _, by_level in self.lit:
            total += by_level[level].glow
        return total


def touch_in(table: Table, script: Script, settings: MemorySettings) -> TermWeighting:
    """The term weight parameters for segments of this table's mean length."""
    t, short, long = script.blend(table.mean_length), settings.short, settings.long
    return TermWeighting(*(x + t * (y - x) for x, y in zip(astuple(short), astuple(long), strict=True)))


def weights_of(
    memory: Memory, level: Level, starts: NDArray[np.int32], settings: MemorySettings, strengths: BoundStrengths | None
) -> NDArray[np.float32]:
    """The weight of each start, multiplied by the factor of feedback.

    It is higher for rare units, and lower for units of many base units and for stop words.
    """
    rarity = memory.rarity[level][starts].astype(np.float64)
    n = memory.units.n[starts].astype(np.float64)
    words = memory.words[starts]
    table = memory.tables[level]
    # a power of rarity, rescaled to the range of rarity
    scale = max(np.log1p(len(table.places)), 1.0)
    power = np.where(
        words, *(touch_in(table, script, settings).rarity for script in (settings.words, settings.characters))
    )
    fade = np.where(words, settings.words.fade, settings.characters.fade)
    weights = scale * (rarity / scale) ** power * n**-fade * np.where(memory.faint[starts], settings.faint, 1)
    if strengths is not None:
        weights *= strengths.factor(starts)
    return np.asarray(weights, np.float32)


@compiled
def _light(
    starts: Any, weights: Any, everywhere: Any, cell: int, begin: Any, row: Any, touches: Any, hops: Any, length: Any,
    mean: float, ttl: int, k: float, b: float, activation: Any, convergence: Any, opened: Any,
) -> None:  # fmt: skip
    """Add the term weights of all starts to their rows, with saturation and length normalisation (BM25)."""
    for s in range(starts.size):
        for e in range(begin[starts[s]], begin[starts[s] + 1]):
            if hops[e] > ttl:
                continue
            r, t = row[e], np.float64(touches[e])
            if everywhere[s]:
                opened[r // cell] = True
            elif not opened[r // cell]:
                continue
            activation[r] += weights[s] * t * (k + 1) / (t + k * (1 - b + b * length[r] / mean))
            convergence[r] += weights[s]


@compiled
def _surround(
    starts: Any, weights: Any, everywhere: Any, cell: int, opened: Any, begin: Any, row: Any, hops: Any, length: Any,
    first: Any, at: Any, places: Any, edges: Any, ttl: int, reach: int, b: float, out: Any,
) -> None:  # fmt: skip
    """Add the weight of each start to every place within `reach` of a match, once per start, within one source text."""
    count = places.size
    stamp = np.full(count, -1, np.int64)
    for s in range(starts.size):
        for e in range(begin[starts[s]], begin[starts[s] + 1]):
            if hops[e] > ttl or not (everywhere[s] or opened[row[e] // cell]):
                continue
            for i in range(first[row[e]], first[row[e] + 1]):
                p = at[i]
                for q in range(max(p - reach, 0), min(p + reach + 1, count)):
                    if stamp[q] != s and edges[q] == edges[p]:
                        stamp[q] = s
                        out[q] += weights[s]
    # in longer surroundings a match means less
    total, running = 0.0, np.zeros(count + 1)
    for p in range(count):
        total += length[places[p]]
        running[p + 1] = total
    mean = total / max(count, 1) * (2 * reach + 1)
    for p in range(count):
        if out[p] > 0:
            extent = running[min(p + reach + 1, count)] - running[max(p - reach, 0)]
            out[p] /= 1 - b + b * extent / mean


def light(
    memory: Memory,
    level: Level,
    starts: NDArray[np.int32],
    settings: MemorySettings,
    strengths: BoundStrengths | None = None,
    direction: NDArray[np.float32] | None = None,
    pairs: NDArray[np.int64] | None = None,
) -> LevelScores:
    """Score one level for the starts of one query.

    `direction` float32[R]: cosine of each row with the query. `pairs`: the query's adjacent units
    (`term_order.pairs_of`).
    """
    table = memory.tables[level]
    weights = weights_of(memory, level, starts, settings, strengths)
    total = max(float(weights.sum()), 1e-9)
    everywhere, opened = np.ones(len(starts), np.bool_), np.zeros(len(table.units) // settings.cell + 1, np.bool_)
    if settings.instances and len(starts):
        # the rarest starts come first and open the cells; at least one start does
        order = np.argsort(-memory.rarity[level][starts], kind="stable")
        starts, weights = starts[order], weights[order]
        everywhere = table.start[starts + 1] - table.start[starts] <= settings.instances
        everywhere[0] = True
    share = memory.character_share
    characters, words = (touch_in(table, script, settings) for script in (settings.characters, settings.words))
    k, b = share * characters.k + (1 - share) * words.k, share * characters.b + (1 - share) * words.b
    activation, convergence = (np.zeros(len(table.units), np.float32) for _ in range(2))
    _light(
        starts, weights, everywhere, settings.cell, table.start, table.row, table.touches, table.hops, table.length,
        table.mean_length, settings.ttl, k, b, activation, convergence, opened,
    )  # fmt: skip
    activation /= total
    convergence /= total
    if pairs is not None and settings.order > 0:
        activation += settings.order * order_scores(memory, level, pairs, activation)
    if strengths is not None:
        activation += strengths.lend(level, starts, weights / total, convergence)
    glow = activation[table.places]
    lending = settings.surroundings * memory.cohesion[level]
    if lending > 0 and level < Level.TEXT:
        around = np.zeros(len(table.places), np.float32)
        _surround(
            starts, weights, everywhere, settings.cell, opened, table.start, table.row, table.hops, table.length,
            *table.where(), table.places, memory.text_of(level), settings.ttl, settings.reach, 0.3, around,
        )  # fmt: skip
        # only segments with a score above 0 can gain from neighbours: without a path there is no result
        glow = glow + np.where(glow > 0, lending * around / total, 0).astype(np.float32)
    if direction is not None:
        glow = glow * (1 + settings.pull * direction[table.places])
    return LevelScores(starts, weights, everywhere, opened, activation, convergence, glow)


def seek(
    memory: Memory,
    queries: Sequence[tuple[str, str]],
    settings: MemorySettings | None = None,
    strengths: BoundStrengths | None = None,
    levels: Sequence[Level] = SOUGHT,
    encoder: TextEncoder | None = None,
) -> Session:
    """Query a memory with (label, text) pairs.

    A query without a matching unit has no scores. `Session.unknown` is the share of its base units that the memory does
    not know.
    """
    settings = settings or MemorySettings()
    session = Session(memory, settings)
    for label, text in queries:
        starts, unknown = starts_of(memory, text)
        session.unknown[label] = unknown
        ahead, pairs = query_similarity(memory, text, encoder), pairs_of(memory, text)
        lit = {level: light(memory, level, starts, settings, strengths, ahead.get(level), pairs) for level in levels}
        session.lit.append((label, lit))
    return session
