"""Search with a raw text that was not formulated into T, I, B and E (docs/field.md §3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tongyao.field.facets import Facet
from tongyao.field.perspectives import Match, reason
from tongyao.field.scene import EncodedQueries, Scene

SIDES = (Facet.OFFERS, Facet.MOVES, Facet.NEEDS)


def relevant(
    scene: Scene, needs: Sequence[str], *, top: int, excluded: Sequence[str] = (), encoded: EncodedQueries | None = None
) -> list[list[Match]]:
    """Return the nearest `top` people for each need, best first, each with their nearest chunk.

    All facets except `identity` are compared, because the needs of people also show the direction of their moves.
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
