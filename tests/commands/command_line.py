"""Commands as they are typed, and a room of people who speak for themselves to try them in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from typer.testing import CliRunner, Result

from tests.support.stack import Stack
from tongyao.cli import app
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind

TEXTS = {
    "ada": "I restore wooden boats and can lend a workshop. " * 9,
    "bo": "I teach sailing to beginners on a cold lake. " * 9,
    "cy": "I hold a licence for cranes and can lift boats onto a slipway. " * 9,
}


async def tongyao(*words: str) -> Result:
    """A command, run in a thread of its own: it has its own event loop."""
    return await asyncio.to_thread(lambda: CliRunner().invoke(app, list(words)))


async def room(here: Stack) -> tuple[str, dict[str, str]]:
    """A process of people who speak for themselves, in round 1; returns each alias by name."""
    people = dict(zip(TEXTS, await here.people(TEXTS), strict=True))
    choices = [Choice(profile_id=id, endpoint=EndpointKind.HUMAN) for id in people.values()]
    process = await here.start(choices, auto_confirm=True)
    await here.until_round(process, "crystallizing", 1)
    seats = {seat.person: seat.alias for seat in await here.repositories.seats.seats(process)}
    aliases = {name: seats[id] for name, id in people.items()}
    for alias in aliases.values():
        await here.asked(process, alias, 1)
    return process, aliases


async def spoken_to_the_plan(stack: Stack, process: str, aliases: Mapping[str, str]) -> None:
    """Everybody says something in round 1 and nothing new in round 2, on the command line; returns when the plan is answered."""
    for round_number in (1, 2):
        for alias in aliases.values():
            await stack.asked(process, alias, round_number)
            words = ("--text", "My workshop is free in spring.") if round_number == 1 else ("--nothing-new",)
            assert (await tongyao("say", process, "--as", alias, *words)).exit_code == 0
    await stack.until(process, "answering")
