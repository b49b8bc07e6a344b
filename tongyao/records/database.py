"""Connections to PostgreSQL. Each worker or server has one pool, which the repositories of this package share."""

from __future__ import annotations

import asyncio
import re
import select
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, LiteralString, Self, TypeVar
from weakref import WeakValueDictionary

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.abc import Params
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import AsyncRowFactory, DictRow, RowMaker, dict_row, no_result
from psycopg.types.string import TextLoader
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout
from pydantic import BaseModel

from tongyao.records.errors import RecordsError as RecordsError
from tongyao.records.privacy.keys import Keyring

RowT = TypeVar("RowT", bound=BaseModel)


_ALL_COLUMNS = re.compile(r"(?:\bSELECT\s+|\bRETURNING\s+|,\s*|\w\.)\*", re.IGNORECASE)


class _Cursor(AsyncCursor[Any]):
    """Does not prepare statements that return all columns.

    A newer build's migration may add a column while they are used. PostgreSQL refuses a prepared statement whose result
    type has changed.
    """

    async def execute(
        self, query: Any, params: Params | None = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        if prepare is None and isinstance(query, str) and _ALL_COLUMNS.search(query):
            prepare = False
        return await super().execute(query, params, prepare=prepare, binary=binary)


class Connection(AsyncConnection[DictRow]):
    """A connection with the master keys, which encrypt and decrypt texts."""

    keys: Keyring | None = None


Pool = AsyncConnectionPool[Connection]


class _Joined:
    """The connection of a block of `one_at_a_time` or `one_snapshot`. None after the end of the block."""

    def __init__(self, pool: Pool, connection: Connection) -> None:
        self.pool = pool
        self.connection: Connection | None = connection


_JOINED: Final[ContextVar[_Joined | None]] = ContextVar("joined", default=None)
_WAITING: Final[WeakValueDictionary[tuple[int, str], asyncio.Lock]] = WeakValueDictionary()
"""Locks by pool and name. Of all tasks that wait for the same lock, only one task occupies a connection."""


class BadValue(RecordsError):
    """A value that does not fit its column: a malformed id, a NUL character, a number out of range."""


class DatabaseUnreachable(RecordsError):
    """PostgreSQL does not answer. The caller may try again."""


async def open_pool(
    url: str,
    *,
    max_size: int = 10,
    application_name: str = "tongyao",
    timeout: float = 10.0,
    keys: Keyring | None = None,
) -> Pool:
    """Open a pool on `url` with at least one working connection. Close it with `await pool.close()`.

    Connections are in autocommit mode: a single statement is its own transaction, and `transaction` combines several.
    The pool discards connections that the server has closed, so a restart of the server causes no errors afterwards.

    `timeout`: seconds, for the first connection and for every wait for a free connection. `keys`: the master keys.
    Without keys, texts are stored unencrypted, and encrypted texts cannot be read. Only tests, and programs that read
    no text, use none.

    Raises `DatabaseUnreachable` if no server answers or the server refuses the connection. Raises `BadValue` if `url`
    is no address of a PostgreSQL database.
    """
    try:
        place = _place(url)
    except psycopg.Error:
        raise BadValue(
            "the address of the database cannot be read: it looks like postgresql://user@host:port/database"
        ) from None
    try:
        probe = await AsyncConnection.connect(url, connect_timeout=max(2, int(timeout)), autocommit=True)
        await probe.close()
    except psycopg.Error as error:
        raise DatabaseUnreachable(
            f"cannot reach PostgreSQL at {place}: {_first_line(error)}. Is it running? "
            "Check DATABASE_URL, or unset it to use the built-in server"
        ) from None
    pool: Pool = AsyncConnectionPool(
        url,
        connection_class=Connection,
        min_size=1,
        max_size=max_size,
        timeout=timeout,
        kwargs={"autocommit": True, "row_factory": dict_row, "application_name": application_name},
        configure=partial(_configure, keys),
        check=_check,
        name=application_name,
        open=False,
    )
    try:
        await pool.open(wait=True, timeout=timeout)
    except PoolTimeout:
        await pool.close()
        raise DatabaseUnreachable(
            f"PostgreSQL at {place} answers, but gave no connection within {timeout:g} s: "
            "are all of its max_connections in use?"
        ) from None
    return pool


async def _check(connection: Connection) -> None:
    """Check a connection only if its socket has data to read: a server that ends sends data or closes the socket."""
    socket = select.poll()
    socket.register(connection.fileno(), select.POLLIN)
    if socket.poll(0):
        await AsyncConnectionPool.check_connection(connection)


_SERVER_TROUBLE = ("53", "58")
"""Classes of SQLSTATE: insufficient resources, system error."""


@asynccontextmanager
async def session(pool: Pool) -> AsyncIterator[Connection]:
    """A connection for single statements, each of which is its own transaction.

    Raises:
        DatabaseUnreachable: no connection is available, the connection is lost, or the server has no resources left (a
            full disk).
        BadValue: a value does not fit its column.
    """
    joined = _JOINED.get()
    if joined is not None and joined.pool is pool and joined.connection is not None:
        yield joined.connection
        return
    try:
        async with pool.connection() as connection:
            try:
                yield connection
            except psycopg.OperationalError as error:
                if connection.closed:
                    raise DatabaseUnreachable(f"the connection to PostgreSQL was lost: {_first_line(error)}") from error
                if (error.sqlstate or "").startswith(_SERVER_TROUBLE):
                    raise DatabaseUnreachable(
                        f"PostgreSQL has no resources for this now: {_first_line(error)}"
                    ) from error
                raise
            except psycopg.DataError as error:
                raise BadValue(f"the database cannot store or find this value: {_first_line(error)}") from None
    except PoolTimeout:
        raise DatabaseUnreachable(
            f"no connection to PostgreSQL within {pool.timeout:g} s: "
            f"it is down, or all {pool.max_size} connections of this pool are busy"
        ) from None
    except PoolClosed:
        raise DatabaseUnreachable("the pool is closed: this worker or server is shutting down") from None


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[Connection]:
    """A connection in one transaction, which is rolled back if the block raises. Raises the same errors as `session`."""
    async with session(pool) as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def one_at_a_time(pool: Pool, name: str) -> AsyncIterator[None]:
    """Run the block as one transaction. In all processes together only one block with this `name` runs at a time.

    Use it for code that counts rows and then adds a row: two such blocks at the same time could exceed a limit.
    `session` and `transaction` inside the block, also in functions that it calls, use the block's connection. The block
    is rolled back if it raises. It must not wait for slow operations, and it must not run two queries at the same time.
    Raises the same errors as `session`.
    """
    lock = _WAITING.setdefault((id(pool), name), asyncio.Lock())
    async with lock, transaction(pool) as connection:
        await wait_for_others(connection, name)
        with _joining(pool, connection):
            yield


async def wait_for_others(connection: Connection, name: str) -> None:
    """Wait until no block `one_at_a_time` of this name runs. No other such block begins before the caller's transaction ends."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"one-at-a-time/{name}"])


@asynccontextmanager
async def one_snapshot(pool: Pool) -> AsyncIterator[None]:
    """All reads of `pool` in the block show the state of one moment. The block writes nothing.

    `session` inside the block, also in functions that it calls, uses the block's connection. The block must not run two
    queries at the same time. Raises the same errors as `session`.
    """
    async with transaction(pool) as connection:
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        with _joining(pool, connection):
            yield


@contextmanager
def _joining(pool: Pool, connection: Connection) -> Iterator[None]:
    joined = _Joined(pool, connection)
    token = _JOINED.set(joined)
    try:
        yield
    finally:
        joined.connection = None
        _JOINED.reset(token)


def rows_of(row: type[RowT]) -> AsyncRowFactory[RowT]:
    """A row factory that builds a `row` from the columns by name. Columns without a field are ignored.

    So an older build still runs after the migration of a newer build has added columns (docs/operations.md §5).
    """

    def factory(cursor: AsyncCursor[Any]) -> RowMaker[RowT]:
        if cursor.description is None:
            return no_result
        names = [column.name for column in cursor.description]
        known = [(place, name) for place, name in enumerate(names) if name in row.model_fields]

        def made(values: Sequence[Any]) -> RowT:
            return row(**{name: values[place] for place, name in known})

        return made

    return factory


@asynccontextmanager
async def reading(pool: Pool, row: type[RowT]) -> AsyncIterator[AsyncCursor[RowT]]:
    """A cursor that returns rows of class `row`, built from the columns by name. Raises the same errors as
    `session`."""
    async with session(pool) as connection, connection.cursor(row_factory=rows_of(row)) as cursor:
        yield cursor


def as_json(query: LiteralString) -> LiteralString:
    """An SQL expression for one column that contains all rows of `query` as a JSON array of objects, in order."""
    return f"COALESCE((SELECT jsonb_agg(r) FROM ({query}) AS r), '[]')"


async def fetch_one(pool: Pool, row: type[RowT], query: str, parameters: Params | None = None) -> RowT | None:
    """The first row of a query as a `row`, or None if the query returns no row. Raises the same errors as `session`."""
    async with reading(pool, row) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchone()


async def fetch_all(pool: Pool, row: type[RowT], query: str, parameters: Params | None = None) -> list[RowT]:
    """All rows of a query, each as a `row`. Raises the same errors as `session`."""
    async with reading(pool, row) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


class Repository:
    """Base of the repositories. Each of its methods runs one statement in its own transaction. Raises as `session`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def _one(self, row: type[RowT], query: str, parameters: Params | None = None) -> RowT | None:
        return await fetch_one(self._pool, row, query, parameters)

    async def _all(self, row: type[RowT], query: str, parameters: Params | None = None) -> list[RowT]:
        return await fetch_all(self._pool, row, query, parameters)

    async def _rows(self, query: str, parameters: Params | None = None) -> list[DictRow]:
        """Rows without a class of their own, as dictionaries by column name."""
        async with session(self._pool) as connection:
            return await (await connection.execute(query, parameters)).fetchall()

    async def _value(self, query: str, parameters: Params | None = None) -> Any:
        """The first column of the first row; None where there is no row."""
        return next(iter(await self._column(query, parameters)), None)

    async def _column(self, query: str, parameters: Params | None = None) -> list[Any]:
        """The first column of all rows."""
        return [next(iter(row.values())) for row in await self._rows(query, parameters)]

    async def _mapping(self, query: str, parameters: Params | None = None) -> dict[Any, Any]:
        """A dictionary from the first of two columns to the second."""
        pairs: list[Any] = [row.values() for row in await self._rows(query, parameters)]
        return dict(pairs)

    async def _run(self, query: str, parameters: Params | None = None) -> int:
        """Returns the number of rows that were written."""
        async with session(self._pool) as connection:
            return (await connection.execute(query, parameters)).rowcount


async def _configure(keys: Keyring | None, connection: Connection) -> None:
    connection.keys = keys
    connection.cursor_factory = _Cursor
    # ids are strings in the protocol, so uuid columns are read as text
    connection.adapters.register_loader("uuid", TextLoader)


def _place(url: str) -> str:
    parts = conninfo_to_dict(url)
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('host') or 'localhost'}{port}, database {parts.get('dbname') or 'of the user'}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
