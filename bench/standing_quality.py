"""Measures whether the search finds the right newcomers for standing tensions, among 400 people (docs/field.md §3).

`python -m bench.standing_quality` uses the labelled scenes of this repository, in `--draws` draws. `--set FOLDER` uses
a set that nobody read during the development of the search.

A share `--share` (a half) of the 400 people comes later. First the tensions begin to wait. Then these people come, with
the right newcomers among them, and one run of the product's search asks the demanders (`tongyao/app/standing_look.py`).
`--index` builds the stored index first. `--model FOLDER` adds an embedding model for the languages of `--language`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.support.waiting_tensions import context_of, expired
from tongyao.app.standing_look import look
from tongyao.field.encoders.transformer import TransformerEncoder
from tongyao.field.intent_field import IntentField
from tongyao.field.profile_import import profile_text
from tongyao.protocol.contracts.maintenance import Kind, ModelSpec
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import open_pool
from tongyao.records.migrate import migrate
from tongyao.records.people.profiles import NewProfile
from tongyao.records.repositories import Repositories
from tongyao.runtime.local.postgres import LocalPostgres

SCENES: Final = Path(__file__).parent.parent / "scenes"
TENSIONS: Final = 30


@dataclass(frozen=True)
class Meeting:
    """A standing tension. `meant`: the newcomer to find. `right`: all people who match the tension, with `meant`."""

    tension: Tension
    meant: str
    right: frozenset[str]


@dataclass(frozen=True)
class Town:
    """A scene. `before`: profiles by id of the people there first. `newcomers`: of the people who come later."""

    meetings: Sequence[Meeting]
    before: Mapping[str, str]
    newcomers: Mapping[str, str]


def people_of_the_scenes() -> dict[str, str]:
    return {
        id: profile_text(fields)
        for path in sorted(SCENES.glob("*/profiles.json"))
        for id, fields in json.loads(path.read_text(encoding="utf-8")).items()
    }


def drawn(seed: int, share: float) -> Town:
    """Draw thirty labelled needs of the scenes. One expected person of each need comes later, the others never."""
    choice, people = random.Random(seed), people_of_the_scenes()
    lines = [line for path in sorted(SCENES.glob("*/needs.jsonl")) for line in path.read_text("utf-8").splitlines()]
    meetings = list[Meeting]()
    for need in choice.sample([json.loads(line) for line in lines], TENSIONS):
        tension = Tension.model_validate({**need["tension"], "language": language_of(need["tension"]["transition"])})
        meant = choice.choice([id for id in need["expected"] if id not in {one.meant for one in meetings}])
        meetings.append(Meeting(tension, meant, frozenset(need["expected"])))
    meant = {one.meant: people[one.meant] for one in meetings}
    gone = {id for one in meetings for id in one.right}
    return _town(meetings, meant, {id: text for id, text in people.items() if id not in gone}, choice, share)


def _town(
    meetings: Sequence[Meeting], meant: Mapping[str, str], others: Mapping[str, str], choice: random.Random, share: float
) -> Town:  # fmt: skip
    """Return a scene in which `share` of the others come with the people meant, and the rest is there before."""
    coming = {id: others[id] for id in choice.sample(sorted(others), round(len(others) * share))} | dict(meant)
    order = sorted(coming)
    choice.shuffle(order)
    before = {id: text for id, text in others.items() if id not in coming}
    return Town(meetings, before, {id: coming[id] for id in order})


def read_set(folder: Path, share: float) -> Town:
    """Read the tensions and newcomers of a set, and add all people of the scenes. Ids and order are randomized."""
    given, choice = json.loads((folder / "set.json").read_text(encoding="utf-8")), random.Random(0)
    coming = {one["for"]: one for one in given["newcomers"]}
    meetings, meant = list[Meeting](), dict[str, str]()
    for number, one in enumerate(choice.sample(given["tensions"], len(given["tensions"]))):
        tension = Tension(
            transition=one["T"], initial_state=one["I"], barriers=tuple(one["B"]), exchange=" ".join(one["E"]), language=one["language"]
        )  # fmt: skip
        id = f"newcomer-{number}"
        meant[id] = coming[one["id"]]["profile"]
        meetings.append(Meeting(tension, id, frozenset([id])))
    return _town(meetings, meant, people_of_the_scenes(), choice, share)


@dataclass
class Outcome:
    """Counts by the language of the tension. `told`: the candidates about whom demanders are asked."""

    waiting: Counter[str]
    met: Counter[str]
    told: Counter[str]
    without_reason: Counter[str]

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.waiting + other.waiting, self.met + other.met, self.told + other.told,
            self.without_reason + other.without_reason,
        )  # fmt: skip

    def rows(self, times: int) -> Iterator[dict[str, Any]]:
        for language in (*sorted(self.waiting), "all"):
            waiting, met, told, wrong = (
                counter.total() if language == "all" else counter[language]
                for counter in (self.waiting, self.met, self.told, self.without_reason)
            )
            yield {
                "language": language, "waiting": round(waiting / times, 1), "met": round(met / times, 1),
                "told": round(told / times, 1), "without_reason": round(wrong / times, 1),
                "share_without_reason": round(wrong / max(1, told), 3),
            }  # fmt: skip


async def measure(url: str, town: Town, scene: str, *, index: bool, model: ModelSpec | None) -> Outcome:
    """Measure a town in a separate scene."""
    pool = await open_pool(url)
    try:
        here = Repositories(pool)
        field = IntentField(pool, load=TransformerEncoder, model=model)
        await here.scenes.put(scene, scene)
        await _join(here, scene, town.before)
        kinds: tuple[Kind, ...] = ("lexical", "model")
        for kind in [kind for kind, wanted in zip(kinds, (index, model is not None), strict=True) if wanted]:
            index_number = await field.indexer.begin(scene, kind)
            while await field.indexer.fill(index_number):
                pass
            await field.indexer.finish(index_number)
        for number, one in enumerate(town.meetings):
            await expired(here, scene, f"{scene}/demander-{number}", one.tension)
        context, now = replace(context_of(here), people_search=field), datetime.now(UTC)
        while (await look(context, now=now))["standing"]:
            pass
        await _join(here, scene, town.newcomers)
        await look(context, now=now + timedelta(minutes=1))
        outcome = Outcome(Counter(), Counter(), Counter(), Counter())
        for number, one in enumerate(town.meetings):
            [standing] = await here.standing.of_demander(f"{scene}/demander-{number}")
            matches = [match for match in await here.standing.matches(standing.id) if match.asked_at]
            told, language = {match.profile_id.removeprefix(f"{scene}/") for match in matches}, one.tension.language
            outcome.waiting[language] += 1
            outcome.met[language] += one.meant in told
            outcome.told[language] += len(told)
            outcome.without_reason[language] += len(told - one.right)
        return outcome
    finally:
        await pool.close()


async def _join(here: Repositories, scene: str, people: Mapping[str, str]) -> None:
    await here.profiles.add(
        scene,
        [NewProfile(id=f"{scene}/{id}", display_name="", text=text, grade="B", language=language_of(text))
         for id, text in people.items()],
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", type=Path, help="A folder with `set.json`; without it, the labelled scenes.")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument(
        "--share", type=float, default=0.5, help="Of the four hundred, who come with those who are meant."
    )
    parser.add_argument("--index", action="store_true")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--language", action="append", default=[])
    given = parser.parse_args()
    model = ModelSpec(model=str(given.model), languages=tuple(given.language)) if given.model else None
    towns = (
        [read_set(given.set, given.share)] if given.set else [drawn(seed, given.share) for seed in range(given.draws)]
    )
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        server = LocalPostgres(Path(folder), durable=False)
        url = server.start()
        try:
            migrate(url)
            for number, town in enumerate(towns):
                outcomes.append(asyncio.run(measure(url, town, f"town-{number}", index=given.index, model=model)))
        finally:
            server.stop()
    summed = outcomes[0]
    for one in outcomes[1:]:
        summed += one
    for row in summed.rows(len(towns)):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
