"""What every test may ask for: databases in an embedded PostgreSQL, and real Temporal servers."""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import hypothesis
import psycopg
import pytest
import structlog
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tests.support.time_skipping import TimeSkippingUnavailable, ensure_wrapper, time_skipping_environment
from tongyao.records.migrate import migrate
from tongyao.runtime.local.postgres import LocalPostgres
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.serve_worker import plugin

hypothesis.settings.load_profile("ci")  # everywhere the same examples, and no example has to be quick
pytest_plugins = ["tests.support.messages_api.fixtures"]
TEMPLATE = "tongyao_template"

# The settings of whoever runs the tests, and the language of their machine, stay out of the tests and of what they start.
for _name in list(os.environ):
    if _name.startswith(("TONGYAO_", "TEMPORAL_", "ANTHROPIC_", "DATABASE_URL", "OTEL_", "LC_")):
        del os.environ[_name]
os.environ |= {"LANG": "C.UTF-8", "TONGYAO_LANGUAGE": "en"}
# Nobody corrects themself, unless a test says how long they may.
os.environ["TONGYAO_PROCESS__CORRECTING_SECONDS"] = "0"


gc.disable()  # until all tests are collected, because imports leave hardly any garbage

SLOW_SECONDS = 900
"""The time limit of a slow test that sets none of its own."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The simulation comes first: its longest test would else run alone at the end, while the other workers have nothing to do."""
    items.sort(key=lambda item: "/simulation/" not in item.path.as_posix())
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


def pytest_collection_finish() -> None:
    """Exclude the imported modules from garbage collection, which would otherwise visit all of them at each run."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """A test that runs a command in this process configures the logs of the process: the next test has them as they were."""
    loggers = [
        logging.root,
        *(one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)),
    ]
    standing = [(one, one.handlers[:], one.level, one.propagate) for one in loggers]
    before = structlog.get_config() if structlog.is_configured() else None
    yield
    for one, handlers, level, propagate in standing:
        one.handlers[:] = handlers
        one.setLevel(level)
        one.propagate = propagate
    structlog.reset_defaults()
    if before is not None:
        structlog.configure(**before)


@pytest.fixture(scope="session")
def short_home() -> Iterator[Path]:
    """A directory for servers' state, with a path short enough for sockets."""
    home = Path(tempfile.mkdtemp(prefix="tongyao-test-"))
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def home() -> Iterator[Path]:
    """A home for the state of an installation, with a path short enough for sockets; gone afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="tongyao-home-"))
    directory.chmod(0o711)  # as root, PostgreSQL is another user, who must be let through to homes below it
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server(short_home: Path) -> Iterator[LocalPostgres]:
    """An embedded PostgreSQL for this test session (one per xdist worker), with a migrated template."""
    server = LocalPostgres(short_home, database=TEMPLATE, durable=False)
    migrate(server.start())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def _database_names() -> Iterator[str]:
    return (f"test_{number}" for number in itertools.count(1))


@contextmanager
def cloned_database(server: LocalPostgres, name: str) -> Iterator[str]:
    """URL of a migrated database of that name, which is dropped afterwards: hundreds of them take minutes to remove at the end."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    yield server.url(name)
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def database_url(postgres_server: LocalPostgres, _database_names: Iterator[str]) -> Iterator[str]:
    """URL of a migrated database that the tests of one file share: they must not assume that it is empty."""
    with cloned_database(postgres_server, next(_database_names)) as url:
        yield url


@pytest.fixture
def fresh_database_url(postgres_server: LocalPostgres, _database_names: Iterator[str]) -> Iterator[str]:
    """URL of a migrated, empty database of this test alone."""
    with cloned_database(postgres_server, next(_database_names)) as url:
        yield url


@pytest.fixture(scope="session")
async def temporal_server(short_home: Path) -> AsyncIterator[LocalTemporal]:
    """A real Temporal dev server in memory, with the search attributes; one per session and xdist worker."""
    server = LocalTemporal(short_home, persistent=False)
    await server.start()
    yield server
    await asyncio.to_thread(server.stop)


@pytest.fixture(scope="module")
async def temporal(temporal_server: LocalTemporal) -> AsyncIterator[Client]:
    """A client of that server, as the product makes it. Its address: ``temporal_server.address``.

    What is still open when a file's tests have ended is terminated: the workers of the next file serve the same queues.
    """
    client = await Client.connect(temporal_server.address, plugins=[plugin()])
    yield client
    async for left in client.list_workflows("ExecutionStatus = 'Running'"):
        with suppress(RPCError):  # it has ended meanwhile
            await client.get_workflow_handle(left.id, run_id=left.run_id).terminate()


@pytest.fixture
async def time_skipping() -> AsyncIterator[WorkflowEnvironment]:
    """A Temporal server whose clock jumps to the next timer while a test waits; for deadlines.

    One per test: its clock is shared by all workflows in it. Starting it takes about a second.
    """
    try:
        await asyncio.to_thread(ensure_wrapper)
    except TimeSkippingUnavailable as missing:
        if "CI" in os.environ:
            raise
        pytest.skip(str(missing))  # reason: only Python and make are asked of a machine; this needs Java and Maven
    async with time_skipping_environment() as environment:
        yield environment
