"""Recall of the approximate search of a large scene, compared with exhaustive search (docs/field.md §6).

`python -m bench.field_bench --people 100000 --keep FOLDER` creates the database. `python -m bench.field_everybody
--people 100000 --kept FOLDER` runs its queries twice: on the index, and on all people in memory. This takes about a
minute.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.field_bench import SCENE, SCENES, sentences_of
from tongyao.field.index.fitted_scene import FittedScene
from tongyao.field.index.indexed_scene import SAMPLE_PEOPLE
from tongyao.field.index.packing import StoredChunks, unpacked
from tongyao.field.intent_field import IntentField
from tongyao.field.perspectives import PERSPECTIVES, Match, TensionScores
from tongyao.field.relevance import relevant
from tongyao.field.scene import SVD_WEIGHT, Scene, VectorSpace
from tongyao.records.database import open_pool
from tongyao.runtime.local.postgres import LocalPostgres

TOP = 10


def scene_of(stored: StoredChunks, learned: FittedScene, reference: Scene | None) -> Scene:
    """These people in memory, with the same scoring as the search uses for its candidates."""
    people = list(dict.fromkeys(stored.ids))
    places = {id: number for number, id in enumerate(people)}
    owners = np.array([places[id] for id in stored.ids], dtype=np.int64)
    return Scene(
        people, owners, stored.chunks, [VectorSpace(learned.encoder, stored.vectors, SVD_WEIGHT)], unpacked(stored.terms),
        samples=stored.samples, reference=reference, statistics=learned.statistics,
    )  # fmt: skip


async def compared(url: str) -> dict[str, list[tuple[Sequence[Match], Sequence[Match]]]]:
    """For each perspective and query: the people found by the index, and the people found by exhaustive search."""
    _, tensions, needs = sentences_of(SCENES)
    pool = await open_pool(url)
    try:
        field = IntentField(pool)
        store = field.indexer.store
        [index] = await store.indexes(SCENE)
        learned = await field.indexer.learned(index)
        sample = scene_of(await store.chunks(index, await store.some_people(index, SAMPLE_PEOPLE)), learned, None)
        ids = [one.profile_id for one in await store.people(SCENE, index.people)]
        everybody = scene_of(await store.chunks(index, ids), learned, sample)
        lists: dict[str, list[tuple[Sequence[Match], Sequence[Match]]]] = {
            way: [] for way in ("relevance", *PERSPECTIVES)
        }
        for need, tension in zip(needs, tensions, strict=True):
            found = await field.perspectives(tension, scene=SCENE, top=TOP)
            best = TensionScores(everybody, tension).lists(TOP)
            [near] = await field.relevant([need], scene=SCENE, top=TOP)
            lists["relevance"].append((near, relevant(everybody, [need], top=TOP)[0]))
            for way in PERSPECTIVES:
                lists[way].append((found[way], best[way]))
        return lists
    finally:
        await pool.close()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--people", type=int, default=100_000)
    arguments.add_argument(
        "--kept", type=Path, required=True, help="The folder that was given to field_bench as --keep."
    )
    chosen = arguments.parse_args()
    server = LocalPostgres(chosen.kept / str(chosen.people), durable=False)
    try:
        lists = asyncio.run(compared(server.start()))
    finally:
        server.stop()
    for way, pairs in lists.items():
        asked = [(found, best) for found, best in pairs if best]
        same = [
            len({one.profile_id for one in found} & {one.profile_id for one in best}) / len(best)
            for found, best in asked
        ]
        scores = [sum(one.score for one in found) / sum(one.score for one in best) for found, best in asked]
        print(
            f"{way}: {np.mean(same):.2f} of the {TOP} best are the same people, {np.mean(scores):.3f} of their scores"
        )


if __name__ == "__main__":
    main()
