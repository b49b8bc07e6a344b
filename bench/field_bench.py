"""Benchmark of the field's index on generated profiles: build time, size, search times, recall@10 (docs/field.md §6).

`python -m bench.field_bench --people 10000` creates its own database in a temporary directory and removes it
afterwards. With `--keep FOLDER` the database is created in FOLDER and stays there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
import uvloop
from psycopg import sql

from tongyao.field.index.indexed_scene import EF_ASIDE
from tongyao.field.index.store import EF_SEARCH, Index, IndexStore
from tongyao.field.intent_field import IntentField
from tongyao.field.relevance import SIDES
from tongyao.field.scene import EncodedQueries
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import Pool, open_pool, session
from tongyao.records.migrate import migrate
from tongyao.runtime.local.postgres import LocalPostgres

SCENE = "bench"
SCENES = Path(__file__).parent.parent / "scenes"


def sentences_of(scenes: Path) -> tuple[list[str], list[Tension], list[str]]:
    """The fields of the sample profiles, from which new profiles are made, and their labelled needs for the queries."""
    fields: list[str] = []
    tensions, needs = [], []
    for path in sorted(scenes.glob("*/profiles.json")):
        for profile in json.loads(path.read_text(encoding="utf-8")).values():
            if isinstance(profile, dict):
                fields += [f"{name}：{value[:160]}" for name, value in profile.items() if isinstance(value, str)]
        for line in (path.parent / "needs.jsonl").read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            tensions.append(Tension.model_validate(one["tension"]))
            needs.append(one["need"])
    return fields, tensions, needs


def person(fields: list[str], number: int) -> str:
    """A profile with two to four fields of different people. Parts of sentences are exchanged, so that no two profiles are equal."""
    choice = random.Random(number)
    lines = []
    for field in choice.sample(fields, choice.randint(2, 4)):
        other = choice.choice(fields).partition("：")[2]
        lines.append(f"{field[: choice.randint(20, 90)]}，{other[: choice.randint(10, 50)]}。")
    return "\n".join(lines)


async def fill(pool: Pool, fields: list[str], people: int) -> None:
    """Insert profiles directly into the tables. Another benchmark measures the import."""
    async with session(pool) as connection:
        await connection.execute("INSERT INTO scenes (id, title) VALUES (%s, %s)", [SCENE, SCENE])
        for start in range(0, people, 5000):
            numbers = range(start, min(start + 5000, people))
            texts = [person(fields, number) for number in numbers]
            async with connection.transaction():
                await connection.execute(
                    """WITH one AS (SELECT * FROM unnest(%s::text[], %s::text[]) AS t (id, body)),
                            owner AS (INSERT INTO data_keys (id, owner) SELECT gen_random_uuid(), id FROM one RETURNING *),
                            words AS (INSERT INTO texts (id, owner, key_id, kind, body, chars)
                              SELECT gen_random_uuid(), one.id, owner.id, 'profile', convert_to(body, 'UTF8'), length(body)
                              FROM one JOIN owner ON owner.owner = one.id RETURNING id, owner, chars),
                            who AS (INSERT INTO profiles (id, scene_id, current_version)
                              SELECT id, 'bench', 1 FROM one)
                       INSERT INTO profile_versions (profile_id, version, text_id, chars, grade, language, sha256)
                       SELECT owner, 1, id, chars, 'B', 'zh', '' FROM words""",
                    [[f"p{number:06d}" for number in numbers], texts],
                )  # fmt: skip


async def bench(people: int, url: str, postmaster: int) -> dict[str, Any]:
    fields, tensions, needs = sentences_of(SCENES)
    pool = await open_pool(url)
    try:
        built = await build(pool, fields, people) if not await IndexStore(pool).indexes(SCENE) else {"people": people}
        field = IntentField(pool)
        [index] = await field.indexer.store.indexes(SCENE)
        async with session(pool) as connection:
            cursor = await connection.execute(
                """SELECT count(*) AS chunks, (SELECT pg_total_relation_size(%s::regclass)) AS bytes,
                          (SELECT sum(pg_relation_size(side::regclass))::bigint FROM unnest(%s::text[]) AS side) AS hnsw
                   FROM field_chunks WHERE index_id = %s""",
                [f"field_chunks_{index.id}", [f"field_chunks_{index.id}_{side.value}" for side in SIDES], index.id],
            )
            size = await cursor.fetchone()
        assert size is not None
        told("measured: one perspective, a discovery, recall")
        for number, need in enumerate(needs):  # warms up the caches, as in a server that has run for a while
            await field.relevant([need], scene=SCENE, top=10)
            await field.discover(tensions[number], scene=SCENE, limit=8, excluded=["p000001"])
        one = await timed(lambda n: field.relevant([needs[n]], scene=SCENE, top=10), len(needs), postmaster)
        whole = await timed(
            lambda n: field.discover(tensions[n], scene=SCENE, limit=8, excluded=["p000001"]), len(tensions), postmaster
        )
        nearest, recalls = await recall(pool, field, index, needs)
        return {
            **built, "chunks": size["chunks"], "table MB": round(size["bytes"] / 1e6), "hnsw MB": round(size["hnsw"] / 1e6),
            "one perspective ms p50/p99/processor": one, "discovery ms p50/p99/processor": whole, "vectors ms p50/p99": nearest,
            "recall@10": recalls, "load": os.getloadavg()[0],
            "worker MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }  # fmt: skip
    finally:
        await pool.close()


async def build(pool: Pool, fields: list[str], people: int) -> dict[str, Any]:
    """Create the people and their index. Returns the seconds of each step."""
    await fill(pool, fields, people)
    async with session(pool) as connection:
        await connection.execute("VACUUM ANALYZE")
    indexer = IntentField(pool).indexer
    begun = time.perf_counter()
    index = await indexer.begin(SCENE, "lexical")
    fitted = time.perf_counter()
    told(f"fitted after {fitted - begun:.0f} s")
    held = 0
    while taken := await indexer.fill(index):
        held += taken
        if held % 5000 == 0:
            told(f"{held} of {people} filled after {time.perf_counter() - fitted:.0f} s")
    filled = time.perf_counter()
    await indexer.finish(index)
    built = time.perf_counter()
    told(f"indexed after {built - filled:.0f} s")
    return {"people": people, "fit s": round(fitted - begun, 1), "fill s": round(filled - fitted, 1),
            "hnsw s": round(built - filled, 1)}  # fmt: skip


def told(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


async def timed(call: Any, queries: int, postmaster: int, rounds: int = 5) -> str:
    taken = []
    before = processor_seconds(postmaster)
    for number in range(rounds * queries):
        begun = time.perf_counter()
        await call(number % queries)
        taken.append((time.perf_counter() - begun) * 1000)
    spent = (processor_seconds(postmaster) - before) * 1000 / len(taken)
    return f"{median(taken):.1f} / {np.percentile(taken, 99):.1f} / {spent:.1f}"


def processor_seconds(postmaster: int) -> float:
    """CPU seconds of this process and of the servers. On a busy machine they are more reliable than the clock."""
    servers = psutil.Process(postmaster).children()
    return time.process_time() + sum(sum(one.cpu_times()[:2]) for one in servers)


async def recall(
    pool: Pool, field: IntentField, index: Index, needs: list[str]
) -> tuple[dict[int, str], dict[int, float]]:
    """By ef_search: the time for the nearest ten of each side, and the share of a sequential scan's ten nearest that are found."""
    encoder = await field.indexer.encoder(index)
    vectors = EncodedQueries.of(needs, [encoder]).vectors[0]
    side = "(SELECT vector::halfvec({0}) <#> %(asked)s::halfvec({0}) AS far FROM {1} WHERE facet = {2} ORDER BY 1 LIMIT 10)"
    ten = sql.SQL(" UNION ALL ").join(
        sql.SQL(side).format(
            sql.Literal(index.dimension), sql.Identifier(f"field_chunks_{index.id}"), sql.Literal(one.value)
        )
        for one in SIDES
    ) + sql.SQL(" ORDER BY 1 LIMIT 10")
    asked = ["[" + ",".join(map(str, vector.tolist())) + "]" for vector in vectors]
    times, shares = {}, {}
    async with session(pool) as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_indexscan = off")
        await connection.execute("SET LOCAL jit = off")
        exact = [
            max(row["far"] for row in await (await connection.execute(ten, {"asked": one})).fetchall()) for one in asked
        ]
    async with session(pool) as connection, connection.transaction():
        await connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
        for ef in (40, EF_ASIDE, EF_SEARCH, 200, 400):
            await connection.execute(sql.SQL("SET LOCAL hnsw.ef_search = {}").format(sql.Literal(ef)))
            found, taken = [], []
            for one in asked:
                begun = time.perf_counter()
                rows = await (await connection.execute(ten, {"asked": one})).fetchall()
                taken.append((time.perf_counter() - begun) * 1000)
                found.append([row["far"] for row in rows])
            times[ef] = f"{median(taken):.1f} / {np.percentile(taken, 99):.1f}"
            shares[ef] = round(
                float(
                    np.mean(
                        [
                            sum(far <= tenth + 1e-6 for far in fars) / 10
                            for tenth, fars in zip(exact, found, strict=True)
                        ]
                    )
                ),
                3,
            )
    return times, shares


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--people", type=int, nargs="+", default=[1000, 10_000])
    arguments.add_argument(
        "--keep", type=Path, help="A folder in which the databases stay, so that the next run only measures."
    )
    chosen = arguments.parse_args()
    for people in chosen.people:
        with tempfile.TemporaryDirectory(prefix="tongyao-bench-") as made:
            Path(made).chmod(0o711)  # as root, PostgreSQL runs as another user, who needs access
            server = LocalPostgres((chosen.keep or Path(made)) / str(people), durable=False)
            url = server.start()
            try:
                migrate(url)
                result = uvloop.run(bench(people, url, server.pid or 0))  # as in the worker
                print(json.dumps(result, ensure_ascii=False, indent=1), flush=True)
            finally:
                server.stop()


if __name__ == "__main__":
    main()
