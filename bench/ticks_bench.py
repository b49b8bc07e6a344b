"""The people preselected on the console's page of people: `python -m bench.ticks_bench [--others 6 20]`.

Each written case becomes a scene with its people and `--others` people of other cases in its language. Its intent is
formulated without a model, and the field searches for people. For each rule of preselection it prints the number of
ticked people, the share of them that belongs to the case (precision), and the share of the case's people that is ticked
(recall). A case's decoys (`keywords`) count as others.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tongyao.app.choosing.candidate_sentences import nearest_sentence, whole_sentences
from tongyao.evals.cases import Case, load
from tongyao.field.perspectives import TensionScores, union
from tongyao.field.scene import Scene
from tongyao.gateway.console.candidates import people_found, ticked
from tongyao.llm.engine import Call, CallKey
from tongyao.llm.extractive.engine import ExtractiveEngine
from tongyao.protocol.model import steps
from tongyao.protocol.model.requests import FormulationRequest, Material, Piece
from tongyao.protocol.model.tension import Tension, from_draft
from tongyao.records.process.seats import CandidateRow

EXAMPLES: Final = Path(__file__).parents[1] / "examples"
MOST: Final = 8
DRAWS: Final = 3
"""The number of draws of other people for each case."""


@dataclass(frozen=True)
class Found:
    """The people found, the nearest first. `best`: profile id → the highest score of the person's reasons.

    `own`: the ids of the case's people.
    """

    order: Sequence[str]
    best: dict[str, float]
    by_words: Sequence[str]
    own: frozenset[str]


def at_least(score: float) -> Callable[[Found], Sequence[str]]:
    """A rule: of the first eight people, those with a reason of at least this score."""
    return lambda found: [one for one in found.order[:MOST] if found.best[one] >= score]


RULES: Final[dict[str, Callable[[Found], Sequence[str]]]] = {
    "the first eight": lambda found: found.order[:MOST],
    **{f"of these, a best score of {score} or more": at_least(score) for score in (1, 2, 3, 4)},
    "the first eight who share a word": lambda found: found.by_words,
}


async def tension_of(case: Case) -> Tension:
    text = case.demander_text
    material = Material(pieces=(Piece(start=0, text=text),), total_chars=len(text)) if text else None
    request = FormulationRequest(language=case.language, intent=case.intent, material=material)
    answered = await ExtractiveEngine().answer(steps.FORMULATE, request, Call(CallKey("bench", "formulate")))
    return from_draft(answered.draft, language=case.language)


def found_in(people: dict[str, str], own: frozenset[str], tension: Tension) -> Found:
    """Find people as `IntentField.discover` does. All of them allow their sentences to be read."""
    lists = TensionScores(Scene.of(people), tension).lists(MOST)
    rows = [
        CandidateRow(
            perspective=one.perspective, rank=1, profile_id=one.profile_id, score=one.score, reasons=one.reasons
        )
        for one in union(lists, MOST)
    ]
    parts = tension.targets()
    quotes = {
        (row.profile_id, reason["start"], reason["end"], reason["part"]): nearest_sentence(
            people[row.profile_id][slice(*whole_sentences(people[row.profile_id], reason["start"], reason["end"]))],
            parts[reason["part"]],
        )
        for row in rows
        for reason in row.reasons
    }
    best = {
        row.profile_id: max(
            [reason["score"] for one in rows if one.profile_id == row.profile_id for reason in one.reasons], default=0.0
        )
        for row in rows
    }
    found = people_found(rows, parts, quotes)
    return Found([one.id for one in found], best, ticked(found, most=MOST, by_words=True), own)


async def main(others: int) -> None:
    cases = [load(file.parent) for file in sorted(EXAMPLES.glob("**/case.json"))]
    drawn = random.Random(7)
    scenes = []
    for case in cases:
        tension = await tension_of(case)
        mine = {f"{case.id}/{name}": text for name, text in case.profiles.items()}
        own = frozenset(one for one in mine if not one.endswith("/keywords"))
        strangers = {
            f"{one.id}/{name}": text
            for one in cases
            if one is not case and one.language == case.language
            for name, text in one.profiles.items()
        }
        for _ in range(DRAWS):
            taken = drawn.sample(sorted(strangers), min(others, len(strangers)))
            scenes.append(found_in(mine | {one: strangers[one] for one in taken}, own, tension))
    print(f"{len(cases)} cases, {DRAWS} draws of {others} others each")
    for name, rule in RULES.items():
        picked = [frozenset(rule(one)) for one in scenes]
        count = sum(map(len, picked))
        right = sum(len(one & scene.own) for one, scene in zip(picked, scenes, strict=True))
        of_all = sum(len(scene.own) for scene in scenes)
        print(f"{name:42} ticked {count / len(scenes):.1f}  precision {right / count:.2f}  recall {right / of_all:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", type=int, nargs="+", default=[6, 20])
    for number in parser.parse_args().others:
        asyncio.run(main(number))
