"""What the tests of a stored memory share: connections, and an owner of each test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[AsyncConnectionPool[Any]]:
    async with AsyncConnectionPool(database_url, min_size=1, max_size=4, open=False) as pool:
        yield pool


@pytest.fixture
def owner(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)
