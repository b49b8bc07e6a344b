"""Commands name people and processes as their owner does, and say what happened and what comes next."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from tests.commands.command_line import room, tongyao
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.app.errors import BadInput, NotFound, Refused
from tongyao.commands.expected_errors import message_of


async def test_somebody_speaks_by_their_own_id_in_the_present_round(stack: Stack) -> None:
    process, _ = await room(stack)
    beginning = process.removeprefix("c-")[:12]
    done = await tongyao("say", beginning, "--as", "ada", "--text", "My workshop is free.")
    assert done.exit_code == 0, done.output
    kept, then = done.stdout.strip().splitlines()
    assert kept.startswith("kept word for word")
    assert then.startswith("Now: rounds in progress, round 1; waits for P0")
    assert then.endswith(f"Next: tongyao watch {process}"), "no command of somebody else"
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
    assert "Now: rounds in progress, round 1; waits for P0" in told and f"tongyao say {process} --as P0" in told
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
    assert f"{ada} speaks through their own agent. The lines below are shown once:" in started.stdout, started.output
    assert "token for the API and MCP: " in started.stdout and "/mcp; its tool `pending` lists" in started.stdout
    assert "The demander, in the console: http" in started.stdout
    process = (await stack.repositories.processes.ids_like(""))[0]
    await stack.until(process, "confirming")
    early = (await tongyao("switch", process, "--as", "ada", "human")).exception
    assert isinstance(early, NotFound)
    assert f"{process}: waits for confirmation. Nobody has a seat yet" in str(early)
    await tongyao("cancel", process)


async def test_after_the_end_a_residual_can_only_be_taken_up(stack: Stack) -> None:
    process, _ = await room(stack)
    await tongyao("cancel", process)
    refused = (await tongyao("branch", process, "plan/1/residual/1", "--no")).exception
    assert isinstance(refused, Refused)
    assert "asks nothing any more: no process starts" in message_of(refused)


async def test_whose_proxy_has_answered_a_round_is_told_which_and_when_they_can_speak(stack: Stack) -> None:
    process, aliases = await room(stack)
    assert (await tongyao("switch", process, "--as", aliases["ada"], "proxy")).exit_code == 0
    await _has_spoken(stack, process, aliases["ada"])
    assert (await tongyao("switch", process, "--as", aliases["ada"], "human")).exit_code == 0
    refused = (await tongyao("say", process, "--as", aliases["ada"], "--text", "One word more.")).exception
    assert isinstance(refused, Refused)
    said = message_of(refused)
    assert "round 1: your proxy has answered in this round" in said
    assert "you can speak when the next round opens" in said
    assert "--as" not in said, "a command of somebody else is none of theirs"
    await stack.say(process, "cancel")


async def _has_spoken(stack: Stack, process: str, alias: str) -> None:
    async def spoken() -> bool:
        return any(row.alias == alias for row in await stack.repositories.rounds.projections(process))

    await until(spoken)


async def test_show_prints_what_one_person_reads(stack: Stack) -> None:
    process, aliases = await room(stack)
    words = "My workshop is free on Mondays."
    assert (await tongyao("say", process, "--as", aliases["ada"], "--text", words)).exit_code == 0
    for name, reads in (("ada", True), ("bo", False)):
        shown = await tongyao("show", process, "--as", aliases[name])
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.count(words) == (1 if reads else 0)
        assert (await stack.repositories.record(process)).intent.split(".")[0][:20] in " ".join(shown.stdout.split())
    await stack.say(process, "cancel")


@pytest.mark.parametrize("intent", ["", " "])
async def test_an_empty_intent_is_refused_in_plain_words_and_nobody_is_registered(
    stack: Stack, tmp_path: Path, intent: str
) -> None:
    profile = tmp_path / f"{uuid.uuid4().hex}.md"
    profile.write_text("I bake bread.", encoding="utf-8")
    refused = (await tongyao("start", "--intent", intent, "--participant", str(profile))).exception
    assert isinstance(refused, BadInput)
    assert str(refused).startswith("the intent is empty: write")
    assert not await stack.repositories.profiles.ids_like(profile.stem)
