"""Raw text against people: for a need that has no T, I, B and E yet (docs/field.md §3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tongyao.field.facets import Facet
from tongyao.field.perspectives import Found, reason
from tongyao.field.scene import Scene, Spoken

SIDES = (Facet.OFFERS, Facet.MOVES, Facet.NEEDS)


def relevant(
    scene: Scene, needs: Sequence[str], *, top: int, excluded: Sequence[str] = (), spoken: Spoken | None = None
) -> list[list[Found]]:
    """For each need the nearest `top` people, best first, each with their nearest chunk.

    Everything but names is looked at: what somebody is looking for tells what they move toward.
    """
    near = scene.near(scene.ask(needs, spoken), SIDES)
    people = scene.without(excluded)
    answers = []
    for scores, chunks in zip(np.round(near.scores[:, people], 4), near.chunks[:, people], strict=True):
        order = np.lexsort((scene.precedence[people], -scores))[:top]
        answers.append(
            [
                Found(
                    "relevance", scene.profile_ids[people[n]], float(scores[n]),
                    [reason(scene, "need", int(chunks[n]), float(scores[n]))] if chunks[n] >= 0 else [],
                )
                for n in order
            ]
        )  # fmt: skip
    return answers
