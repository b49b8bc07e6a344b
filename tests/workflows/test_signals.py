"""A whole process by signals of the `temporal` command line only: the operators' door (docs/protocol.md §8.2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.workflows.conftest import Opened
from tests.workflows.test_people import with_people
from tongyao.protocol.model.process import Phase
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.local.temporal_binary import ensure_binary

Signal = Callable[..., Awaitable[None]]


@pytest.fixture
async def signal(temporal_server: LocalTemporal, tmp_path: Path) -> Signal:
    """`temporal workflow signal`, as an operator types it."""
    binary = await asyncio.to_thread(ensure_binary, tmp_path)

    async def send(process_id: str, name: str, **payload: object) -> None:
        command = [str(binary), "workflow", "signal", "--address", temporal_server.address, "--workflow-id", process_id]
        command += ["--name", name, "--input", json.dumps(payload)]
        running = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await running.communicate()
        assert running.returncode == 0, said.decode()

    return send


async def test_a_process_with_people_lives_by_signals_alone(stack: Opened, signal: Signal) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        pid, seats = await with_people(here, humans=("bo", "cy"), max_rounds=2)
        bo, cy = seats["bo"], seats["cy"]
        await here.asked(pid, bo, 1)
        await signal(pid, "submit_projection", alias=bo, round=1, text="The ramp is four metres wide.")
        await signal(pid, "submit_projection", alias=bo, round=1, text="The ramp is four metres wide.")
        await signal(pid, "extend_deadline", alias=cy, seconds=3600)
        await signal(pid, "submit_projection", alias=cy, round=1, nothing_new=True)
        await here.asked(pid, bo, 2)
        await signal(pid, "submit_projection", alias=bo, round=1, nothing_new=True)
        await signal(pid, "submit_projection", alias=bo, round=1, text="Late for round one.")
        await signal(pid, "switch_endpoint", alias=cy, endpoint="proxy")
        await signal(pid, "submit_projection", alias=bo, round=2, nothing_new=True)
        await here.until(pid, "deciding")
        await signal(pid, "decide", decision="accept_as_is")
        await here.asked(pid, bo, 1, what="answer")
        await signal(pid, "answer_plan", alias=bo, revision=1, answer="commit", text="From April on.")
        record = await here.end(pid)
        kinds = await here.kinds(pid)

    said = {(one.alias, one.round): one for one in record.projections}
    assert said[bo, 1].text == "The ramp is four metres wide."
    assert said[bo, 2].text == "Late for round one."
    assert said[cy, 1].outcome.value == "nothing_new"
    assert said[cy, 2].author.value == "proxy"
    assert kinds.count("message_refused") == 1, "what came too late is visible"
    assert kinds.count("deadline_extended") == 1
    assert record.answers == {bo: "commit"}
    assert record.phase is Phase.COMPLETED
