"""`list --json`, `watch --json`, `show --json` and the API tell the same of a process, under the same names."""

from __future__ import annotations

import json
from typing import Any

from tests.commands.command_line import room, tongyao
from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.gateway.server import application


def gateway_of(stack: Stack) -> GatewayHarness:
    """A gateway over the stack that the commands are named."""
    return GatewayHarness(stack, stack.context, application(stack.context), ScriptedEngine(Script()))


async def told(stack: Stack, process: str) -> dict[str, Any]:
    """What each door tells of a process: `list`, `watch` and `show` on the command line, `GET` for an operator and for the demander."""
    gateway = gateway_of(stack)
    operator = await gateway.operator()
    demander = await gateway.person((await stack.repositories.processes.get(process)).demander)
    return {
        "list": json.loads((await tongyao("list", "--json")).stdout),
        "watch": [json.loads(line) for line in (await tongyao("watch", process, "--json")).stdout.splitlines()],
        "show": json.loads((await tongyao("show", process, "--json")).stdout),
        "processes": (await gateway.ask("GET", "/processes", operator)).json()["processes"],
        "operator": (await gateway.ask("GET", f"/processes/{process}", operator)).json(),
        "demander": (await gateway.ask("GET", f"/processes/{process}", demander)).json(),
    }


async def test_a_process_has_one_summary_and_one_view(stack: Stack) -> None:
    process, aliases = await room(stack)
    for round_number in (1, 2):
        for alias in aliases.values():
            await stack.asked(process, alias, round_number)
            await stack.speak(process, alias, round_number, "My workshop is free." if round_number == 1 else None)
    await stack.until(process, "answering")
    for name, decision in (("ada", "commit"), ("bo", "propose")):
        words = ("--text", "Begin in April.") if decision == "propose" else ()
        assert (await tongyao("answer", process, decision, "--as", name, *words)).exit_code == 0

    async def answered() -> bool:
        return len(await stack.repositories.plans.answers(process)) == 2

    await until(answered)
    doors = await told(stack, process)

    [summary] = doors["list"]
    assert doors["processes"] == [summary]
    assert doors["watch"] == [summary]
    shown = doors["show"]
    assert {name: shown[name] for name in summary} == summary
    own = {"you"}  # on the machine an operator asks, who has no alias
    assert {name: shown[name] for name in doors["demander"] if name not in own} == {
        name: one for name, one in doors["demander"].items() if name not in own
    }
    assert {name: shown[name] for name in doors["operator"]} == doors["operator"]
    assert set(shown) == {*summary, *doors["demander"], *doors["operator"], "nothing_found", "commands"}
    assert shown["answers"] == {aliases["ada"]: "commit", aliases["bo"]: "propose"}
    assert shown["asked"] == sorted(aliases.values())
    assert shown["demander"] and shown["waiting"] is True and shown["depth"] == 0
    await tongyao("cancel", process)


async def test_they_agree_while_the_rounds_go_on(stack: Stack) -> None:
    process, _ = await room(stack)
    gateway = gateway_of(stack)
    operator = await gateway.operator()
    [listed] = json.loads((await tongyao("list", "--open", "--json")).stdout)
    shown = json.loads((await tongyao("show", process, "--json")).stdout)
    assert (await gateway.ask("GET", "/processes", operator)).json()["processes"] == [listed]
    assert {name: shown[name] for name in listed} == listed
    assert "plan" not in shown and "answers" not in listed
    await tongyao("cancel", process)
