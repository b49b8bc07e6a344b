"""The field's tables: indexes, members, chunks. They contain spans and numbers, and no texts (docs/field.md §6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector
from pgvector.psycopg import register_vector_async
from psycopg import sql
from psycopg.rows import tuple_row
from psycopg.types.json import Jsonb

from tongyao.field.encoders.encoder import Encoder, IndexGone
from tongyao.field.facets import Chunk, Facet
from tongyao.field.index.packing import StoredChunks
from tongyao.protocol.contracts.maintenance import ModelSpec
from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection, Pool, fetch_one, reading, session, transaction

EF_SEARCH: Final = 80
"""HNSW `ef_search`. docs/field.md §6 lists recall@10 and time for several values."""

_ONE_WRITER: Final = 0x66696C  # first half of an advisory lock; any constant that no other program uses
BUILD_MEMORY: Final = "224MB"
"""`maintenance_work_mem` of an index build. Parallel builds must fit into `shm_size` of docker-compose.yml."""
_INDEX = "id, scene_id, kind, encoder, version, dimension, spec, people, state, deletions"
_FACETS: Final = {facet.value: facet for facet in Facet}
_NEAREST: Final = "field_nearest(%(index)s, %(vectors)s::halfvec[], %(sides)s, %(without)s, %(most)s, %(ef)s)"
_BEHIND = "EXISTS (SELECT 1 FROM field_changes c WHERE c.scene_id = i.scene_id) AS behind"


class Index(Value):
    """The vectors of one scene by one encoder.

    `people`: the number of people in the scene when the index was opened. `behind`: some changed profiles are not
    indexed yet.
    """

    id: int
    scene_id: str
    kind: str
    encoder: str
    version: str
    dimension: int
    spec: ModelSpec | None
    people: int
    state: str
    deletions: int
    behind: bool = False

    def fits(self, encoder: Encoder) -> bool:
        """Whether the vectors of this index are comparable with vectors of `encoder`."""
        return (self.encoder, self.version, self.dimension) == (encoder.name, encoder.version, encoder.dimension)


class PendingProfile(Value):
    """A current profile version that an index does not contain yet."""

    profile_id: str
    version: int
    text_id: str


@dataclass(frozen=True)
class NearestQuery:
    """A nearest-neighbour query: the `most` chunks of one facet nearest to `vector`.

    `vector`: in the form that `written` returns. `ef`: HNSW `ef_search`.
    """

    vector: str
    side: Facet
    most: int
    ef: int = EF_SEARCH


class IndexStore:
    """Queries on the index tables."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def indexes(self, scene: str) -> list[Index]:
        """The indexes of a scene, live ones first."""
        async with reading(self._pool, Index) as cursor:
            await cursor.execute(
                f"SELECT {_INDEX}, {_BEHIND} FROM field_indexes i WHERE scene_id = %s ORDER BY state = 'live' DESC, id",
                [scene],
            )
            return await cursor.fetchall()

    async def index(self, id: int) -> Index:
        """Return one index. Raises `IndexGone`."""
        found = await fetch_one(self._pool, Index, f"SELECT {_INDEX} FROM field_indexes WHERE id = %s", [id])
        if found is None:
            raise IndexGone(f"index {id} was dropped: a later re-index of its scene replaced it")
        return found

    async def learned(self, index: Index) -> bytes:
        """Return the fit of the lexical encoder of `index`."""
        async with session(self._pool) as connection:
            cursor = await connection.execute("SELECT learned FROM field_indexes WHERE id = %s", [index.id])
            row = await cursor.fetchone()
        return bytes(row["learned"]) if row and row["learned"] is not None else b""

    async def open(
        self, scene: str, kind: str, encoder: Encoder, *, people: int, learned: bytes | None = None, spec: ModelSpec | None = None,
    ) -> Index:  # fmt: skip
        """Create an empty index in state `filling`. An unfinished index of the same scene and kind is dropped."""
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT id FROM field_indexes WHERE scene_id = %s AND kind = %s AND state = 'filling' FOR UPDATE",
                [scene, kind],
            )
            for row in await cursor.fetchall():
                await _drop(connection, row["id"])
            cursor = await connection.execute(
                f"""INSERT INTO field_indexes (scene_id, kind, encoder, version, dimension, spec, learned, people)
                    VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING {_INDEX}""",
                [
                    scene,
                    kind,
                    encoder.name,
                    encoder.version,
                    encoder.dimension,
                    Jsonb(spec.model_dump()) if spec else None,
                    learned,
                    people,
                ],
            )
            made = Index.model_validate(await cursor.fetchone())
            await connection.execute(
                sql.SQL("CREATE TABLE {} PARTITION OF field_chunks FOR VALUES IN ({})").format(
                    _partition(made.id), sql.Literal(made.id)
                )
            )
        return made

    async def missing(self, index: Index, *, most: int) -> list[PendingProfile]:
        """Return at most `most` profiles of the scene whose current version is not in `index`."""
        async with reading(self._pool, PendingProfile) as cursor:
            await cursor.execute(
                """SELECT v.profile_id, v.version, v.text_id FROM profiles p
                   JOIN profile_versions v ON v.profile_id = p.id AND v.version = p.current_version
                   LEFT JOIN field_members m
                     ON m.index_id = %s AND m.profile_id = p.id AND m.version = p.current_version
                   WHERE p.scene_id = %s AND p.deleted_at IS NULL AND m.profile_id IS NULL
                   ORDER BY p.id LIMIT %s""",
                [index.id, index.scene_id, most],
            )
            return await cursor.fetchall()

    async def stale(self, index: Index, profile_ids: Sequence[str]) -> list[PendingProfile]:
        """Return the `profile_ids` whose current version is not in `index`."""
        async with reading(self._pool, PendingProfile) as cursor:
            await cursor.execute(
                """SELECT v.profile_id, v.version, v.text_id FROM profiles p
                   JOIN profile_versions v ON v.profile_id = p.id AND v.version = p.current_version
                   WHERE p.id = ANY(%s) AND p.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM field_members m
                     WHERE m.index_id = %s AND m.profile_id = p.id AND m.version = p.current_version)""",
                [list(profile_ids), index.id],
            )
            return await cursor.fetchall()

    async def people(self, scene: str, most: int) -> list[PendingProfile]:
        """Return at most `most` people of a scene, chosen deterministically (by hash of the id)."""
        async with reading(self._pool, PendingProfile) as cursor:
            await cursor.execute(
                """SELECT v.profile_id, v.version, v.text_id FROM profiles p
                   JOIN profile_versions v ON v.profile_id = p.id AND v.version = p.current_version
                   WHERE p.scene_id = %s AND p.deleted_at IS NULL ORDER BY md5(p.id) LIMIT %s""",
                [scene, most],
            )
            return await cursor.fetchall()

    async def people_count(self, scene: str) -> int:
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT count(*) AS people FROM profiles WHERE scene_id = %s AND deleted_at IS NULL", [scene]
            )
            row = await cursor.fetchone()
        return int(row["people"]) if row else 0

    async def samples(self, scene: str) -> set[str]:
        """Ids of people who came with Tongyao's own scenes. They rank behind registered people if scores are equal."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT id FROM profiles
                   WHERE scene_id = %s AND deleted_at IS NULL AND sample""",
                [scene],
            )
            return {row["id"] for row in await cursor.fetchall()}

    async def counts(self, index: Index) -> tuple[int, int]:
        """The number of people in `index`, and the number of people in its scene."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT (SELECT count(*) FROM field_members WHERE index_id = %s) AS held,
                          (SELECT count(*) FROM profiles WHERE scene_id = %s AND deleted_at IS NULL) AS people""",
                [index.id, index.scene_id],
            )
            row = await cursor.fetchone()
        assert row is not None
        return int(row["held"]), int(row["people"])

    async def put(self, index: Index, members: Sequence[PendingProfile], stored: StoredChunks) -> None:
        """Replace the chunks of these people. People who left or changed in the meantime are skipped. Idempotent."""
        ids = [member.profile_id for member in members]
        async with transaction(self._pool) as connection:
            await register_vector_async(connection)
            await connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_ONE_WRITER, index.id])
            cursor = await connection.execute(
                "SELECT id, current_version FROM profiles WHERE id = ANY(%s) AND deleted_at IS NULL FOR SHARE", [ids]
            )
            current = {row["id"]: row["current_version"] for row in await cursor.fetchall()}
            there = {member.profile_id for member in members if current.get(member.profile_id) == member.version}
            for table in ("field_chunks", "field_members"):
                await connection.execute(
                    sql.SQL("DELETE FROM {} WHERE index_id = %s AND profile_id = ANY(%s)").format(
                        sql.Identifier(table)
                    ),
                    [index.id, ids],
                )
            async with (
                connection.cursor() as cursor_,
                cursor_.copy(
                    "COPY field_chunks (index_id, profile_id, no, facet, start_at, end_at, vector, terms, rare) "
                    "FROM STDIN (FORMAT BINARY)"
                ) as copy,
            ):
                copy.set_types(["int4", "text", "int4", "text", "int4", "int4", "halfvec", "bytea", "int4[]"])
                for row, (id, no, chunk) in enumerate(stored.rows()):
                    if id in there:
                        await copy.write_row(
                            (index.id, id, no, chunk.facet.value, chunk.start, chunk.end, HalfVector(stored.vectors[row]),
                             stored.terms[row] if stored.terms else None, stored.rare[row] if stored.rare else [])
                        )  # fmt: skip
            async with connection.cursor() as cursor_:
                await cursor_.executemany(
                    "INSERT INTO field_members (index_id, profile_id, version) VALUES (%s, %s, %s)",
                    [(index.id, member.profile_id, member.version) for member in members if member.profile_id in there],
                )

    async def switch(self, index: Index) -> None:
        """Build the database indexes of `index`, make it live, and drop the index that it replaces."""
        async with transaction(self._pool) as connection:
            await connection.execute(f"SET LOCAL maintenance_work_mem = '{BUILD_MEMORY}'")
            await connection.execute("SELECT field_index_sides(%s, %s)", [index.id, index.dimension])
            if index.kind == "lexical":
                await connection.execute(
                    sql.SQL("CREATE INDEX IF NOT EXISTS {} ON {} USING gin (rare)").format(
                        sql.Identifier(f"field_chunks_{index.id}_rare"), _partition(index.id)
                    )
                )
            await connection.execute(sql.SQL("ANALYZE {}").format(_partition(index.id)))
            cursor = await connection.execute(
                "SELECT id FROM field_indexes WHERE scene_id = %s AND kind = %s AND state = 'live' AND id <> %s",
                [index.scene_id, index.kind, index.id],
            )
            for row in await cursor.fetchall():
                await _drop(connection, row["id"])
            await connection.execute(
                "UPDATE field_indexes SET state = 'live', switched_at = now() WHERE id = %s", [index.id]
            )

    async def changed(self, scene: str, *, most: int) -> list[str]:
        """Ids of people who were added or changed since the last indexing."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT profile_id FROM field_changes WHERE scene_id = %s LIMIT %s", [scene, most]
            )
            return [row["profile_id"] for row in await cursor.fetchall()]

    async def settle(self, scene: str) -> None:
        """Delete the recorded changes that every live index of the scene already contains."""
        async with session(self._pool) as connection:
            await connection.execute(
                """DELETE FROM field_changes c USING profiles p
                   WHERE c.scene_id = %s AND p.id = c.profile_id AND NOT EXISTS (
                     SELECT 1 FROM field_indexes i WHERE i.scene_id = c.scene_id AND i.state = 'live' AND NOT EXISTS (
                       SELECT 1 FROM field_members m WHERE m.index_id = i.id AND m.profile_id = p.id
                         AND m.version = p.current_version))""",
                [scene],
            )

    async def near(self, index: Index, asked: Sequence[NearestQuery], *, without: Sequence[str]) -> list[str]:
        """Ids of people with at least one chunk among the nearest chunks of a query."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                f"SELECT DISTINCT profile_id FROM {_NEAREST}", _parameters(index, asked, without)
            )
            return [row["profile_id"] for row in await cursor.fetchall()]

    async def around(
        self, index: Index, asked: Sequence[NearestQuery], words: Sequence[int], *, using: int, also: Sequence[str],
        without: Sequence[str],
    ) -> StoredChunks:  # fmt: skip
        """The chunks of three groups of people: the result of `near`, at most `using` people per hashed word of
        `words`, and `also`.

        One statement does all, because to pass ids between two parallel statements costs more than the parallelism
        saves.
        """
        people = sql.SQL(
            f"""ARRAY(SELECT profile_id FROM {_NEAREST}
                UNION SELECT found.profile_id FROM unnest(%(words)s::int[]) AS word, LATERAL (
                  SELECT profile_id FROM {{}} WHERE rare @> ARRAY[word] AND profile_id <> ALL (%(without)s) LIMIT %(using)s
                ) found
                UNION SELECT unnest(%(also)s::text[]))"""
        ).format(_partition(index.id))
        values = {"words": list(words), "using": using, "also": list(also)}
        return await self._chunks(index, people, _parameters(index, asked, without) | values)

    async def chunks(self, index: Index, profile_ids: Sequence[str], *, terms: bool = True) -> StoredChunks:
        """All chunks of these people in `index`, in the order of ids."""
        return await self._chunks(index, sql.SQL("%(people)s"), {"people": sorted(profile_ids)}, terms=terms)

    async def _chunks(
        self, index: Index, people: sql.Composable, values: dict[str, Any], *, terms: bool = True
    ) -> StoredChunks:
        async with session(self._pool) as connection, connection.cursor(binary=True, row_factory=tuple_row) as cursor:
            await cursor.execute(
                sql.SQL(
                    """SELECT c.profile_id, c.no, c.facet, c.start_at, c.end_at, halfvec_send(c.vector) AS vector, {},
                              c.no = 0 AND EXISTS (SELECT FROM profiles p WHERE p.id = c.profile_id AND p.sample)
                       FROM {} c WHERE c.index_id = {} AND c.profile_id = ANY({}) ORDER BY c.profile_id, c.no"""
                ).format(
                    sql.SQL("c.terms" if terms else "NULL::bytea"), _partition(index.id), sql.Literal(index.id), people
                ),
                values,
            )
            rows = await cursor.fetchall()
        ids, numbers, facets, starts, ends, halves, packed, samples = zip(*rows, strict=True) if rows else [()] * 8
        vectors: npt.NDArray[np.float32] = (
            np.frombuffer(b"".join(halves), dtype=">f2")
            .reshape(len(rows), index.dimension + 2)[:, 2:]
            .astype(np.float32)
        )
        return StoredChunks(
            ids=list(ids),
            numbers=list(numbers),
            chunks=[Chunk(_FACETS[facet], start, end) for facet, start, end in zip(facets, starts, ends, strict=True)],
            vectors=vectors,
            terms=[terms_of_chunk or b"" for terms_of_chunk in packed] if terms else [],
            samples=frozenset(id for id, sample in zip(ids, samples, strict=True) if sample),
        )

    async def some_people(self, index: Index, most: int) -> list[str]:
        """Return at most `most` people of the index, chosen deterministically (by hash of the id)."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT profile_id FROM field_members WHERE index_id = %s ORDER BY md5(profile_id) LIMIT %s",
                [index.id, most],
            )
            return [row["profile_id"] for row in await cursor.fetchall()]


async def _drop(connection: Connection, index: int) -> None:
    await connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_partition(index)))
    await connection.execute("DELETE FROM field_indexes WHERE id = %s", [index])


def _partition(index: int) -> sql.Identifier:
    return sql.Identifier(f"field_chunks_{index}")


def _parameters(index: Index, asked: Sequence[NearestQuery], without: Sequence[str]) -> dict[str, Any]:
    return {"index": index.id, "vectors": [query.vector for query in asked], "sides": [query.side.value for query in asked],
            "without": list(without), "most": [row.most for row in asked], "ef": [row.ef for row in asked]}  # fmt: skip


def written(vector: npt.NDArray[np.float32]) -> str:
    """A vector in the text form of pgvector."""
    return "[" + ",".join(f"{value:.5g}" for value in vector.tolist()) + "]"
