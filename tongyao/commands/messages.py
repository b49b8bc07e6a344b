"""Messages of the demander, of a participant, and of operators: each is stored first and then delivered."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from tongyao.commands.common import EXIT_PENDING, EXIT_REFUSED, console, fail, run, settings
from tongyao.protocol.model.messages import MESSAGE, Author, Message
from tongyao.protocol.model.process import DEMANDER, Choice, TensionRef
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension
from tongyao.records.process.messages import MessageText, message_text_id
from tongyao.runtime import installation

Process = Annotated[str, typer.Argument(help="Id of the process.")]
Key = Annotated[str | None, typer.Option(help="The same key again is the same message.")]
Alias = Annotated[
    str, typer.Option("--as", help="The participant it is sent for: P01, P02, …; P00: the demander who takes part.")
]


def add_to(app: typer.Typer) -> None:
    for command in (
        confirm,
        revise,
        select,
        decide,
        conclude,
        replan,
        branch,
        resume,
        cancel,
        say,
        answer,
        switch,
        extend,
        leave,
    ):
        app.command()(command)


def confirm(process: Process, key: Key = None) -> None:
    """Confirm the tension as it stands."""
    _send(process, "confirm_tension", key)


def revise(
    process: Process,
    transition: Annotated[str, typer.Option(help="T: the structure of the change.")],
    initial_state: Annotated[str, typer.Option(help="I: where you stand, facts.")] = "",
    barrier: Annotated[list[str] | None, typer.Option(help="B: what stands in the way; repeat it.")] = None,
    exchange: Annotated[str, typer.Option(help="E: what you can give.")] = "",
    key: Key = None,
) -> None:
    """Write the tension anew, before it is confirmed. What you leave out is `[data_insufficient]`."""
    given: dict[str, Any] = {"transition": transition, "language": language_of(transition)}
    if initial_state:
        given["initial_state"] = initial_state
    if barrier:
        given["barriers"] = barrier
    if exchange:
        given["exchange"] = exchange
    try:
        tension = Tension.model_validate(given)
    except ValueError as error:
        fail(f"this is not a tension: {error}", 2)
    run(_revise(process, tension, key or uuid.uuid4().hex))


async def _revise(process: str, tension: Tension, key: str) -> None:
    async with installation.running(settings()) as here:
        row = await here.library.processes.get(process)
        author = f"demander:{row.demander}"
        ref = TensionRef(
            text_id=message_text_id(process, author, key), grade=tension.grade, barriers=len(tension.barriers)
        )
        message = _message("revise_tension", key, tension=ref.model_dump())
        words = MessageText(owner=row.demander, kind="tension", text=tension.model_dump_json())
        await _deliver(here, process, message, author, words)


def select(
    process: Process,
    participant: Annotated[list[str], typer.Option(help="A profile id; repeat it.")],
    key: Key = None,
) -> None:
    """Choose who takes part, and start the rounds."""
    _send(process, "select_participants", key, participants=_choices(participant))


def decide(
    process: Process,
    decision: Annotated[str, typer.Argument(help="accept_as_is, extend, raise_budget, add_participants or abandon")],
    participant: Annotated[list[str] | None, typer.Option(help="With add_participants: a profile id.")] = None,
    tokens: Annotated[int | None, typer.Option(help="With raise_budget: the new limit.")] = None,
    cost: Annotated[str | None, typer.Option(help="With raise_budget: the new limit in US dollars.")] = None,
    key: Key = None,
) -> None:
    """Decide how a process goes on that has come to a limit."""
    _send(process, "decide", key, decision=decision, participants=_choices(participant or []), tokens=tokens, cost=cost)


def conclude(process: Process, key: Key = None) -> None:
    """End the rounds after the present one, and plan."""
    _send(process, "conclude", key)


def resume(process: Process, key: Key = None) -> None:
    """Go on with a suspended process, once its cause is mended."""
    _send(process, "resume", key, operator=True)


def cancel(
    process: Process, branch: Annotated[bool, typer.Option(help="With everything below it.")] = False, key: Key = None
) -> None:
    """Cancel a process. What was said stays in the records."""
    _send(process, "cancel", key, branch=branch)


def say(
    process: Process,
    alias: Alias,
    round_number: Annotated[int, typer.Option("--round", help="The round it answers.")],
    text: Annotated[str, typer.Option(help="What you have to say, in your own words.")] = "",
    nothing_new: Annotated[bool, typer.Option(help="There is nothing new.")] = False,
    key: Key = None,
) -> None:
    """Speak in a turn that waits for a person."""
    run(_speak("submit_projection", process, alias, text, key, round=round_number, nothing_new=nothing_new))


def answer(
    process: Process,
    alias: Alias,
    decision: Annotated[str, typer.Argument(help="commit, decline or propose")],
    revision: Annotated[int, typer.Option(help="Which revision of the plan it answers.")] = 1,
    text: Annotated[str, typer.Option(help="Your own words with it: what you propose instead.")] = "",
    key: Key = None,
) -> None:
    """Answer a plan for a participant."""
    run(_speak("answer_plan", process, alias, text, key, answer=decision, revision=revision))


async def _speak(kind: str, process: str, alias: str, text: str, key: str | None, **fields: Any) -> None:
    key = key or uuid.uuid4().hex
    async with installation.running(settings()) as here:
        await here.library.processes.get(process)
        seats = {seat.alias: seat.person for seat in await here.library.room.seats(process)}
        if alias not in seats:
            fail(f"{process} has no {alias}", 2)
        author = f"participant:{seats[alias]}"
        words = MessageText(owner=seats[alias], kind="words", text=text) if text.strip() else None
        fields |= {"alias": alias, "text_id": message_text_id(process, author, key) if words else ""}
        message = _message(kind, key, author=Author(role="participant", alias=alias), **fields)
        await _deliver(here, process, message, author, words)


def replan(
    process: Process,
    without: Annotated[list[str], typer.Option(help="P01, P02, …: who declined; repeat it.")],
    key: Key = None,
) -> None:
    """Have the plan made once more, without those who declined."""
    _send(process, "replan", key, without=without)


def branch(
    process: Process,
    residual: Annotated[str, typer.Argument(help="plan/1/residual/2, or plan/1/hole/P03: of who declined.")],
    no: Annotated[bool, typer.Option("--no", help="It does not go back to the field.")] = False,
    key: Key = None,
) -> None:
    """Say whether a residual tension goes back to the field, in a process of its own; also after the process has ended."""
    if no or not run(_branched(process, residual)):
        _send(process, "approve_residual", key, residual=residual, approve=not no)


async def _branched(process: str, residual: str) -> bool:
    """Start the child of a process that has ended; False: it runs, and starts its children itself."""
    async with installation.running(settings()) as here:
        if (await here.library.processes.get(process)).ended_at is None:
            return False
        child = await here.starting.branch(process, residual)
        console.print(f"{child} has been started for {residual}: `tongyao watch {child}`")
        return True


def switch(
    process: Process,
    alias: Alias,
    endpoint: Annotated[str, typer.Argument(help="proxy, human or agent")],
    key: Key = None,
) -> None:
    """Change what speaks for a participant."""
    _send(process, "switch_endpoint", key, operator=True, alias=alias, endpoint=endpoint)


def extend(
    process: Process, alias: Alias, hours: Annotated[float, typer.Option(help="So much longer.")] = 24, key: Key = None
) -> None:
    """Give a participant more time for the present turn."""
    _send(process, "extend_deadline", key, operator=True, alias=alias, seconds=int(hours * 3600))


def leave(process: Process, alias: Alias, key: Key = None) -> None:
    """A participant leaves the process."""
    _send(process, "leave", key, operator=True, alias=alias)


def _choices(ids: list[str]) -> list[dict[str, Any]]:
    return [Choice(profile_id=one).model_dump() for one in ids]


def _message(kind: str, key: str, *, operator: bool = False, author: Author | None = None, **fields: Any) -> Message:
    author = author or (Author(role="operator") if operator else Author(role="demander", alias=DEMANDER))
    try:
        return MESSAGE.validate_python({"kind": kind, "key": key, "author": author, **fields})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        fail(f"{problem['loc'][-1]}: {problem['msg'].removeprefix('Value error, ')}", 2)


def _send(process: str, kind: str, key: str | None, *, operator: bool = False, **fields: Any) -> None:
    message = _message(kind, key or uuid.uuid4().hex, operator=operator, **fields)

    async def work() -> None:
        async with installation.running(settings()) as here:
            row = await here.library.processes.get(process)
            author = "operator:cli" if operator else f"demander:{row.demander}"
            await _deliver(here, process, message, author, None)

    run(work())


async def _deliver(
    here: installation.Office, process: str, message: Message, author: str, text: MessageText | None
) -> None:
    stored = await here.relay.send(process, message, author_id=author, via="cli", text=text)
    if stored.verdict is None:
        console.print(f"accepted and kept as {stored.id}: it is delivered as soon as a worker answers", style="yellow")
        raise typer.Exit(EXIT_PENDING)
    if not stored.verdict.accepted:
        fail(f"refused: {stored.verdict.en} ({stored.verdict.zh})", EXIT_REFUSED)
    console.print("done" + (" (it had been applied before)" if stored.verdict.repeated else ""))
