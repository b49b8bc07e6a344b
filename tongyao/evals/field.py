"""Evaluates the field: a need passes if enough of its expected people are in the top ten (docs/field.md §4)."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

from pydantic import BaseModel

from tongyao.field.encoders.encoder import Encoder
from tongyao.field.perspectives import PERSPECTIVES, Match, TensionScores
from tongyao.field.relevance import relevant
from tongyao.field.scene import MODEL_WEIGHT, Scene, VectorSpace
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value

TOP: Final = 10


class LabelledNeed(BaseModel):
    """A need, the people who should be found, and the number of them that makes it pass."""

    need: str
    expected: list[str]
    minimum: int
    level: str = "unlabelled"
    tension: Tension | None = None


class SchemeCounts(Value):
    """Counts of one level, or of all levels: `passed` of `needs`, `hits` of `expected` people."""

    level: str
    passed: int
    needs: int
    hits: int
    expected: int


class SchemeResult(SchemeCounts):
    """Counts of one search method. `scheme`: how vectors are made. `perspective`: which facets are compared."""

    scheme: str
    perspective: str
    interval: tuple[float, float]


def schemes(texts: dict[str, str], model: Encoder | None = None) -> dict[str, Scene]:
    """The same people in each scheme: `lexical`, and with a model also `model` (vectors and BM25) and `hybrid`."""
    lexical = Scene.of(texts)
    if model is None:
        return {"lexical": lexical}
    pieces = lexical.pieces(texts)
    space = VectorSpace(model, model.encode(pieces), MODEL_WEIGHT)
    return {
        "lexical": lexical,
        "model": lexical.with_spaces([space]),
        "hybrid": lexical.with_spaces([*lexical.spaces, space]),
    }


def evaluate(
    texts: dict[str, str], needs: Sequence[LabelledNeed], *, model: Encoder | None = None
) -> list[SchemeResult]:
    """Results by scheme, perspective and level, over the profiles `texts` (id → text).

    `model`: adds the schemes `model` and `hybrid`. The three perspectives are evaluated only if every need has a
    tension.
    """
    asked = [need.need for need in needs]
    tensions = [need.tension for need in needs if need.tension is not None]
    answers: dict[tuple[str, str], list[list[str]]] = {}
    for name, scene in schemes(texts, model).items():
        answers[name, "relevance"] = _ids(relevant(scene, asked, top=TOP))
        if len(tensions) == len(needs):
            views = [TensionScores(scene, tension).lists(TOP) for tension in tensions]
            answers |= {(name, way): _ids([view[way] for view in views]) for way in PERSPECTIVES}
    return [
        SchemeResult(scheme=scheme, perspective=way, interval=interval(row.passed, row.needs), **row.model_dump())
        for (scheme, way), lists in answers.items()
        for row in evaluate_lists(needs, lists)
    ]


def evaluate_lists(needs: Sequence[LabelledNeed], answers: Sequence[Sequence[str]]) -> list[SchemeCounts]:
    """One row per level in order of appearance, then one row for all levels. `answers` are profile ids, best first."""
    levels = [*dict.fromkeys(need.level for need in needs), "all"]
    found = [len(set(answer[:TOP]) & set(need.expected)) for need, answer in zip(needs, answers, strict=True)]
    rows = []
    for level in levels:
        chosen = [(need, hits) for need, hits in zip(needs, found, strict=True) if level in ("all", need.level)]
        rows.append(
            SchemeCounts(
                level=level,
                passed=sum(hits >= need.minimum for need, hits in chosen),
                needs=len(chosen),
                hits=sum(hits for _, hits in chosen),
                expected=sum(len(need.expected) for need, _ in chosen),
            )
        )
    return rows


def interval(passed: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a rate (Wilson 1927)."""
    if total == 0:
        return 0.0, 1.0
    z = 1.96
    rate = passed / total
    middle = rate + z * z / (2 * total)
    spread = z * sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def _ids(answers: Sequence[Sequence[Match]]) -> list[list[str]]:
    return [[match.profile_id for match in each] for each in answers]
