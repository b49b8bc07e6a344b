"""The pool says clearly what is wrong, without the password, and transactions are whole."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.records.conftest import Announce
from tongyao.protocol.model.value import Value
from tongyao.records.database import (
    BadValue,
    DatabaseUnreachable,
    Pool,
    one_snapshot,
    open_pool,
    reading,
    session,
    transaction,
)
from tongyao.records.process.process_rows import Processes


async def test_an_address_where_nothing_answers_is_named_without_its_password() -> None:
    with pytest.raises(DatabaseUnreachable) as error:
        await open_pool("postgresql://ada:s3cret@127.0.0.1:1/looms", timeout=2)
    assert "127.0.0.1:1" in str(error.value)
    assert "looms" in str(error.value)
    assert "DATABASE_URL" in str(error.value)
    assert "s3cret" not in str(error.value)


async def test_what_is_no_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(BadValue, match="postgresql://") as error:
        await open_pool("mysql://ada:s3cret@host/looms")
    assert "s3cret" not in str(error.value)


async def test_a_database_that_does_not_exist_is_named(database_url: str) -> None:
    with pytest.raises(DatabaseUnreachable, match="nowhere"):
        await open_pool(make_conninfo(database_url, dbname="nowhere"))


async def test_connections_carry_the_application_name(pool: Pool) -> None:
    async with session(pool) as connection:
        row = await (await connection.execute("SELECT current_setting('application_name') AS name")).fetchone()
    assert row == {"name": "tests"}


async def test_a_pool_without_a_free_connection_says_so(database_url: str) -> None:
    small = await open_pool(database_url, max_size=1)
    small.timeout = 0.2
    try:
        async with session(small):
            with pytest.raises(DatabaseUnreachable, match="busy"):
                await Processes(small).get("anything")
    finally:
        await small.close()
    with pytest.raises(DatabaseUnreachable, match="closed"):
        await Processes(small).get("anything")


async def test_a_lost_connection_is_named_and_the_next_caller_gets_a_new_one(pool: Pool) -> None:
    with pytest.raises(DatabaseUnreachable, match="lost"):
        async with session(pool) as connection:
            await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    async with session(pool) as connection:
        assert (await connection.execute("SELECT 1")).rowcount == 1


async def test_a_full_disk_is_trouble_of_the_server_that_passes(pool: Pool) -> None:
    with pytest.raises(DatabaseUnreachable, match="No space left"):
        async with session(pool) as connection:
            await connection.execute(
                "DO $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
            )
    async with session(pool) as connection:
        assert await (await connection.execute("SELECT 1 AS one")).fetchone() == {"one": 1}


async def test_a_transaction_happens_whole_or_not_at_all(pool: Pool, announce: Announce) -> None:
    process = await announce()

    async def half() -> None:
        async with transaction(pool) as connection:
            await connection.execute("UPDATE processes SET round = 9 WHERE id = %s", [process])
            await connection.execute("UPDATE processes SET phase = %s WHERE id = %s", ["a\x00b", process])

    with pytest.raises(BadValue, match="NUL"):
        await half()
    assert (await Processes(pool).get(process)).round == 0


async def test_what_is_read_of_one_moment_does_not_change_meanwhile(
    pool: Pool, database_url: str, announce: Announce
) -> None:
    process, others = await announce(), await open_pool(database_url)
    try:
        async with one_snapshot(pool):
            assert (await Processes(pool).get(process)).round == 0
            async with session(others) as connection:
                await connection.execute("UPDATE processes SET round = 3 WHERE id = %s", [process])
            assert (await Processes(pool).get(process)).round == 0
        assert (await Processes(pool).get(process)).round == 3
    finally:
        await others.close()


async def test_a_column_that_a_newer_migration_added_is_passed_over(pool: Pool) -> None:
    class Old(Value):
        id: int

    async with reading(pool, Old) as cursor:
        await cursor.execute("SELECT 1 AS id, 'of a newer build' AS added_later")
        assert await cursor.fetchall() == [Old(id=1)]


async def test_statements_in_use_go_on_when_a_newer_migration_adds_a_column(fresh_database_url: str) -> None:
    class Old(Value):
        id: int

    small = await open_pool(fresh_database_url, max_size=1)
    try:
        async with session(small) as connection:
            await connection.execute("CREATE TABLE boats (id integer)")
            await connection.execute("INSERT INTO boats VALUES (7)")
        for used in range(12):  # psycopg prepares what it has seen five times
            if used == 10:
                with psycopg.connect(fresh_database_url) as newer:
                    newer.execute("ALTER TABLE boats ADD COLUMN name text NOT NULL DEFAULT ''")
            async with reading(small, Old) as cursor:
                await cursor.execute("SELECT * FROM boats WHERE id = %s", [7])
                assert await cursor.fetchall() == [Old(id=7)]
    finally:
        await small.close()
