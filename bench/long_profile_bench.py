"""Retrieval from a long profile, by round: `python -m bench.long_profile_bench [--model FOLDER --languages en]`.

There are four profiles of 100,000 characters, two per language. They consist of profiles of the written cases, invented
sentences, and sentences that share words with the host's statements (`long_profiles.toml`). Each contains ten planted
sentences for which the tension does not ask. A statement of the host makes each of them relevant, in rounds 1 to 5. The
search of the next round must show it. Filler and places are drawn several times.

Columns: `round 1`: number of the ten that are shown before they are relevant, by a search for the tension alone. `in
time`: number that are shown in the round after the statement. Nothing was tuned on the rooms `…_unseen`. `--budget`:
number of characters that are shown. `--model`: a sentence-transformers model (a folder) in place of the encoder fitted
on the profile.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tongyao.field.encoders.transformer import TransformerEncoder
from tongyao.field.retriever import BUDGET_CHARS, Fitted, choose, fit, queries_of
from tongyao.protocol.contracts.maintenance import ModelSpec
from tongyao.protocol.model.observation import Note, NoteKind, Observation, Relation, RelationKind
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.request_access import focus_of

ROOT: Final = Path(__file__).parents[1]
CHARS: Final = 100_000
WRITTEN: Final = {"en": 60_000, "zh": 60_000}
"""The number of characters taken from the written cases."""
ALIAS: Final = "P02"
DRAWS: Final = 5
OTHERS_A_ROUND: Final = 4


def profile(language: Language, room: Mapping[str, Any], draw: random.Random) -> str:
    """Return 100,000 characters: paragraphs of the written cases and invented sentences, with the planted sentences."""
    paragraphs = [
        paragraph
        for path in sorted((ROOT / "examples").glob(f"**/*{language}-*/profiles/*.md"))
        for paragraph in path.read_text("utf-8").split("\n\n")
        if len(paragraph) > 60
    ]
    draw.shuffle(paragraphs)
    taken: list[str] = []
    while paragraphs and sum(map(len, taken)) < WRITTEN[language]:
        taken.append(paragraphs.pop())
    separator = "" if language == "zh" else " "
    while sum(map(len, taken)) < CHARS:
        taken.append(separator.join(_invented(room, draw) for _ in range(draw.randint(2, 6))))
    taken += room["near"]
    draw.shuffle(taken)
    at = draw.sample(range(len(taken)), len(room["planted"]))
    for place, planted in zip(at, room["planted"], strict=True):
        before, after = _invented(room, draw), _invented(room, draw)
        taken[place] += f"\n\n{separator.join((before, planted['sentence'], after))}"
    return "\n\n".join(taken)


def _invented(room: Mapping[str, Any], draw: random.Random) -> str:
    chosen = {name: draw.choice(values) for name, values in room["words"].items()}
    sentence: str = draw.choice(room["filler"]).format_map(chosen)
    return sentence[0].upper() + sentence[1:]


def record(language: Language, room: Mapping[str, Any], round_number: int) -> Record:
    """The record at the beginning of a round. In each earlier round the host stated facts that make the
    sentences planted for the next round relevant, and facts about others.
    """
    others = list(room["others"])
    observations = []
    for number in range(1, round_number):
        stated = [entry for entry in room["planted"] if entry["round"] == number + 1]
        first = (number - 1) * OTHERS_A_ROUND
        stated += [others[place % len(others)] for place in range(first, first + OTHERS_A_ROUND)]
        observations.append(_observation(number, stated))
    people = [ALIAS, "P03", "P04", "P05"]
    return Record(
        process_id="bench",
        language=language,
        phase=Phase.CRYSTALLIZING,
        round=round_number,
        tension=Tension(
            language=language,
            transition=room["transition"],
            initial_state=room["initial_state"],
            barriers=tuple(room["barriers"]),
            exchange=room["exchange"],
        ),
        projections=tuple(
            Projection(
                round=number,
                alias=alias,
                outcome=Outcome.REPLIED,
                items=(Item(id=f"R{number}/{alias}/1", kind=ItemKind.CAPABILITY, text="-"),),
            )
            for number in range(1, round_number)
            for alias in people
        ),
        observations=tuple(observations),
    )


def _observation(number: int, stated: Sequence[Mapping[str, Any]]) -> Observation:
    relations: list[Relation] = []
    notes: list[Note] = []
    for entry in stated:
        if entry["kind"] in set(RelationKind):
            a, b = sorted(entry["with"].split("-") if "-" in entry["with"] else (ALIAS, entry["with"]))
            relations.append(
                Relation(
                    id=f"R{number}/r{len(relations) + 1}",
                    between=(a, b),
                    kind=RelationKind(entry["kind"]),
                    text=entry["host"],
                    sources=(f"R{number}/{a}/1", f"R{number}/{b}/1"),
                )
            )
        else:
            notes.append(
                Note(
                    id=f"R{number}/n{len(notes) + 1}",
                    kind=NoteKind(entry["kind"]),
                    text=entry["host"],
                    asks=entry.get("asks", ""),
                )
            )
    return Observation(round=number, relations=tuple(relations), notes=tuple(notes))


def fitted(text: str, model: TransformerEncoder | None) -> Fitted:
    """The profile, fitted as the retriever does it. With `model` the vectors are the model's."""
    found = fit(text)
    if model is None:
        return found
    return replace(found, encoder=model, vectors=model.encode([text[start:end] for start, end in found.spans]))


def shown(text: str, found: Fitted, queries: dict[str, str], sentence: str, budget: int) -> bool:
    """Whether the shown pieces contain all of `sentence`, in one piece or in adjacent pieces."""
    start = text.index(sentence)
    wanted = set(range(start, start + len(sentence)))
    for first, last in choose(found, queries, budget):
        wanted -= set(range(first, last))
    return not wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a folder with a sentence-transformers model")
    parser.add_argument("--languages", nargs="*", default=[], help="languages of the model")
    parser.add_argument("--missed", action="store_true", help="print the sentences that were not shown in time")
    parser.add_argument("--budget", type=int, default=BUDGET_CHARS, help="number of characters that are shown")
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    model = (
        TransformerEncoder(ModelSpec(model=options.model, languages=tuple(options.languages)))
        if options.model
        else None
    )
    rooms = tomllib.loads((ROOT / "bench" / "long_profiles.toml").read_text("utf-8"))
    print("room | round 1 | in time, of 10: median, least")
    written: tuple[tuple[str, Language], ...] = (("en", "en"), ("zh", "zh"), ("en_unseen", "en"), ("zh_unseen", "zh"))
    for name, language in written:
        room = {key: rooms[language][key] for key in ("filler", "words")} | rooms[name]
        if model is not None and model.languages and language not in model.languages:
            continue
        early, in_time = [], []
        for seed in range(options.draws):
            text = profile(language, room, random.Random(seed))
            found = fitted(text, model)
            tension = record(language, room, 1).tension
            assert tension is not None
            alone = queries_of(tension, ())
            early.append(sum(shown(text, found, alone, entry["sentence"], options.budget) for entry in room["planted"]))
            reached = []
            for entry in room["planted"]:
                focus = focus_of(record(language, room, entry["round"]), ALIAS)
                reached.append(shown(text, found, queries_of(tension, focus), entry["sentence"], options.budget))
                if options.missed and not reached[-1]:
                    print(f"  draw {seed}, round {entry['round']}: {entry['sentence']}")
            in_time.append(sum(reached))
        print(f"{name} | {statistics.median(early)} | {statistics.median(in_time)}, {min(in_time)}", flush=True)


if __name__ == "__main__":
    main()
