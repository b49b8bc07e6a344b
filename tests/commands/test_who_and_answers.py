"""Commands name people and processes as their owner does, and say what happened and what comes next."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.command_line import room, tongyao
from tests.support.stack import Stack
from tongyao.app.errors import BadInput, NotFound, Refused
from tongyao.commands.shared.expected_errors import message_of


async def test_somebody_speaks_by_their_own_id_in_the_present_round(stack: Stack) -> None:
    process, _ = await room(stack)
    beginning = process.removeprefix("c-")[:12]
    done = await tongyao("say", beginning, "--as", "ada", "--text", "My workshop is free.")
    assert done.exit_code == 0, done.output
    kept, then = done.stdout.strip().splitlines()
    assert kept.startswith("kept word for word")
    assert then.startswith("Now: in the rounds, round 1; waits for P0") and "Next: tongyao say" in then
    assert isinstance((await tongyao("say", process, "--as", "dora", "--text", "x")).exception, NotFound)
    assert isinstance((await tongyao("show", "c-0000")).exception, NotFound)
    handed = await tongyao("switch", process, "--as", "ada", "agent")
    assert "the round may close at once" not in handed.stdout
    handed = await tongyao("switch", process, "--as", "ada", "proxy")
    assert "your proxy speaks for you" in handed.stdout and "the round may close at once" in handed.stdout
    await tongyao("cancel", process)


async def test_a_part_that_several_share_is_refused_with_their_ids(stack: Stack) -> None:
    texts = {"ferry-ada": "I restore wooden boats. " * 9, "ferry-bo": "I teach sailing on a cold lake. " * 9}
    ids = await stack.people(texts)
    refused = await tongyao("start", "--intent", "Boats.", "--participant", "ferry", "--participant", ids[0])
    assert isinstance(refused.exception, BadInput)
    assert all(id in str(refused.exception) for id in ids)


async def test_a_refusal_says_how_the_process_stands_and_what_would_move_it(stack: Stack) -> None:
    process, _ = await room(stack)
    refused = (await tongyao("confirm", process)).exception
    assert isinstance(refused, Refused)
    told = message_of(refused)
    assert "Now: in the rounds, round 1; waits for P0" in told and f"tongyao say {process} --as P0" in told
    await tongyao("cancel", process)


async def test_whoever_speaks_for_themself_gets_a_link_and_a_token_once(stack: Stack, tmp_path: Path) -> None:
    derek = tmp_path / "derek.md"
    derek.write_text("# Derek Miller\n\nI drive a small van on the island each morning and know every farm.")
    others = await stack.people({"ada": "I restore wooden boats. " * 9, "bo": "I teach sailing. " * 9})
    named = [word for one in others for word in ("--participant", one)]
    started = await tongyao("start", "--intent", "A van for all.", "--human", str(derek), *named, "--yes", "--json")
    assert started.exit_code == 0, started.output
    told = json.loads(started.stdout)
    person = told["people"][str(derek)]
    assert person.endswith("derek")
    door = told["ways_in"][person]
    assert "/console/enter?link=" in door["link"]
    found = await stack.repositories.tokens.find(door["token"])
    assert found is not None and found.person == person
    process = told["id"]
    await stack.until_round(process, "crystallizing", 1)
    said = await tongyao("say", process, "--as", str(derek), "--text", "The van is free before nine.")
    assert said.exit_code == 0, said.output
    for name in ("derek", str(derek), person):
        allowed = await tongyao("consents", name)
        assert allowed.exit_code == 0 and "allow" in allowed.stdout, (name, allowed.output)
    await tongyao("cancel", process)


async def test_whoever_speaks_through_an_agent_gets_the_token_for_it(stack: Stack) -> None:
    ada, bo = await stack.people({"ada": "I restore wooden boats. " * 9, "bo": "I teach sailing. " * 9})
    started = await tongyao("start", "--intent", "A van for all.", "--agent", ada, "--participant", bo)
    assert f"{ada} speaks through their own agent. Shown once:" in started.stdout, started.output
    assert (
        "token for the API and MCP: " in started.stdout and "/mcp; its tools `pending` and `respond`" in started.stdout
    )
    assert "Who asked, in the console: http" in started.stdout
    process = (await stack.repositories.processes.ids_like(""))[0]
    await stack.until(process, "confirming")
    early = (await tongyao("switch", process, "--as", "ada", "human")).exception
    assert isinstance(early, NotFound)
    assert f"{process}: waits to be confirmed. Nobody has a seat yet" in str(early)
    await tongyao("cancel", process)


async def test_after_the_end_a_residual_can_only_be_taken_up(stack: Stack) -> None:
    process, _ = await room(stack)
    await tongyao("cancel", process)
    refused = (await tongyao("branch", process, "plan/1/residual/1", "--no")).exception
    assert isinstance(refused, Refused)
    assert "asks nothing any more: no process starts" in message_of(refused)
