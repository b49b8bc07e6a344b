"""Explains a score: the query terms that matched a piece, and the index paths of each match."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crystalline_highway.recite.segments import Level, lay_out
from crystalline_highway.recite.walking import LONGEST
from crystalline_highway.seek.output import Excerpt
from crystalline_highway.seek.seeking import Session
from crystalline_highway.tables import climb, matches


@dataclass(frozen=True)
class Touch:
    """One query term that matched the piece.

    `label`: the query's label. `surface`: the unit as written in the piece. `share`: its share of the query's weight.
    `touches`: its number of occurrences there. `way`: the surface at each index hop.
    """

    label: str
    surface: str
    share: float
    touches: int
    way: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """The explanation of a score.

    `touches`: all matches, by descending share. By label: `converged`: the share of the query's weight that matched
    in the piece. `activation`: the score from terms, their order and feedback. `surroundings`: the score from
    neighbours and the category field. The total score is the sum of `activation` and `surroundings` over all labels.
    """

    touches: tuple[Touch, ...]
    converged: dict[str, float]
    activation: dict[str, float]
    surroundings: dict[str, float]


def explain(session: Session, piece: Excerpt) -> Explanation:
    """Explain one piece of a session. Raises IndexError if the piece does not belong to this session's memory."""
    memory, level = session.memory, piece.level
    table = memory.tables[level]
    row = int(table.places[piece.place])
    start, units = table.by_row()
    here = units[start[row] : start[row + 1]]
    ways = _ways(session, piece)
    touches: list[Touch] = []
    converged: dict[str, float] = {}
    activation: dict[str, float] = {}
    surroundings: dict[str, float] = {}
    for label, by_level in session.lit:
        lit = by_level[level]
        total = max(float(lit.weights.sum()), 1e-9)
        near = lit.everywhere | lit.open[row // session.settings.cell]
        for unit, weight in zip(lit.starts[near].tolist(), lit.weights[near].tolist(), strict=True):
            if unit not in ways or unit not in here or len(ways[unit][0]) - 1 > session.settings.ttl:
                continue
            way, count = ways[unit]
            touches.append(Touch(label, way[0], weight / total, count, way))
        converged[label] = float(lit.convergence[row])
        activation[label] = float(lit.activation[row])
        surroundings[label] = float(lit.glow[piece.place]) - activation[label]
    touches.sort(key=lambda touch: -touch.share)
    return Explanation(tuple(touches), converged, activation, surroundings)


def _ways(session: Session, piece: Excerpt) -> dict[int, tuple[tuple[str, ...], int]]:
    """By unit: the surfaces on its shortest path up to the piece, the unit first, and its number of occurrences."""
    memory, text = session.memory, piece.text
    layout = lay_out([text])
    symbols = memory.unit_of(layout.keys)[layout.symbols].astype(np.int64) if len(layout.symbols) else np.zeros(0)
    phrases = layout.bounds(Level.PHRASE)
    above = {up: layout.bounds(up) for up in Level if Level.PHRASE < up <= piece.level}
    ways: dict[int, tuple[tuple[str, ...], int]] = {}
    found = np.empty((LONGEST * (LONGEST + 1), 3), np.int64)
    around, hops = (np.empty(len(found), np.int64) for _ in range(2))

    def surface(first: int, last: int) -> str:
        return text[layout.starts[first] : layout.ends[last - 1]]

    for first, last in zip(phrases[:-1].tolist(), phrases[1:].tolist(), strict=True):
        count = matches(symbols, first, last, memory.trie.keys, memory.trie.child, memory.trie.unit, found)
        climb(found, count, around, hops)
        tops = [surface(first, last)]
        for up, bounds in above.items():
            at = int(np.searchsorted(bounds, first, side="right")) - 1
            tops.append(piece.text if up is piece.level else surface(int(bounds[at]), int(bounds[at + 1])))
        for k in range(count):
            way, at = [], k
            while at >= 0:
                way.append(surface(int(found[at, 0]), int(found[at, 1])))
                at = int(around[at])
            whole = tuple(dict.fromkeys(way + tops))
            unit = int(found[k, 2])
            known = ways.get(unit)
            shortest = whole if known is None or len(whole) < len(known[0]) else known[0]
            ways[unit] = (shortest, 1 if known is None else known[1] + 1)
    return ways
