"""What stayed open is listed with its command after the process has ended, too, until a process was started for it."""

from __future__ import annotations

import json

from temporalio.client import Client

from tests.commands.command_line import room, spoken_to_the_plan, tongyao
from tests.commands.conftest import working
from tests.support.scripted import Script, ScriptedEngine


async def test_a_residual_tension_can_be_taken_up_after_the_end(temporal: Client, named_database: str) -> None:
    async with working(temporal, named_database, ScriptedEngine(Script(residuals=1))) as stack:
        process, aliases = await room(stack)
        await spoken_to_the_plan(stack, process, aliases)
        assert "The last answer ends the process" in (await tongyao("show", process)).stdout
        for alias in aliases.values():
            answered = await tongyao("answer", process, "commit", "--as", alias)
            assert answered.exit_code == 0, (answered.output, answered.exception)
        await stack.until_ended(process)
        command = f"tongyao branch {process} plan/1/residual/1"
        for shown in ("show", "why"):
            assert command in (await tongyao(shown, process)).stdout
        assert json.loads((await tongyao("show", process, "--json")).stdout)["commands"] == [command]
        started = await tongyao(*command.split()[1:])
        assert started.exit_code == 0, (started.output, started.exception)
        assert command not in (await tongyao("show", process)).stdout
        missing = (await tongyao("branch", process, "plan/1/residual/9")).exception
        assert "the plan has no such residual tension" in str(missing)
        await tongyao("cancel", f"{process}.1-1")
