"""`calls`: model calls that wait for an answer from outside, and their answers (docs/models.md, "Delegated")."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tongyao.commands.context import app_context, operator, read_text, settings, validated
from tongyao.commands.options import AsJson
from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_FAILED, CommandGroup, console, errors, fail, print_json, put
from tongyao.commands.words import say, tell

app = CommandGroup()
calls = CommandGroup(no_args_is_help=True, help="Answer model calls, with the engine `delegated`.")
app.add_typer(calls, name="calls")

Name = Annotated[
    str,
    typer.Option(
        "--as",
        help="The name of the answerer. Which calls an answerer may read depends on the calls that were shown under this name before. Default: your login.",
    ),
]
Step = Annotated[str | None, typer.Option(help="Only this step: formulate, project, observe, plan, deliver.")]
Alias = Annotated[str | None, typer.Option(help="Only calls about this participant: P01, P02, …")]
OfProcess = Annotated[str | None, typer.Option("--process", help="Only calls of this process.")]


@calls.command("list")
async def list_calls(
    step: Step = None, alias: Alias = None, process: OfProcess = None, name: Name = "", as_json: AsJson = False
) -> None:
    """List the calls that wait, oldest first."""
    from tongyao.app import calls as use_cases

    async with app_context() as context:
        found = await use_cases.list_calls(context, _caller(name), _which(step, alias, process))
    if as_json:
        print_json([call.model_dump(mode="json") for call in found])
        return
    if not found:
        tell("waiting_calls.none")
        return
    for call in found:
        state = "withheld" if call.withheld else "yours" if call.yours else "on_lease" if call.on_lease else "free"
        since = say("waiting_calls.since", at=f"{call.since:%Y-%m-%d %H:%M}", tokens=f"{call.tokens:,}")
        told = f"{call.id}  {_about(call)}  {since}  {say(f'waiting_calls.{state}')}"
        put(told, whole=True)
    tell("waiting_calls.how", whole=True, to=errors)


@calls.command("next")
async def next_call(
    step: Step = None,
    alias: Alias = None,
    process: OfProcess = None,
    call: Annotated[str | None, typer.Option("--id", help="Only this call.")] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a call.")] = 0,
    lease: Annotated[int, typer.Option(min=10, help="Seconds for which the call is reserved for you.")] = 1_800,
    name: Name = "",
    as_json: AsJson = False,
) -> None:
    """Take the next call and print its request, with the JSON schema of the answer.

    The call is reserved for you during the lease. Until you answer it, the same command prints the same call. Without a call the exit code is 1.
    """
    from tongyao.app import calls as use_cases

    given = {"step": step, "alias": alias, "process_id": process, "call": call, "lease_seconds": lease}

    async with app_context() as context:
        body = validated(use_cases.NextCallBody, given)
        found = await use_cases.next_call(context, _caller(name), body, wait_seconds=wait)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif found.call is not None:
        taken = found.call
        sys.stdout.write(f"call {taken.id}: {_about(taken)}\n\n{taken.plain}\n")
        sys.stdout.flush()
        who = f" --as {name}" if name else ""
        told = say("waiting_calls.answer_with", id=taken.id, who=who, until=f"{taken.leased_until:%H:%M}")
        put(told, whole=True, to=errors)
    if found.call is None:
        if not as_json:
            key = "none_left" if not (found.on_lease or found.withheld) else "none_now"
            told = say(f"waiting_calls.{key}", on_lease=found.on_lease, withheld=found.withheld, n=found.open_processes)
            put(told, whole=True, to=errors)
        raise typer.Exit(EXIT_FAILED)


@calls.command("answer")
async def answer_call(
    call: Annotated[str, typer.Argument(help="The id of the call.")],
    file: Annotated[Path | None, typer.Option(help="A file with the answer. Default: standard input.")] = None,
    name: Name = "",
    as_json: AsJson = False,
) -> None:
    """Answer a call with a JSON object, from standard input or a file. An answer that cannot be read is refused and not stored."""
    from tongyao.app import calls as use_cases

    text = read_text(file, field="file") if file is not None else sys.stdin.read()
    if not text.strip():
        fail(say("waiting_calls.empty"), EXIT_BAD_INPUT)

    async with app_context() as context:
        body = validated(use_cases.AnswerCallBody, {"text": text})
        receipt = await use_cases.answer_call(context, _caller(name), call, body)
    if as_json:
        print_json(receipt.model_dump(mode="json"))
    else:
        key = "repeated" if receipt.repeated else "taken"
        tell(f"waiting_calls.{key}", id=receipt.id, n=receipt.waiting)


@calls.command("connect")
async def connect(
    name: Annotated[
        str, typer.Argument(help="The name under which the assistant answers; the people concerned see it.")
    ],
    step: Step = None,
    alias: Alias = None,
    process: OfProcess = None,
    days: Annotated[
        float | None, typer.Option(help="Days for which the token is valid. Default: until it is revoked.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token for an assistant that answers calls, and print the configuration of its MCP client. The token opens waiting calls only."""
    from tongyao.app.people import tokens
    from tongyao.commands.gateway import gateway_address

    given: dict[str, Any] = {"role": "calls", "label": name, "step": step, "alias": alias, "process_id": process}
    given["seconds"] = int(days * 24 * 3600) if days is not None else None

    async with app_context() as context:
        body = validated(tokens.IssueTokenBody, given)
        secret = (await tokens.issue_token(context, operator(), body)).secret
    address = gateway_address(settings())
    header = {"Authorization": f"Bearer {secret}"}
    config = {"mcpServers": {"tongyao": {"type": "http", "url": f"{address}/mcp", "headers": header}}}
    if as_json:
        print_json({"token": secret, "console": f"{address}/console/enter", **config})
        return
    lines = (
        say("waiting_calls.claude"),
        f'  claude mcp add --transport http tongyao {address}/mcp --header "Authorization: Bearer {secret}"',
        say("waiting_calls.other_clients"),
        f"  {json.dumps(config)}",
        say("waiting_calls.then_prompt"),
        say("waiting_calls.by_hand", address=f"{address}/console/enter", token=secret),
    )
    for text in lines:
        put(text, whole=True)


@calls.command("give-back")
async def give_back(call: Annotated[str, typer.Argument(help="The id of the call.")], name: Name = "") -> None:
    """End your lease of a call: it is offered to others at once."""
    from tongyao.app import calls as use_cases

    async with app_context() as context:
        await use_cases.give_back_call(context, _caller(name), call)
    tell("waiting_calls.given_back", id=call)


@calls.command("follow")
async def follow(process: OfProcess = None, name: Name = "") -> None:
    """Print a line whenever the number of waiting calls changes, until no process is open any more."""
    from tongyao.app import calls as use_cases

    async with app_context() as context:
        shown: set[str] | None = None
        with context.repositories.changes.watch_all() as watch:
            while True:
                found = await use_cases.list_calls(context, _caller(name), _which(None, None, process))
                waits = {call.id for call in found}
                if waits != shown:
                    for call in found:
                        if shown is None or call.id not in shown:
                            console.print(f"{call.id}  {_about(call)}", highlight=False)
                    tell("waiting_calls.waiting", n=len(found))
                    shown = waits
                if not await context.repositories.waiting_calls.open_processes(process or ""):
                    tell("waiting_calls.no_process")
                    return
                await watch.wait(5)


def _caller(name: str) -> Any:
    """Return the caller. Everybody who can run commands may answer calls, under any name."""
    from tongyao.app.action_permissions import Role
    from tongyao.app.authorization import Caller

    return Caller(role=Role.ANSWERER, id="cli", login=name or operator().login, on_the_machine=True)


def _which(step: str | None, alias: str | None, process: str | None) -> Any:
    from tongyao.app.calls import WhichCalls

    return validated(WhichCalls, {"step": step, "alias": alias, "process_id": process})


def _about(call: Any) -> str:
    """Return for example `project, round 2, P03, repair, c-…`."""
    number, repair = say("waiting_calls.round", n=call.round), say("waiting_calls.repair")
    parts = [call.step, *([number] if call.round else []), *([call.alias] if call.alias else [])]
    return ", ".join([*parts, *([repair] if call.repair else []), call.process_id])
