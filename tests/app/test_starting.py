"""Starting a process while the Temporal server is away: the sender is told to repeat, and the repetition starts it once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import pytest
from pydantic import ValidationError
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import OPERATOR, Stack, open_stack
from tongyao.app.errors import Unavailable
from tongyao.app.start import StartProcessBody, process_id_of, start_announced, start_process, workflow_status
from tongyao.records.database import session
from tongyao.records.process.announcements import START

TEXTS = {"ada": "I repair tide gauges and can lend ten years of readings.", "bo": "I sail on Sundays and own a ferry."}


class Away:
    """What the client of a server does that does not answer."""

    async def start_workflow(self, *_: Any, **__: Any) -> Any:
        raise RPCError("tcp connect error", RPCStatusCode.UNAVAILABLE, b"")


@pytest.fixture
async def stack(temporal: Client, fresh_database_url: str) -> AsyncIterator[Stack]:
    async with open_stack(temporal, fresh_database_url, ScriptedEngine(Script()), workers_run=False) as opened:
        yield opened


async def test_a_start_without_the_server_is_to_be_repeated_and_starts_one_process(stack: Stack) -> None:
    people = await stack.people(TEXTS)
    body = StartProcessBody.model_validate({"intent": "A ferry.", "demander": "dora", "participants": people})
    without = replace(stack.context, client=cast(Client, Away()))

    with pytest.raises(Unavailable, match="same key") as refused:
        await start_process(without, OPERATOR, body, key="ferry")
    process_id = await start_process(stack.context, OPERATOR, body, key="ferry")

    assert refused.value.code == "temporal_away"
    assert process_id == process_id_of("dora", "ferry")
    described = await stack.handle(process_id).describe()
    assert described.status is not None and described.status.name == "RUNNING"
    await stack.handle(process_id).terminate()


async def test_a_process_that_cannot_start_holds_up_none_of_those_behind_it(stack: Stack) -> None:
    people = await stack.people(TEXTS)
    body = StartProcessBody.model_validate({"intent": "A ferry.", "demander": "dora", "participants": people})
    without = replace(stack.context, client=cast(Client, Away()))
    for key in ("first", "second"):
        with pytest.raises(Unavailable):
            await start_process(without, OPERATOR, body, key=key)
    first, second = process_id_of("dora", "first"), process_id_of("dora", "second")
    async with session(stack.repositories.pool) as connection:
        await connection.execute("UPDATE manifests SET body = '{}' WHERE process_id = %s AND part = %s", [first, START])

    with pytest.raises(ValidationError):
        await start_announced(stack.context)

    assert await workflow_status(stack.context, first) is None
    assert await workflow_status(stack.context, second) is not None
    await stack.handle(second).terminate()
