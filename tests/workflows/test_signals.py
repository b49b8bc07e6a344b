"""The one signal of the `temporal` command line that a process applies is `resume` (docs/temporal.md §4)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.scripted import Rule
from tests.support.until import until
from tests.workflows.conftest import Opened
from tests.workflows.test_people import with_people
from tongyao.protocol.model.process import Phase
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.local.temporal_binary import ensure_binary


async def test_an_operator_resumes_a_process_by_hand_and_does_nothing_else(
    stack: Opened, temporal_server: LocalTemporal, tmp_path: Path
) -> None:
    binary = await asyncio.to_thread(ensure_binary, tmp_path)

    async def signal(process_id: str, name: str, *given: str) -> None:
        command = [str(binary), "workflow", "signal", "--address", temporal_server.address, "--workflow-id", process_id]
        running = await asyncio.create_subprocess_exec(
            *command, "--name", name, *given, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await running.communicate()
        assert running.returncode == 0, said.decode()

    rule = Rule(step="project", do="operator_needed", message="no credit", until="paid")
    async with stack(verdicts=["exhausted"], rules=[rule]) as (here, engine):
        pid, seats = await with_people(here)
        await here.until_suspended(pid)
        engine.mend("paid")
        await signal(pid, "leave", "--input", f'{{"alias": "{seats["bo"]}"}}')
        await signal(pid, "conclude", "--input", "{}")
        await signal(pid, "resume")
        await until(lambda: here.happened(pid, "resumed"), "the process goes on")
        await signal(pid, "resume", "--input", '"again"')
        record = await here.finish(pid, seats["bo"])
        kinds = await here.kinds(pid)

    assert record.phase is Phase.COMPLETED
    assert [kinds.count(one) for one in ("resumed", "message_refused", "participant_left")] == [1, 3, 0]
