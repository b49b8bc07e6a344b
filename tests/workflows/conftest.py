"""What the tests of a process share: people of a harbour, and a stack whose engine follows a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack

PROFILE = "I repair tide gauges. I can offer ten years of readings. I will not travel in winter. I want to learn boats."
TEXTS = {name: f"{PROFILE} My name in the harbour is {name}." for name in ("ada", "bo", "cy", "di")}
SILENT: dict[str, object] = {"items": []}

Opened = Callable[..., AbstractAsyncContextManager[tuple[Stack, ScriptedEngine]]]


def _opener(client: Client, database_url: str, environment: WorkflowEnvironment | None = None) -> Opened:
    @asynccontextmanager
    async def opened(**script: object) -> AsyncIterator[tuple[Stack, ScriptedEngine]]:
        engine = ScriptedEngine(Script.model_validate(script))
        async with open_stack(client, database_url, engine, environment=environment) as here:
            yield here, engine

    return opened


@pytest.fixture
def stack(temporal: Client, database_url: str) -> Opened:
    """On the real server."""
    return _opener(temporal, database_url)


@pytest.fixture
def skipping(time_skipping: WorkflowEnvironment, database_url: str) -> Opened:
    """On the server whose clock can be moved."""
    return _opener(time_skipping.client, database_url, time_skipping)
