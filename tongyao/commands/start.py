"""`start`: starts a process from a raw intent, with people given as profiles or files. `suggest`: suggests intents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tongyao.commands.context import assignments, operator, settings
from tongyao.commands.options import AsJson
from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_FAILED, CommandGroup, console, fail, print_json, put
from tongyao.commands.words import language, say, tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tongyao.app.context import AppContext
    from tongyao.runtime.settings import Settings

app = CommandGroup()


@app.command()
async def suggest(person: Annotated[str, typer.Argument(help="The person: a profile id.")]) -> None:
    """Read a profile and suggest, as questions, what its person could ask for. Needs a model; without one, shows sample intents."""
    from dataclasses import replace

    from tongyao.app.action_permissions import Role
    from tongyao.app.authorization import Caller
    from tongyao.app.choosing.intent_help import suggest_from_profile
    from tongyao.commands.references import find_person
    from tongyao.runtime import installation, wiring

    config = settings()
    async with installation.running(config) as installed:
        context = replace(installed.context, intent_reader=wiring.intent_reader(config, installed.context.repositories))
        person = await find_person(context.repositories, person)
        if context.intent_reader is None:
            await _print_sample_intents(context)
            return
        caller = Caller(Role.PERSON, person=person, id="cli", on_the_machine=True)
        suggestions = await suggest_from_profile(context, caller)
        for found in suggestions:
            put(f"• {found.question}")
            quoted = say("started.suggested_from", quote=found.quote)
            put(f"  {quoted}", style="dim")
        if not suggestions:
            tell("started.suggested_none")


async def _print_sample_intents(context: AppContext) -> None:
    """Print sample intents of the scenes if no model suggests any."""
    from tongyao.app.people.scenes import list_scenes

    tell("started.no_model")
    for scene in await list_scenes(context):
        examples = [words[language()] for words in scene.sample_intents if language() in words]
        if examples:
            title = scene.titles.get(language(), scene.title)
            tell("started.sample_intents", title=title)
        for words in examples:
            put(f"• {words}")


@app.command()
async def start(
    intent: Annotated[str, typer.Option(help="The request: a text, or @FILE.")],
    demander: Annotated[
        str | None, typer.Option(help="The demander, who asks: a profile id, or a profile FILE.")
    ] = None,
    participant: Annotated[
        list[str] | None,
        typer.Option(help="A participant: a profile id or FILE. May be repeated. Without it the scene is searched."),
    ] = None,
    human: Annotated[
        list[str] | None, typer.Option(help="Like --participant, for a person who speaks for themselves.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="Like --participant, for a person whose own agent speaks.")
    ] = None,
    scene: Annotated[str, typer.Option(help="The scene to search for participants.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the tension at once, even if its grade is C.")] = False,
    auto_start: Annotated[
        bool, typer.Option("--auto-start", help="Start with the people who were found, without asking.")
    ] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(help="A setting of the process, NAME=VALUE (docs/protocol.md §10). May be repeated."),
    ] = None,
    strategy: Annotated[str, typer.Option(help="What the catalyst should pay attention to.")] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow the process to its end. Starts a service for that time if none runs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start a process from a raw intent."""
    from tongyao.commands.profile_files import start_from_files
    from tongyao.runtime import installation

    changes = {"auto_confirm": yes, "auto_start": auto_start, **assignments("setting", setting)}
    named = [
        {"profile_id": person, "endpoint": endpoint}
        for endpoint, given in (("proxy", participant), ("human", human), ("agent", agent))
        for person in given or []
    ]
    body: dict[str, Any] = {"intent": intent, "demander": demander, "participants": named, "scene": scene or None,
                            "settings": changes, "strategy": strategy}  # fmt: skip
    if wait and as_json and (human or agent):
        fail(say("started.links_are_not_shown"), EXIT_BAD_INPUT)
    config = settings()
    async with installation.brought_up(config) if wait else installation.running(config) as installed:
        context = installed.context
        pid, people = await start_from_files(context, body)
        by_themselves = {people[seat["profile_id"]]: seat["endpoint"] for seat in named if seat["endpoint"] != "proxy"}
        accesses = await _give_access(context, config, by_themselves)
        if not as_json:
            await _print_started(context, config, pid, people, accesses)
        if wait:
            await _follow_to_the_end(context, pid, as_json)
        elif as_json:
            print_json(
                {"id": pid, "people": people, "ways_in": {access.person: access.as_json() for access in accesses}}
            )
        else:
            then = say("waits.next_alone", command=f"tongyao show {pid}")
            put(then, whole=True, style="dim")


async def _follow_to_the_end(context: AppContext, process: str, as_json: bool) -> None:
    """Print the process live, then its plan. Exits with `EXIT_FAILED` if the process ended without a plan."""
    from tongyao.commands.next_steps import next_step
    from tongyao.commands.process_view import follow, print_plan, shown_as_json
    from tongyao.protocol.model.phase import Phase

    phase = await follow(context.repositories, process, quiet=as_json)
    if as_json:
        print_json(await shown_as_json(context.repositories, process))
    else:
        await print_plan(context.repositories, process)
        put(await next_step(context.repositories, process), whole=True, style="dim")
    if phase not in (Phase.COMPLETED, Phase.ANSWERING):
        raise typer.Exit(EXIT_FAILED)


@dataclass(frozen=True)
class PersonalAccess:
    """Shown once. `link` opens the console once. `token` opens the API and MCP (at `mcp`) until it is revoked."""

    person: str
    endpoint: str
    link: str
    token: str
    mcp: str

    def as_json(self) -> dict[str, str]:
        return {"link": self.link, "token": self.token, "mcp": self.mcp}


async def _give_access(context: AppContext, config: Settings, people: Mapping[str, str]) -> list[PersonalAccess]:
    """Make a link and a token for each person without a proxy. `people`: their endpoints by profile id."""
    from tongyao.app.people import tokens
    from tongyao.commands.gateway import gateway_address, link_of

    given = []
    for person, endpoint in people.items():
        link = await link_of(context, config, person)
        body = tokens.IssueTokenBody(role="person", person=person, label=say("started.label"))
        token = await tokens.issue_token(context, operator(), body)
        given.append(PersonalAccess(person, endpoint, link, token.secret, f"{gateway_address(config)}/mcp"))
    return given


async def _print_started(
    context: AppContext, config: Settings, process: str, people: dict[str, str], accesses: list[PersonalAccess]
) -> None:
    """Print the process, the ids of people given as files, and the links and tokens of people without a proxy."""
    from tongyao.app.people.sessions import LINK_DAYS
    from tongyao.commands.gateway import link_of

    console.print(say("started.started", id=f"[bold]{process}[/bold]"), highlight=False)
    lines = [f"  {say('started.file_is', file=file, id=id)}" for file, id in people.items() if file != id]
    for access in accesses:
        is_agent = access.endpoint == "agent"
        lines += [
            say("started.speaks_agent" if is_agent else "started.speaks_human", person=access.person),
            f"  {say('started.console', link=access.link, days=LINK_DAYS)}",
            f"  {say('started.token', token=access.token)}",
        ]
        from_here = f"tongyao show {process}"  # no round is open yet, so `say` would be refused
        how = say("started.mcp", address=access.mcp) if is_agent else say("started.from_here", command=from_here)
        lines.append(f"  {how}")
    for line in lines:
        put(line, whole=True)
    if people:
        tell("started.aliases", whole=True, style="dim")
    owner = (await context.repositories.processes.get(process)).demander
    link = await link_of(context, config, owner)
    tell("started.owner", whole=True, link=link, days=LINK_DAYS)
    if config.delegates:
        tell("started.delegated", whole=True)
