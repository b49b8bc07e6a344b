"""Raw text against people: for a need that has no T, I, B and E yet (docs/field.md §3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tongyao.field.facets import Facet
from tongyao.field.perspectives import Found
from tongyao.field.scene import Scene

SIDES = (Facet.OFFERS, Facet.MOVES, Facet.NEEDS)


def relevant(scene: Scene, needs: Sequence[str], *, top: int) -> list[list[Found]]:
    """For each need the nearest `top` people, best first, each with their nearest chunk.

    Everything but names is looked at: what somebody is looking for tells what they move toward.
    """
    near = scene.near(scene.ask(needs), SIDES)
    answers = []
    for scores, chunks in zip(near.scores, near.chunks, strict=True):
        order = np.argsort(-scores, kind="stable")[:top]
        answers.append(
            [
                Found(
                    "relevance",
                    scene.profile_ids[n],
                    round(float(scores[n]), 4),
                    [
                        {"part": "need", "facet": chunk.facet.value, "start": chunk.start, "end": chunk.end,
                         "score": round(float(scores[n]), 4)}
                        for chunk in ([scene.chunks[chunks[n]]] if chunks[n] >= 0 else [])
                    ],
                )
                for n in order
            ]
        )  # fmt: skip
    return answers
