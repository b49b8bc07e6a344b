"""The command line calls the same use cases as the gateway: one table of permissions, one message, one summary."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest

from tests.commands.command_line import TEXTS, room, tongyao
from tests.support.kept import notifications_of
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.app import action_permissions
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.errors import BadInput, NotAllowed, NotFound, Refused
from tongyao.app.messaging.messages import send_message
from tongyao.app.people.profile_versions import register_profile
from tongyao.protocol.model.messages import SubmitProjectionBody
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.rules.consent import Origin


async def messages_of(here: Stack, process: str) -> list[Any]:
    async with here.repositories.pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT * FROM messages WHERE process_id = %s ORDER BY created_at, id", [process]
        )
        return list(await cursor.fetchall())


async def test_a_turn_sent_by_command_is_the_message_that_the_gateway_sends(stack: Stack) -> None:
    process, aliases = await room(stack)
    done = await tongyao("say", process, "--as", aliases["ada"], "--round", "1", "--text", "My workshop is free.")
    assert done.exit_code == 0, done.output
    seats = {seat.alias: seat.person for seat in await stack.repositories.seats.seats(process)}
    bo = Caller(Role.PERSON, seats[aliases["bo"]])
    body = SubmitProjectionBody(kind="submit_projection", round=1, text="I can teach on Mondays.")
    await send_message(stack.context, bo, process, body, key=uuid.uuid4().hex, via="api")
    by_command, by_gateway = await messages_of(stack, process)
    for row, name, text in ((by_command, "ada", "My workshop is free."), (by_gateway, "bo", "I can teach on Mondays.")):
        assert row["author"] == {"role": "participant", "alias": aliases[name]}
        assert row["author_id"] == f"participant:{seats[aliases[name]]}"
        assert row["payload"] == {
            "alias": aliases[name], "round": 1, "nothing_new": False, "text_id": row["text_id"]
        }  # fmt: skip
        assert await stack.repositories.texts.get(row["text_id"]) == text
    assert (by_command["via"], by_gateway["via"]) == ("cli", "api")
    await stack.say(process, "cancel")


async def test_the_command_line_shows_the_question_before_it_is_answered(stack: Stack) -> None:
    people = await stack.people(TEXTS)
    scene = (await stack.repositories.profiles.get(people[0])).scene_id
    asked = f"asked-{uuid.uuid4().hex[:8]}"
    await register_profile(
        stack.context, asked, scene=scene, name="Ida Quist", text="I row and can lend a boat.", origin=Origin.API
    )
    process = await stack.start([people[0], asked], auto_confirm=True)

    async def shown() -> str | None:
        done = await tongyao("consent", process, "--as", asked)
        return done.output if done.exit_code == 0 else None

    said = await until(shown, "the question")
    assert said is not None
    places = [
        said.index(words) for words in ("asks you to take part", "Tongyao is a program", "Your answer:", "--refuse")
    ]
    assert places == sorted(places)
    assert (await tongyao("consent", process, "--as", people[0])).exit_code == 2
    await stack.say(process, "cancel")


async def test_what_operators_and_demanders_send_is_marked_as_theirs(stack: Stack) -> None:
    process, aliases = await room(stack)
    assert (await tongyao("extend", process, "--as", aliases["ada"], "--hours", "1")).exit_code == 0
    assert (await tongyao("cancel", process)).exit_code == 0
    extended, cancelled = await messages_of(stack, process)
    demander = (await stack.repositories.processes.get(process)).demander
    assert extended["author_id"] == "operator:cli"
    assert (cancelled["author_id"], cancelled["author"]["role"]) == (f"demander:{demander}", "demander")


async def test_commands_keep_to_the_table_of_permissions(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    process, _ = await room(stack)
    nobody = {**action_permissions.MESSAGE_PERMISSIONS, "conclude": frozenset[Role]()}
    monkeypatch.setattr("tongyao.app.messaging.messages.MESSAGE_PERMISSIONS", nobody)
    refused = await tongyao("conclude", process)
    assert isinstance(refused.exception, NotAllowed)
    assert await messages_of(stack, process) == []
    await stack.say(process, "cancel")


async def test_what_is_wrong_with_a_command_is_said_before_anything_is_stored(stack: Stack) -> None:
    process, aliases = await room(stack)
    wrong = {
        ("say", process, "--as", "P77", "--round", "1", "--text", "x"): NotFound,
        ("answer", process, "maybe", "--as", aliases["ada"]): BadInput,
        ("decide", process, "go_home"): BadInput,
        ("replan", process, "--without", "nobody"): NotFound,
    }
    for words, error in wrong.items():
        assert isinstance((await tongyao(*words)).exception, error), words
    assert await messages_of(stack, process) == []
    early = await tongyao("answer", process, "commit", "--as", aliases["ada"])
    assert isinstance(early.exception, Refused), "the process itself refuses what comes too early"
    await stack.say(process, "cancel")


async def test_a_process_started_by_command_is_checked_as_one_of_the_api(stack: Stack) -> None:
    people = await stack.people(TEXTS)
    named = [word for one in people for word in ("--participant", one)]
    far = await tongyao("start", "--intent", "Boats.", *named, "--setting", "turn_seconds=1e15")
    assert isinstance(far.exception, BadInput) and far.exception.field == "turn_seconds"
    started = await tongyao("start", "--intent", "I want to learn boats.", *named, "--yes", "--json")
    assert started.exit_code == 0, started.output
    process = json.loads(started.stdout)["id"]
    async with asyncio.timeout(60):
        await stack.handle(process).result()
    assert [one.profile.profile_id for one in (await stack.repositories.record(process)).participants if one.profile]


async def test_confirming_by_command_hides_what_else_identifies_and_shows_what_may_stay(stack: Stack) -> None:
    people = await stack.people({name: TEXTS[name] for name in ("ada", "bo")})
    process = await stack.start(
        people, intent="Ruth Sands keeps the pumps of Low Pump House on Skye.", auto_confirm=False
    )
    await stack.until(process, "confirming")
    command = ("confirm", process, "--hide", "Ruth Sands", "--hide", "Low Pump House (firm)", "--key", "k1")
    for _ in range(2):  # with the same key, the second call changes nothing
        done = await tongyao(*command)
        assert done.exit_code == 0, done.output

    async def both_are_hidden() -> bool:
        tension = (await stack.repositories.record(process, own=["P00"])).own_tension
        return tension is not None and [one.name for one in tension.names] == ["Ruth Sands", "Low Pump House"]

    await until(both_are_hidden)
    kinds = [row["kind"] for row in await messages_of(stack, process)]
    assert kinds == ["revise_tension", "confirm_tension"]
    await stack.say(process, "cancel")


async def test_whoever_is_spoken_for_on_the_command_line_is_told(stack: Stack) -> None:
    scene = f"scene-{uuid.uuid4().hex[:8]}"
    brought = await stack.people(TEXTS, scene=scene)
    own = f"own-{uuid.uuid4().hex[:8]}"
    text = "I lend a boat with a flat bottom."
    await register_profile(stack.context, own, scene=scene, name="Ida Quist", text=text, origin=Origin.API)
    choices = [Choice(profile_id=one, endpoint=EndpointKind.HUMAN) for one in (own, brought[0])]
    process = await stack.start(choices, scene=scene, auto_confirm=True)
    await stack.until_round(process, "crystallizing", 1)
    aliases = {seat.person: seat.alias for seat in await stack.repositories.seats.seats(process)}
    for person in (own, brought[0]):
        await stack.asked(process, aliases[person], 1)
        assert (await tongyao("say", process, "--as", aliases[person], "--nothing-new")).exit_code == 0
    acts = [one for one in await notifications_of(stack.repositories.pool, process) if one.source.startswith("acted/")]
    assert [(one.person, one.about["what"]) for one in acts] == [(own, "spoken_for")], (
        "profiles that the machine brought are nobody's"
    )
    await stack.say(process, "cancel")
