"""Three ways of finding: resonance, complement, interference (docs/field.md §3). Never merged into one score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tongyao.field.facets import Facet
from tongyao.field.scene import Nearness, Scene
from tongyao.protocol.tension import Tension

PERSPECTIVES: Final = ("resonance", "complement", "interference")
CLOSE: Final = 3.0
"""From here a side counts as close: one standard deviation in both parts of the score (2 x 1 + 1)."""

SIDES: Final = (Facet.OFFERS, Facet.MOVES, Facet.NEEDS)


@dataclass(frozen=True)
class Found:
    """Somebody seen from one perspective. Reasons: `{part, facet, start, end, score}`, strongest first."""

    perspective: str
    profile_id: str
    score: float
    reasons: list[dict[str, Any]]


class View:
    """A tension laid over a scene: every part of it against every side of everybody, computed once."""

    def __init__(self, scene: Scene, tension: Tension, excluded: Sequence[str] = ()) -> None:
        self._scene = scene
        self._parts = tension.targets()
        self._labels = list(self._parts)
        asked = scene.ask(list(self._parts.values()))
        self._near = {side: scene.near(asked, [side]) for side in SIDES}
        left_out = set(excluded)
        self._people = [n for n, id in enumerate(scene.profile_ids) if id not in left_out]

    def lists(self, limit: int) -> dict[str, list[Found]]:
        """Each perspective's best `limit` people."""
        return {"resonance": self.resonance(limit), "complement": self.complement(limit),
                "interference": self.interference(limit)}  # fmt: skip

    def resonance(self, limit: int) -> list[Found]:
        """T against what people move toward; who says nothing of it is not in this list."""
        scores = {n: self._score("T", Facet.MOVES, n) for n in self._people if self._has(Facet.MOVES, n)}
        return self._ranked("resonance", scores, limit, lambda n: [self._reason("T", Facet.MOVES, n)])

    def complement(self, limit: int) -> list[Found]:
        """The best barrier against offers, and E against needs; who fits both ways stands above who fits one way."""
        barriers = [label for label in self._labels if label.startswith("B")] or ["T"]
        scores, ties = {}, {}
        for n in self._people:
            label = max(barriers, key=lambda label: self._score(label, Facet.OFFERS, n))
            give, take = self._score(label, Facet.OFFERS, n), self._score("E", Facet.NEEDS, n)
            two_way = give >= CLOSE and take >= CLOSE
            scores[n] = give + take if two_way else give
            ties[n] = (label, two_way)

        def reasons(n: int) -> list[dict[str, Any]]:
            label, two_way = ties[n]
            given = [self._reason(label, Facet.OFFERS, n)]
            return [*given, self._reason("E", Facet.NEEDS, n)] if two_way else given

        return self._ranked("complement", scores, limit, reasons, above={n for n in ties if ties[n][1]})

    def interference(self, limit: int) -> list[Found]:
        """Close on one side, far on the others: the strongest single link minus the mean of the other sides."""
        scores, links = {}, {}
        for n in self._people:
            label, side = max(
                ((label, side) for label in self._labels if label != "I" for side in SIDES),
                key=lambda link: self._score(link[0], link[1], n),
            )
            link = self._score(label, side, n)
            if link < CLOSE:
                continue
            others = [
                max(self._score(label, other, n) for label in self._labels) for other in SIDES if other is not side
            ]
            scores[n] = link - float(np.mean(others))
            links[n] = (label, side)
        return self._ranked("interference", scores, limit, lambda n: [self._reason(links[n][0], links[n][1], n)])

    def _ranked(
        self,
        perspective: str,
        scores: Mapping[int, float],
        limit: int,
        reasons: Any,
        above: set[int] | None = None,
    ) -> list[Found]:
        top = sorted(scores, key=lambda n: (n not in (above or ()), -scores[n], self._scene.profile_ids[n]))[:limit]
        return [Found(perspective, self._scene.profile_ids[n], round(scores[n], 4), reasons(n)) for n in top]

    def _has(self, side: Facet, n: int) -> bool:
        return bool((self._near[side].chunks[:, n] >= 0).any())

    def _score(self, label: str, side: Facet, n: int) -> float:
        near: Nearness = self._near[side]
        return float(near.scores[self._labels.index(label), n]) if label in self._parts else 0.0

    def _reason(self, label: str, side: Facet, n: int) -> dict[str, Any]:
        row = int(self._near[side].chunks[self._labels.index(label), n])
        chunk = self._scene.chunks[row]
        return {"part": label, "facet": side.value, "start": chunk.start, "end": chunk.end,
                "score": round(self._score(label, side, n), 4)}  # fmt: skip


def union(lists: Mapping[str, Sequence[Found]], limit: int, shares: Mapping[str, float] | None = None) -> list[Found]:
    """The union's top `limit` people first, each list in turn and within its share; then the lists' other rows.

    Interference is never given less than another list: what cannot be divided goes to it first.
    """
    quotas = _quotas(limit, shares or dict.fromkeys(PERSPECTIVES, 1.0))
    taken: set[str] = set()
    first: list[Found] = []
    waiting = {name: list(lists.get(name, ())) for name in PERSPECTIVES}
    for bounded in (True, False):  # then, what one list could not use goes to the others
        progress = True
        while len(taken) < limit and progress:
            progress = False
            for name in PERSPECTIVES:
                if (bounded and quotas[name] < 1) or len(taken) >= limit:
                    continue
                found = next((one for one in waiting[name] if one.profile_id not in taken), None)
                if found is not None:
                    first.append(found)
                    taken.add(found.profile_id)
                    quotas[name] -= 1
                    progress = True
    chosen = {(one.perspective, one.profile_id) for one in first}
    rest = [one for name in PERSPECTIVES for one in waiting[name] if (one.perspective, one.profile_id) not in chosen]
    return first + sorted(rest, key=lambda one: one.profile_id not in taken)


def _quotas(limit: int, shares: Mapping[str, float]) -> dict[str, int]:
    """`limit` divided by `shares`, what is left over to interference, then resonance, then complement."""
    weights = {name: max(0.0, float(shares.get(name, 0.0))) for name in PERSPECTIVES}
    weights["interference"] = max(weights.values()) or 1.0
    total = sum(weights.values())
    quotas = {name: int(limit * weight / total) for name, weight in weights.items()}
    order = ("interference", "resonance", "complement")
    for turn in range(limit - sum(quotas.values())):
        quotas[order[turn % 3]] += 1
    return quotas
