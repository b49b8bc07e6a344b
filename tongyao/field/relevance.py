"""Search with one text: a raw text that is no tension, or all lines of a tension together (docs/field.md §3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from tongyao.field.facets import Facet
from tongyao.field.perspectives import Match, reason
from tongyao.field.scene import UNIT, EncodedQueries, Scene
from tongyao.protocol.guards.ordinary_words import ORDINARY_ENGLISH
from tongyao.protocol.model.tension import Tension

SIDES = (Facet.OFFERS, Facet.MOVES, Facet.NEEDS)

NEARLY_ALONE: Final = 0.7
"""This share of the largest possible z-score, (n - 1) / √n for n people, limits the threshold. So small scenes have
hits."""

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'’-]*")


def relevant(
    scene: Scene, needs: Sequence[str], *, top: int, excluded: Sequence[str] = (), encoded: EncodedQueries | None = None
) -> list[list[Match]]:
    """Return the nearest `top` people for each need, best first, each with their nearest chunk.

    All facets except `identity` are compared, because a person's needs also show in which direction the person moves.
    """
    near = scene.near(scene.ask(needs, encoded), SIDES)
    people = scene.without(excluded)
    answers = []
    for scores, chunks in zip(np.round(near.scores[:, people], 4), near.chunks[:, people], strict=True):
        order = np.lexsort((scene.precedence[people], -scores))[:top]
        answers.append(
            [
                Match(
                    "relevance", scene.profile_ids[people[n]], float(scores[n]),
                    [reason(scene, "need", int(chunks[n]), float(scores[n]))] if chunks[n] >= 0 else [],
                )
                for n in order
            ]
        )  # fmt: skip
    return answers


def whole_and_parts(tension: Tension) -> list[str]:
    """All lines of a tension as one text, then each part but I as a text. Ordinary words are removed."""
    lines = tension.targets()
    texts = ["\n".join(lines.values()), *(text for label, text in lines.items() if label != "I")]
    return [_WORD.sub(_unless_ordinary, text) for text in texts]


def _unless_ordinary(word: re.Match[str]) -> str:
    return "" if word.group().lower().replace("’", "'") in ORDINARY_ENGLISH else word.group()


def answering(
    scene: Scene, tension: Tension, *, top: int, excluded: Sequence[str] = (), threshold: float = 0.0,
    encoded: EncodedQueries | None = None,
) -> list[Match]:  # fmt: skip
    """Return the nearest `top` people for a whole tension, best first, each with their nearest part and its
    perspective.

    Scores are at least `threshold`, or less in a small scene: `NEARLY_ALONE` of the largest possible score.
    """
    near = scene.near(scene.ask(whole_and_parts(tension), encoded), SIDES, sharing=True)
    labels = [label for label in tension.targets() if label != "I"]
    people, counted = scene.without(excluded), int(near.counted[0])
    least = min(threshold, NEARLY_ALONE * UNIT * (counted - 1) / np.sqrt(max(1, counted)))
    scores = np.round(near.scores[0], 4)
    order = people[np.lexsort((scene.precedence[people], -scores[people]))][:top]
    found = []
    for n in [n for n in order if scores[n] >= least and near.chunks[0, n] >= 0]:
        part = int(near.scores[1:, n].argmax())
        row = int(near.chunks[1 + part, n])
        perspective = _PERSPECTIVES.get((labels[part][0], scene.chunks[row].facet), "interference")
        reasons = [reason(scene, labels[part], row, round(float(near.scores[1 + part, n]), 4))]
        found.append(Match(perspective, scene.profile_ids[n], float(scores[n]), reasons))
    return found


_PERSPECTIVES: Final = {
    ("T", Facet.MOVES): "resonance",
    ("B", Facet.OFFERS): "complement",
    ("E", Facet.NEEDS): "complement",
}
"""(Part, facet) of a match → perspective. Any other combination is interference."""
