"""Where no worker of a role polls, the step is waited for, and operators are told which role is missing (docs/operations.md §3)."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from temporalio.client import Client

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import OPERATOR, open_stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS
from tongyao.app.errors import Unavailable
from tongyao.app.operators.task_queues import read_roles
from tongyao.app.why import read_why
from tongyao.protocol.contracts import process as contracts
from tongyao.protocol.contracts.process import STATE_QUERY
from tongyao.protocol.documents.process_details import details
from tongyao.protocol.life.state import State
from tongyao.runtime.observability import metrics
from tongyao.runtime.serve_worker import plugin
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.namespaces import ensure_namespace, register_search_attributes

MODELS = "nobody polls the queue of the role models (tongyao-models): start a worker with `python worker.py models`"


@pytest.fixture
async def alone(temporal: Client) -> Client:
    """A client of a namespace of its own: the server remembers for a while who polled."""
    address = temporal.service_client.config.target_host
    client = await Client.connect(address, namespace=f"roles-{uuid.uuid4().hex[:8]}", plugins=[plugin()])
    await ensure_namespace(client)
    await register_search_attributes(client)
    return client


async def test_a_step_that_nobody_takes_suspends_until_a_worker_of_its_role_comes(
    alone: Client, fresh_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contracts, "QUEUE_PATIENCE", timedelta(seconds=5))  # every run of the workflow reads it anew
    engine = ScriptedEngine(Script(verdicts=["more", "exhausted"]))
    async with open_stack(alone, fresh_database_url, engine, role="process") as here:
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        process = await here.start(people, auto_confirm=True)
        await here.until_suspended(process)
        row = await here.repositories.processes.get(process)
        assert row.suspended == ("schedule_to_start",), "infrastructure that is waited for"
        assert "no worker of the role models" in row.suspended_reason
        assert "python worker.py models" in row.suspended_reason
        state = await here.handle(process).query(STATE_QUERY, result_type=State)
        assert "role models" in details(state, state.started_at)

        monkeypatch.undo()
        async with open_stack(alone, fresh_database_url, engine, role="models"):
            record = await here.end(process)
        assert record.plans, "it was no verdict"
        kinds = await here.kinds(process)
        assert kinds.count("suspended") == kinds.count("resumed") > 0


async def test_operators_are_told_at_once_which_role_is_missing(alone: Client, fresh_database_url: str) -> None:
    engine = ScriptedEngine(Script(verdicts=["more", "exhausted"]))
    async with open_stack(alone, fresh_database_url, engine, role="process") as here:
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        process = await here.start(people, auto_confirm=True)

        async def told() -> bool:
            why = await read_why(here.context, OPERATOR, process)
            return MODELS in why.sentence and "a worker of the role models" in why.sentence

        await until(told)
        roles = {one.role: one for one in await read_roles(alone)}
        assert sum(roles["process"].workers.values()) == 1 and list(roles["process"].workers) == [build_id()]
        assert roles["process"].missing == ""
        assert roles["models"].missing == MODELS and roles["field"].missing
        metrics.show_roles(list(roles.values()))
        assert metrics.REGISTRY.get_sample_value("tongyao_role_workers", {"role": "models"}) == 0

        async with open_stack(alone, fresh_database_url, engine, role="models"):
            await here.end(process)


async def test_without_a_process_worker_why_names_that_role(alone: Client, fresh_database_url: str) -> None:
    async with open_stack(alone, fresh_database_url, ScriptedEngine(Script()), workers_run=False) as here:
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        process = await here.start(people, auto_confirm=True)
        with pytest.raises(Unavailable, match=r"role process \(tongyao-process\)"):
            await read_why(here.context, OPERATOR, process)
