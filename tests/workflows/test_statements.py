"""How many SQL statements a process takes, and a service that has nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.support.statements import CountingPostgres, count_process, counting_postgres

MOST = 350
"""Statements of a whole process of 31 model calls, beside transaction control."""


@pytest.fixture
def postgres(home: Path) -> Iterator[CountingPostgres]:
    with counting_postgres(home) as server:
        yield server


async def test_a_whole_process_takes_few_statements(temporal: Client, postgres: CountingPostgres) -> None:
    counted = await count_process(temporal, postgres)
    assert counted.total <= MOST, counted.table()
