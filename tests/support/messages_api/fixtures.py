"""Fixtures for all tests: a Messages API on loopback, and an engine for it. `tests/conftest.py` makes them known to pytest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.messages_api.server import MessagesServer
from tongyao.llm.anthropic.engine import AnthropicEngine

Serve = Callable[..., MessagesServer]
Engines = Callable[..., AnthropicEngine]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(faults=…, …)` starts a Messages API. It stops with the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(MessagesServer(**options))


@pytest.fixture
async def engine_at() -> AsyncIterator[Engines]:
    """`engine_at(server, …)` makes an engine that calls `server`. It is closed with the test."""
    made: list[AnthropicEngine] = []

    def make(server: MessagesServer, **options: Any) -> AnthropicEngine:
        made.append(AnthropicEngine(api_key="test-key", base_url=server.base_url, **options))
        return made[-1]

    yield make
    for engine in made:
        await engine.aclose()
