"""Sends the message of a command, and prints its receipt."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, Final

import typer

from tongyao.app.action_permissions import Role
from tongyao.app.context import AppContext
from tongyao.app.errors import Refused
from tongyao.app.messaging.messages import Receipt, send_message
from tongyao.app.people.acting import tell_spoken_for
from tongyao.commands.context import app_context, operator, validated
from tongyao.commands.next_steps import next_step
from tongyao.commands.references import alias_in, party_in
from tongyao.commands.terminal import EXIT_PENDING, console, put
from tongyao.commands.words import language, say, tell
from tongyao.protocol.model.messages import AnswerPlanBody, MessageBody, SubmitProjectionBody
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.process.process_rows import ProcessRow

OPERATORS: Final = "operator"


async def send(
    process: str, kind: str, key: str | None, *, sender: str = DEMANDER, about: str = "", **fields: Any
) -> None:
    """Send a message and print its receipt. `sender`: an alias, a person in the process, or `operator`.

    `about`: the participant of an operator's message.
    """
    body = validated(MessageBody, {"kind": kind, **fields})
    report(*await deliver(process, body, key or uuid.uuid4().hex, sender, about))


def report(receipt: Receipt, then: str) -> None:
    """Print a line with the effect of a message, and the line `then` about the next step."""
    stop_if_waiting(receipt)
    said = (receipt.zh if language() == "zh" else receipt.en) or receipt.kind
    if receipt.repeated:
        said = say("sent.repeated", said=said)
    put(said, whole=True)
    if receipt.id.startswith("c-"):
        then = say("waits.next_alone", command=f"tongyao watch {receipt.id}")
    put(then, whole=True, style="dim")


def stop_if_waiting(receipt: Receipt) -> None:
    """Print a line and exit with `EXIT_PENDING` if the message is stored and not applied yet."""
    if receipt.state == "waiting":
        tell("sent.waiting", style="yellow", id=receipt.id)
        raise typer.Exit(EXIT_PENDING)


async def deliver(process: str, body: MessageBody, key: str, sender: str, about: str) -> tuple[Receipt, str]:
    async with app_context() as context:
        row = await context.repositories.processes.get(process)
        if about:
            body = body.model_copy(update={"alias": await alias_in(context.repositories, row, about)})
        caller = operator() if sender == OPERATORS else await party_in(context.repositories, row, sender)
        own = caller.alias if caller.role is Role.PARTICIPANT else ""
        if console.is_terminal and (told := _who_reads(body, row, caller.alias or DEMANDER)):
            put(told, whole=True, style="dim")
        try:
            receipt = await send_message(context, caller, process, body, key=key, via="cli")
        except Refused as refused:
            refused.add_note(await next_step(context.repositories, process, alias=own))
            raise
        await tell_spoken_for(context, operator(), caller.person, body.kind, process_id=process)
        if receipt.state == "applied":
            await _until_written(context, row)
        return receipt, await next_step(context.repositories, process, alias=own)


def _who_reads(body: MessageBody, row: ProcessRow, alias: str) -> str:
    """Return a sentence that names the readers of the words, as in the console. Empty if the message has no words."""
    if isinstance(body, SubmitProjectionBody) and not body.nothing_new:
        after = "sent.read_by_plan_open" if row.open_record else "sent.read_by_plan_closed"
        return say("sent.read_by_round", alias=alias) + say(after, alias=alias)
    if isinstance(body, AnswerPlanBody):
        commits = body.answer == "commit"
        return say("sent.read_by_answer_commit" if commits else "sent.read_by_answer_other", alias=alias)
    return ""


async def _until_written(context: AppContext, before: ProcessRow) -> None:
    """Wait at most 1.5 s until the records have changed. The workflow writes them after it has applied a message."""
    for _ in range(15):
        if (await context.repositories.processes.get(before.id)).seq > before.seq:
            return
        await asyncio.sleep(0.1)
