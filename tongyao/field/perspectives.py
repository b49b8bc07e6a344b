"""The three perspectives: resonance, complement, interference (docs/field.md §3). Their scores are never merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tongyao.field.facets import Facet
from tongyao.field.scene import EncodedQueries, Scene, Scores
from tongyao.protocol.model.tension import Tension

PERSPECTIVES: Final = ("resonance", "complement", "interference")
CLOSE: Final = 3.0
"""Least score of a facet that counts as close: one standard deviation above the scene's mean (`scene.UNIT`)."""

SIDES: Final = (Facet.OFFERS, Facet.MOVES, Facet.NEEDS)
OFFERS, MOVES, NEEDS = range(3)

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Match:
    """A person found from one perspective. `reasons`: dicts `{part, facet, start, end, score}`, strongest first."""

    perspective: str
    profile_id: str
    score: float
    reasons: list[dict[str, Any]]


class TensionScores:
    """Scores of every part of a tension against every facet of every person of a scene, computed once."""

    def __init__(
        self, scene: Scene, tension: Tension, excluded: Sequence[str] = (), *, threshold: float = 0.0,
        encoded: EncodedQueries | None = None,
    ) -> None:  # fmt: skip
        parts = tension.targets()
        self._scene = scene
        self._labels = list(parts)
        self._threshold = threshold
        asked = scene.ask(list(parts.values()), encoded)
        self._near = [scene.near(asked, [side]) for side in SIDES]
        self._scores = np.stack([near.scores for near in self._near])  # (sides, parts, people)
        self._people = scene.without(excluded)

    def lists(self, limit: int) -> dict[str, list[Match]]:
        """Return the best `limit` people of each perspective."""
        return {"resonance": self.resonance(limit), "complement": self.complement(limit),
                "interference": self.interference(limit)}  # fmt: skip

    def resonance(self, limit: int) -> list[Match]:
        """Return people by the score of T against their facet `moves`. People without this facet are left out."""
        if "T" not in self._labels:
            return []
        label = self._labels.index("T")
        speak = self._near[MOVES].chunks[label, self._people] >= 0
        links = {int(n): [(MOVES, label)] for n in self._people[speak]}
        return self._ranked(
            "resonance", self._people[speak], self._scores[MOVES, label, self._people[speak]], links, limit
        )

    def complement(self, limit: int) -> list[Match]:
        """Compare barriers with `offers` (the best barrier counts) and E with `needs`. People close in both rank first."""
        barriers = [n for n, label in enumerate(self._labels) if label.startswith("B")] or [0]
        given = self._scores[OFFERS][barriers][:, self._people]
        best = np.array(barriers)[given.argmax(axis=0)]
        give = given.max(axis=0)
        exchange = self._labels.index("E") if "E" in self._labels else None
        take = self._scores[NEEDS, exchange, self._people] if exchange is not None else np.zeros(len(self._people))
        two_way = (give >= CLOSE) & (take >= CLOSE)
        links = {
            int(n): [(OFFERS, int(label)), *([(NEEDS, exchange)] if both and exchange is not None else [])]
            for n, label, both in zip(self._people, best, two_way, strict=True)
        }
        return self._ranked("complement", self._people, np.where(two_way, give + take, give), links, limit, two_way)

    def interference(self, limit: int) -> list[Match]:
        """Find people close on one facet and far on the others: the highest score minus the mean of the others."""
        if not len(self._people):
            return []
        linking = [n for n, label in enumerate(self._labels) if label != "I"]
        links = self._scores[:, linking][:, :, self._people].reshape(len(SIDES) * len(linking), -1)
        chosen = links.argmax(axis=0)
        strongest = links.max(axis=0)
        sides = chosen // len(linking)
        nearest = self._scores[:, :, self._people].max(axis=1)  # (sides, people)
        others = (nearest.sum(axis=0) - nearest[sides, np.arange(len(sides))]) / (len(SIDES) - 1)
        near = strongest >= CLOSE
        reasons = {
            int(n): [(int(side), linking[link % len(linking)])]
            for n, side, link in zip(self._people[near], sides[near], chosen[near], strict=True)
        }
        return self._ranked("interference", self._people[near], (strongest - others)[near], reasons, limit)

    def _ranked(
        self, perspective: str, people: Indices, scores: Scores, links: Mapping[int, list[tuple[int, int]]], limit: int,
        above: npt.NDArray[np.bool_] | None = None,
    ) -> list[Match]:  # fmt: skip
        # with at most `limit` people, a score below the mean means little, so nobody is left out
        few = self._threshold <= 0 and len(self._people) <= limit
        kept = np.ones(len(people), dtype=bool) if few else scores >= self._threshold
        people, scores = people[kept], np.round(scores[kept], 4)
        first = above[kept] if above is not None else np.zeros(len(people), dtype=bool)
        order = np.lexsort((self._scene.precedence[people], -scores, ~first))[:limit]
        return [
            Match(
                perspective, self._scene.profile_ids[people[at]], float(scores[at]),
                [self._reason(side, label, people[at]) for side, label in links[int(people[at])]],
            )
            for at in order
        ]  # fmt: skip

    def _reason(self, side: int, label: int, n: int) -> dict[str, Any]:
        score = round(float(self._scores[side, label, n]), 4)
        return reason(self._scene, self._labels[label], int(self._near[side].chunks[label, n]), score)


def reason(scene: Scene, part: str, row: int, score: float) -> dict[str, Any]:
    """One reason: the part of the tension (or `need`), and the chunk that matched the part, as a span without text."""
    chunk = scene.chunks[row]
    return {"part": part, "facet": chunk.facet.value, "start": chunk.start, "end": chunk.end, "score": score}


def union(lists: Mapping[str, Sequence[Match]], limit: int, shares: Mapping[str, float] | None = None) -> list[Match]:
    """Return `limit` distinct people, taken from the lists in turn within each list's share, then all other rows.

    If `limit` cannot be divided evenly, interference gets the remainder first.
    """
    quotas = _quotas(limit, shares or dict.fromkeys(PERSPECTIVES, 1.0))
    taken: set[str] = set()
    first: list[Match] = []
    waiting = {name: list(lists.get(name, ())) for name in PERSPECTIVES}
    for bounded in (True, False):  # the second pass gives the places that one list could not use to the others
        progress = True
        while len(taken) < limit and progress:
            progress = False
            for name in PERSPECTIVES:
                if (bounded and quotas[name] < 1) or len(taken) >= limit:
                    continue
                found = next((match for match in waiting[name] if match.profile_id not in taken), None)
                if found is not None:
                    first.append(found)
                    taken.add(found.profile_id)
                    quotas[name] -= 1
                    progress = True
    chosen = {(match.perspective, match.profile_id) for match in first}
    rest = [
        match for name in PERSPECTIVES for match in waiting[name] if (match.perspective, match.profile_id) not in chosen
    ]
    return first + sorted(rest, key=lambda match: match.profile_id not in taken)


def _quotas(limit: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Divide `limit` by `shares`. The remainder goes to interference first, then resonance, then complement."""
    weights = {name: max(0.0, float(shares.get(name, 0.0))) for name in PERSPECTIVES}
    weights["interference"] = max(weights.values()) or 1.0
    total = sum(weights.values())
    quotas = {name: int(limit * weight / total) for name, weight in weights.items()}
    order = ("interference", "resonance", "complement")
    for turn in range(limit - sum(quotas.values())):
        quotas[order[turn % 3]] += 1
    return quotas
