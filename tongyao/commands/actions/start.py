"""What `start` does: a process from a raw intent, with people that are given as profiles or files."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import typer

from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.app.people.sessions import LINK_DAYS
from tongyao.commands.actions.processes import follow
from tongyao.commands.shared.common import OPERATOR, settings, validated
from tongyao.commands.shared.next_steps import next_step
from tongyao.commands.shared.profile_files import profile_id_of, read_text
from tongyao.commands.shared.showing import print_plan, shown_as_json
from tongyao.commands.shared.terminal import EXIT_FAILED, console, print_json
from tongyao.commands.shared.ways_in import WayIn, link_of, ways_in
from tongyao.commands.shared.words import say
from tongyao.protocol.model.process import Phase
from tongyao.runtime import installation


async def start(given: dict[str, Any], *, wait: bool, as_json: bool) -> None:
    config = settings()
    async with installation.brought_up(config) if wait else installation.running(config) as installed:
        context = installed.context
        pid, people = await start_from_files(context, given)
        by_themselves = {
            people[one["profile_id"]]: one["endpoint"] for one in given["participants"] if one["endpoint"] != "proxy"
        }
        doors = await ways_in(context, config, by_themselves)
        if not as_json:
            _print_started(pid, people, doors)
            owner = (await context.repositories.processes.get(pid)).demander
            link = await link_of(context, config, owner)
            console.print(
                say("started.owner", link=link, days=LINK_DAYS),
                markup=False, highlight=False, soft_wrap=True,
            )  # fmt: skip
            if config.delegates:
                console.print(say("started.delegated"), markup=False, highlight=False, soft_wrap=True)
        if not wait:
            if as_json:
                print_json({"id": pid, "people": people, "ways_in": {one.person: one.as_json() for one in doors}})
            else:
                then = say("waits.next_alone", command=f"tongyao show {pid}")
                console.print(then, style="dim", highlight=False, soft_wrap=True)
            return
        phase = await follow(context.repositories, pid, quiet=as_json)
        if as_json:
            print_json(await shown_as_json(context, pid))
        else:
            await print_plan(context, pid)
            console.print(await next_step(context.repositories, pid), style="dim", highlight=False, soft_wrap=True)
        if phase not in (Phase.COMPLETED, Phase.ANSWERING):
            raise typer.Exit(EXIT_FAILED)


def _print_started(pid: str, people: dict[str, str], doors: list[WayIn]) -> None:
    """The process, the ids of the people that were given as files, and how those come in for whom no proxy speaks."""
    console.print(say("started.started", id=f"[bold]{pid}[/bold]"), highlight=False)
    for file, id in people.items():
        if file != id:
            line = say("started.file_is", file=file, id=id)
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    for one in doors:
        is_agent = one.endpoint == "agent"
        how = say("started.speaks_agent" if is_agent else "started.speaks_human", person=one.person)
        console.print(how, markup=False, highlight=False, soft_wrap=True)
        for line in (
            say("started.console", link=one.link, days=one.days),
            say("started.token", token=one.token),
            say("started.mcp", address=one.mcp)
            if is_agent
            else say("started.from_here", command=f'tongyao say {pid} --as {one.person} --text "…"'),
        ):
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    if people:
        console.print(
            say("started.aliases"),
            style="dim", highlight=False, soft_wrap=True,
        )  # fmt: skip


async def start_from_files(context: AppContext, given: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Start a process from the fields of `StartProcessBody`, where files may stand for texts and profiles.

    `intent` may be `@FILE`; `demander` and participants may be files, which are registered first. Returns the id of the
    process, and the profile id of each demander or participant as they were given. Raises `BadInput`.
    """
    intent, demander, scene = given["intent"], given.get("demander"), given.get("scene") or ""
    if intent.startswith("@"):
        intent = read_text(Path(intent[1:]), field="intent")
    if not intent.strip():
        raise BadInput("intent_empty", say("wrong.intent_empty"), field="intent")
    people: dict[str, str] = {}
    for one in [*([demander] if demander else []), *(named["profile_id"] for named in given["participants"])]:
        people[one] = await profile_id_of(context, one, scene)
    owner = people[demander] if demander else f"person:{secrets.token_hex(4)}"
    if demander and not owner.startswith("person:") and not await context.repositories.profiles.known([owner]):
        raise BadInput("unknown_profiles", say("file.no_profile_or_file", given=owner), field="demander")
    participants = [{**one, "profile_id": people[one["profile_id"]]} for one in given["participants"]]
    from tongyao.app.start import StartProcessBody, start_process

    body = validated(StartProcessBody, {**given, "intent": intent, "demander": owner, "participants": participants})
    return await start_process(context, OPERATOR, body, key=secrets.token_hex(8)), people
