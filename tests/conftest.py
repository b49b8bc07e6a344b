"""What every test may ask for: databases in an embedded PostgreSQL, and real Temporal servers."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tongyao.records.migrate import migrate
from tongyao.runtime.local.postgres import LocalPostgres

TEMPLATE = "tongyao_template"


@pytest.fixture(scope="session")
def short_home() -> Iterator[Path]:
    """A directory for servers' state, with a path short enough for sockets."""
    home = Path(tempfile.mkdtemp(prefix="tongyao-test-"))
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server(short_home: Path) -> Iterator[LocalPostgres]:
    """An embedded PostgreSQL for this test session (one per xdist worker), with a migrated template database."""
    server = LocalPostgres(short_home, database=TEMPLATE, durable=False)
    migrate(server.start())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def _database_names() -> Iterator[str]:
    return (f"test_{number}" for number in itertools.count(1))


def _clone(server: LocalPostgres, name: str) -> str:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    return server.url(name)


@pytest.fixture(scope="session")
def database_url(postgres_server: LocalPostgres, _database_names: Iterator[str]) -> str:
    """URL of one migrated database that the whole session shares: tests in it must not assume it is empty."""
    return _clone(postgres_server, next(_database_names))


@pytest.fixture
def fresh_database_url(postgres_server: LocalPostgres, _database_names: Iterator[str]) -> str:
    """URL of a migrated, empty database of this test alone."""
    return _clone(postgres_server, next(_database_names))
