"""Benchmark of the comparison of a new person with all standing tensions of a scene (docs/field.md §3).

`python -m bench.standing_bench --people 10000 --tensions 10000` creates its own database and removes it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.field_bench import SCENE, SCENES, person, sentences_of
from tests.support.waiting_tensions import join
from tongyao.field.intent_field import IntentField
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import open_pool
from tongyao.records.migrate import migrate
from tongyao.records.people.profiles import NewProfile
from tongyao.records.privacy.texts import NewText, text_id
from tongyao.records.repositories import Repositories
from tongyao.runtime.local.postgres import LocalPostgres

NEWCOMERS = 30


def made(tensions: list[Tension], number: int) -> Tension:
    """A tension with lines of different tensions, so that no two are equal."""
    choice = random.Random(number)
    barriers = tuple(choice.choice(choice.choice(tensions).barriers) for _ in range(choice.randint(1, 3)))
    return choice.choice(tensions).model_copy(
        update={"transition": choice.choice(tensions).transition, "barriers": barriers, "exchange": choice.choice(tensions).exchange}
    )  # fmt: skip


async def measure(url: str, people: int, count: int) -> dict[str, float]:
    fields, tensions, _ = sentences_of(SCENES)
    pool = await open_pool(url)
    here, field = Repositories(pool), IntentField(pool)
    await here.scenes.put(SCENE, SCENE)
    for begin in range(0, people, 500):
        await here.profiles.add(
            SCENE,
            [NewProfile(id=f"p{n}", display_name="", text=person(fields, n), grade="B", language="zh")
             for n in range(begin, min(people, begin + 500))],
        )  # fmt: skip
    index = await field.indexer.begin(SCENE, "lexical")
    while await field.indexer.fill(index):
        pass
    await field.indexer.finish(index)
    standing = {f"s{n}": made(tensions, n) for n in range(count)}
    stored = {id: text_id("bench", id) for id in standing}
    await here.texts.first_of_those_left(
        [NewText(stored[id], "bench", "tension", one.model_dump_json()) for id, one in standing.items()]
    )
    begun = time.perf_counter()
    await join(here, SCENE, [("first", person(fields, people + 1))])
    await field.tensions_near(stored, scene=SCENE, people=["first"])
    built = time.perf_counter() - begun
    near_seconds, all_seconds, processor = [], [], []
    for number in range(NEWCOMERS):
        id = f"new{number}"
        await join(here, SCENE, [(id, person(fields, people + 10 + number))])
        await field.relevant(["-"], scene=SCENE, top=1)  # indexes the new person, like every search (docs/field.md §6)
        begun, used = time.perf_counter(), time.process_time()
        near = await field.tensions_near(stored, scene=SCENE, people=[id])
        near_seconds.append(time.perf_counter() - begun)
        for tension in near:
            await field.answered_by(standing[tension], scene=SCENE, people=[id], excluded=[])
        all_seconds.append(time.perf_counter() - begun)
        processor.append(time.process_time() - used)
    await pool.close()
    return {
        "people": people, "tensions": count, "lines_built_seconds": round(built, 2),
        "reverse_ms": round(1000 * median(near_seconds), 1), "held_against_all_ms": round(1000 * median(all_seconds), 1),
        "processor_ms": round(1000 * median(processor), 1), "slowest_ms": round(1000 * max(all_seconds), 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--tensions", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        server = LocalPostgres(Path(folder), durable=False)
        url = server.start()
        try:
            migrate(url)
            print(json.dumps(asyncio.run(measure(url, given.people, given.tensions))))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
