"""Compares lexical scoring schemes by leave-one-scene-out evaluation (docs/field.md §4).

`python -m bench.field_schemes` puts the people of all `scenes/` into one pool. It runs the labelled needs three times:
against whole profiles, against their first 250 characters, and against their first 120. Parameters are chosen on the
needs of three scenes and evaluated on the needs of the fourth scene, four times.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench.plain_field import plain_lists
from tongyao.evals.field import TOP, LabelledNeed, evaluate_lists
from tongyao.field.encoders.lexical import FLATTENING, RARITY, LexicalEncoder
from tongyao.field.profile_import import profile_text
from tongyao.field.relevance import relevant
from tongyao.field.scene import SVD_WEIGHT, Scene, VectorSpace

SCENES: Final = Path(__file__).parent.parent / "scenes"
FORMS: Final = (None, 250, 120)
"""The number of characters used of each profile. None: all."""


class Knobs(NamedTuple):
    """The power of the inverse document frequency, the power of a component's singular value, and whether components
    are fitted on whole texts.
    """

    rarity: float
    flattening: float
    whole: bool


CHOICES: Final = [Knobs(*one) for one in itertools.product((1.0, RARITY), (0.0, FLATTENING, 1.0), (False, True))]
DEFAULT: Final = Knobs(RARITY, FLATTENING, True)
Answers = list[list[str]]


def pool(folder: Path) -> tuple[dict[str, str], list[tuple[str, LabelledNeed]]]:
    """The texts of all people by id, and the labelled needs, each with its scene."""
    texts: dict[str, str] = {}
    needs = []
    for path in sorted(folder.glob("*/needs.jsonl")):
        people = json.loads((path.parent / "profiles.json").read_text(encoding="utf-8"))
        texts |= {id: profile_text(value) for id, value in people.items()}
        for line in path.read_text(encoding="utf-8").splitlines():
            needs.append((path.parent.name, LabelledNeed.model_validate_json(line)))
    return texts, needs


def answers(texts: dict[str, str], asked: Sequence[str]) -> dict[str | Knobs, Answers]:
    """The nearest ten people of each need, by scheme."""
    scene = Scene.of(texts)
    pieces = scene.pieces(texts)
    whole = [
        "\n".join(piece for _, piece in group)
        for _, group in itertools.groupby(zip(scene.owner_ids, pieces, strict=True), lambda one: one[0])
    ]

    def found(spaces: list[VectorSpace]) -> Answers:
        return [[one.profile_id for one in each] for each in relevant(scene.with_spaces(spaces), asked, top=TOP)]

    made: dict[str | Knobs, Answers] = {"plain": plain_lists(texts, asked, top=TOP), "BM25 alone": found([])}
    for knobs in CHOICES:
        encoder = LexicalEncoder.fit(
            pieces, whole=whole if knobs.whole else None, rarity=knobs.rarity, flattening=knobs.flattening
        )
        made[knobs] = found([VectorSpace(encoder, encoder.encode(pieces), SVD_WEIGHT)])
        print(".", end="", flush=True)
    return made


def count_features(needs: Sequence[LabelledNeed], lists: Sequence[Sequence[str]]) -> tuple[int, int]:
    """The number of needs that pass, and the number of expected people among the nearest ten."""
    hits = [len(set(found) & set(need.expected)) for need, found in zip(needs, lists, strict=True)]
    return sum(hit >= need.minimum for need, hit in zip(needs, hits, strict=True)), sum(hits)


def main() -> None:
    texts, labelled = pool(SCENES)
    needs = [need for _, need in labelled]
    asked = [need.need for need in needs]
    forms = [answers({id: text[:chars] for id, text in texts.items()}, asked) for chars in FORMS]
    print()

    def score(scheme: str | Knobs, wanted: Sequence[int]) -> tuple[int, int]:
        counts = [count_features([needs[n] for n in wanted], [form[scheme][n] for n in wanted]) for form in forms]
        return sum(passed for passed, _ in counts), sum(hits for _, hits in counts)

    everywhere = range(len(needs))
    passed = hits = 0
    for held_out in dict.fromkeys(scene for scene, _ in labelled):
        inside = [n for n in everywhere if labelled[n][0] == held_out]
        best = max(CHOICES, key=lambda knobs: score(knobs, [n for n in everywhere if n not in inside]))
        passed, hits = passed + score(best, inside)[0], hits + score(best, inside)[1]
        print(f"judged on {held_out}: {best}")
    told("chosen on three scenes, judged on the fourth", (passed, hits), everywhere, needs)
    for scheme in forms[0]:
        told(f"{scheme}{' (the default)' if scheme == DEFAULT else ''}", score(scheme, everywhere), everywhere, needs)
    for row in evaluate_lists(needs, forms[FORMS.index(None)]["plain"]):
        print(f"plain, whole profiles, {row.level}: {row.passed}/{row.needs} passed, {row.hits}/{row.expected} hits")
    for level in dict.fromkeys(need.level for need in needs):
        inside = [n for n in everywhere if needs[n].level == level]
        for name, scheme in (("plain", "plain"), ("BM25 alone", "BM25 alone"), ("the default", DEFAULT)):
            told(f"{level}: {name}", score(scheme, inside), inside, needs)


def told(name: str, score: tuple[int, int], asked: Sequence[int], needs: Sequence[LabelledNeed]) -> None:
    people = len(FORMS) * sum(len(needs[n].expected) for n in asked)
    print(f"{score[0]:4} of {len(FORMS) * len(asked)} passed, {score[1]:4} of {people} hits  {name}")


if __name__ == "__main__":
    main()
