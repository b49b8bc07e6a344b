"""What stayed open is listed with its command after the process has ended, too, until a process was started for it."""

from __future__ import annotations

import json

from temporalio.client import Client

from tests.commands.command_line import room, spoken_to_the_plan, tongyao
from tests.commands.conftest import working
from tests.support.scripted import Script, ScriptedEngine
from tests.support.until import until


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


async def test_what_a_process_was_started_for_is_not_offered_again_by_the_next_plan(
    temporal: Client, named_database: str
) -> None:
    async with working(temporal, named_database, ScriptedEngine(Script(residuals=1))) as stack:
        process, aliases = await room(stack)
        await spoken_to_the_plan(stack, process, aliases)
        started = await tongyao("branch", process, "plan/1/residual/1")
        assert started.exit_code == 0, (started.output, started.exception)
        child = f"{process}.1-1"

        async def found() -> bool:
            listed = await stack.repositories.lineage.children(process)
            return [(one.id, one.phase) for one in listed] == [(child, "selecting")]

        await until(found)
        for name, answer in {"ada": "decline", "bo": "commit", "cy": "commit"}.items():
            assert (await tongyao("answer", process, answer, "--as", name)).exit_code == 0
        assert (await tongyao("replan", process, "--without", "ada")).exit_code == 0
        for name in ("bo", "cy"):
            await stack.asked(process, aliases[name], 2, what="answer")
        shown = (await tongyao("show", process)).stdout
        assert "tongyao branch" not in shown
        for name in ("bo", "cy"):
            assert (await tongyao("answer", process, "commit", "--as", name)).exit_code == 0
        await stack.until(process, "awaiting_children")
        assert (await tongyao("conclude", process, "--yes")).exit_code == 0, "the child is not waited for"
        await stack.until_ended(process)
        assert "tongyao branch" not in (await tongyao("show", process)).stdout
        chosen = await tongyao("select", child, "--participant", "bo", "--participant", "cy")
        assert chosen.exit_code == 0, (chosen.output, chosen.exception)
        await stack.until_round(child, "crystallizing", 1)
        seats = await stack.repositories.seats.seats(child)
        assert [seat.endpoint for seat in seats] == ["human", "human"], "they spoke for themselves before"
        await tongyao("cancel", child)


async def test_the_last_decision_that_ends_a_process_is_asked_for_before(temporal: Client, named_database: str) -> None:
    async with working(temporal, named_database, ScriptedEngine(Script())) as stack:
        process, aliases = await room(stack)
        await spoken_to_the_plan(stack, process, aliases)
        assert (await tongyao("answer", process, "decline", "--as", "ada")).exit_code == 0
        for name in ("bo", "cy"):
            assert (await tongyao("answer", process, "commit", "--as", name)).exit_code == 0
        asked = await tongyao("branch", process, "plan/1/hole/ada", "--no")
        assert asked.exit_code == 2 and "After it the process ends" in asked.output and "--yes" in asked.output
        assert (await stack.repositories.processes.get(process)).phase == "answering"
        told = await tongyao("branch", process, "plan/1/hole/ada", "--no", "--yes")
        assert told.exit_code == 0, (told.output, told.exception)
        await stack.until_ended(process)


async def test_who_ends_the_waiting_for_answers_is_asked_before(temporal: Client, named_database: str) -> None:
    async with working(temporal, named_database, ScriptedEngine(Script())) as stack:
        process, aliases = await room(stack)
        await spoken_to_the_plan(stack, process, aliases)
        asked = await tongyao("conclude", process)
        assert asked.exit_code == 2 and "are no longer asked" in asked.output and "--yes" in asked.output
        assert (await stack.repositories.processes.get(process)).phase == "answering"
        told = await tongyao("conclude", process, "--yes")
        assert told.exit_code == 0, (told.output, told.exception)
        await stack.until_ended(process)
