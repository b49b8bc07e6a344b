"""What `confirm`, `say`, `answer` and the like do: messages to a process, for its demander, a participant, or an operator."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, Final

import typer
from rich.text import Text

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import Refused
from tongyao.app.messaging.messages import Receipt, send_message
from tongyao.app.messaging.wire import AnswerPlanBody, MessageBody, SubmitProjectionBody
from tongyao.app.operators.resume_all import Resumed, resume_all
from tongyao.app.people.acting import tell_spoken_for
from tongyao.app.people.consents import ConsentBody, ConsentView, question_of, read_consents, set_consent
from tongyao.commands.shared.common import OPERATOR, app_context, records_context, validated
from tongyao.commands.shared.next_steps import commands_for, next_step
from tongyao.commands.shared.references import alias_in, find_person, party_in
from tongyao.commands.shared.showing import markdown
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, EXIT_PENDING, console, fail, run
from tongyao.commands.shared.words import language, say
from tongyao.protocol.documents.markdown import tension_markdown
from tongyao.protocol.identity.listed import parts_of_line
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.process.processes import ProcessRow

OPERATORS: Final = "operator"


async def renamed(process: str, hide: list[str], show: list[str]) -> tuple[Receipt, str]:
    """Send the tension as it stands, with these names added to those that are hidden, and those taken out."""
    async with app_context() as context:
        tension = (await context.repositories.record(process, own=(DEMANDER,))).own_tension
        if tension is None:
            fail(say("sent.no_tension_yet", process=process))
        given = {one["name"]: one for one in map(parts_of_line, hide)}
        names = [one.model_dump() for one in tension.names if one.name not in (*given, *show)]
        names += given.values()
        parts = tension.model_dump(include={"transition", "initial_state", "barriers", "exchange"})
        body = validated(MessageBody, {"kind": "revise_tension", "tension": {**parts, "names": names}})
        return await _deliver(process, body, uuid.uuid4().hex, DEMANDER, "")


async def resume_suspended(cause: str | None, scene: str | None, dry_run: bool, key: str) -> list[Resumed]:
    async with app_context() as context:
        return await resume_all(context, OPERATOR, key=key, cause=cause, scene=scene, dry_run=dry_run, via="cli")


async def would_cancel(process: str, branch: bool) -> list[str]:
    """A line for each process that `cancel` would end."""
    async with app_context() as context:
        tree = (await context.repositories.lineage.tree(process)).all()
    concerned = tree if branch else tree[:1]
    return [say("sent.would_be_cancelled", id=row.id, phase=row.phase) for row in concerned if row.ended_at is None]


async def answer(process: str, body: MessageBody, key: str, person: str) -> tuple[Receipt, str]:
    async with app_context() as context:
        asked = await find_person(context, person)
        receipt = await send_message(context, Caller(Role.PERSON, asked), process, body, key=key, via="cli")
        await tell_spoken_for(context, OPERATOR, asked, body.kind, process_id=process)
        return receipt, await next_step(context.repositories, process)


async def show_question(process: str, person: str) -> None:
    """Print what somebody is asked who is invited: by whom, about what, what is said of them, and the commands that answer."""
    async with records_context() as context:
        asked = await find_person(context, person)
        row = await context.repositories.inbox.invitation(process, asked)
        question = await question_of(context, row) if row is not None else None
        if row is None or question is None:
            fail(say("sent.not_invited", person=asked, process=process), EXIT_BAD_INPUT)
        zh = language() == "zh"
        for paragraph in (question.invitation_zh if zh else question.invitation_en).paragraphs:
            console.print(Text(f"{paragraph}\n"))
        if question.tension is not None:
            console.print(markdown(tension_markdown(question.tension, language())))
        console.print(Text(question.discloses_zh if zh else question.discloses_en))
        for command in await commands_for(context.repositories, row, await context.repositories.processes.get(process)):
            console.print(Text(f"  {command}"))


async def consents(person: str, scene: str | None, decision: str | None) -> list[ConsentView]:
    async with app_context() as context:
        person = await find_person(context, person)
        caller = Caller(Role.PERSON, person)
        if scene is not None and decision is not None:
            body = validated(ConsentBody, {"consent": decision})
            return [await set_consent(context, caller, person, scene, body)]
        return await read_consents(context, caller, person)


def send(process: str, kind: str, key: str | None, *, sender: str = DEMANDER, about: str = "", **fields: Any) -> None:
    """Send a message for `sender`: an alias, a person in the process (`P00`: the demander) or an operator.

    `about`: the participant whom an operator's message is about.
    """
    body = validated(MessageBody, {"kind": kind, **fields})
    report(*run(_deliver(process, body, key or uuid.uuid4().hex, sender, about)))


def report(receipt: Receipt, then: str) -> None:
    """One line of what happened, one of what comes next."""
    stop_if_waiting(receipt)
    said = (receipt.zh if language() == "zh" else receipt.en) or receipt.kind
    if receipt.repeated:
        said = say("sent.repeated", said=said)
    console.print(said, highlight=False, markup=False, soft_wrap=True)
    if receipt.id.startswith("c-"):
        then = say("waits.next_alone", command=f"tongyao watch {receipt.id}")
    console.print(then, style="dim", highlight=False, markup=False, soft_wrap=True)


def stop_if_waiting(receipt: Receipt) -> None:
    """Exits with `EXIT_PENDING`, and says so, where a message is stored and not applied yet."""
    if receipt.state == "waiting":
        console.print(say("sent.waiting", id=receipt.id), style="yellow")
        raise typer.Exit(EXIT_PENDING)


async def _deliver(process: str, body: MessageBody, key: str, sender: str, about: str) -> tuple[Receipt, str]:
    async with app_context() as context:
        row = await context.repositories.processes.get(process)
        if about:
            body = body.model_copy(update={"alias": await alias_in(context, row, about)})
        caller = OPERATOR if sender == OPERATORS else await party_in(context, row, sender)
        own = caller.alias if caller.role is Role.PARTICIPANT else ""
        if console.is_terminal and (told := _who_reads(body, row, caller.alias or DEMANDER)):
            console.print(told, style="dim", highlight=False, markup=False, soft_wrap=True)
        try:
            receipt = await send_message(context, caller, process, body, key=key, via="cli")
        except Refused as refused:
            refused.add_note(await next_step(context.repositories, process, alias=own))
            raise
        await tell_spoken_for(context, OPERATOR, caller.person, body.kind, process_id=process)
        if receipt.state == "applied":
            await _until_written(context, row)
        return receipt, await next_step(context.repositories, process, alias=own)


def _who_reads(body: MessageBody, row: ProcessRow, alias: str) -> str:
    """Before words are sent: who will read them, as the form of the console says it. Empty where no words are sent."""
    if isinstance(body, SubmitProjectionBody) and not body.nothing_new:
        after = "sent.read_by_plan_open" if row.open_record else "sent.read_by_plan_closed"
        return say("sent.read_by_round", alias=alias) + say(after, alias=alias)
    if isinstance(body, AnswerPlanBody):
        commits = body.answer == "commit"
        return say("sent.read_by_answer_commit" if commits else "sent.read_by_answer_other", alias=alias)
    return ""


async def _until_written(context: AppContext, before: ProcessRow) -> None:
    """Wait a moment for the records to show what the message changed: the workflow writes them after it has applied it."""
    for _ in range(15):
        if (await context.repositories.processes.get(before.id)).seq > before.seq:
            return
        await asyncio.sleep(0.1)


async def aliases(process: str, given: list[list[str]]) -> list[list[str]]:
    if not any(given):
        return given
    async with records_context() as context:
        row = await context.repositories.processes.get(process)
        return [[await alias_in(context, row, one) for one in names] for names in given]


async def residual_in(process: str, given: str) -> str:
    """The id of a residual tension, where a person may stand for the alias of a hole: `plan/1/hole/derek`."""
    plan, hole, who = given.partition("/hole/")
    [[alias]] = await aliases(process, [[who]]) if who else [[""]]
    return f"{plan}{hole}{alias}"


async def ends_answering(process: str, residual: str) -> bool:
    """Whether a decision on this residual ends the answers to the plan (docs/protocol.md §7.5)."""
    async with records_context() as context:
        asked = await context.repositories.inbox.of_process(process, open_only=True)
    return any(one.ends_answers for one in asked if one.subject == residual)


async def present(process: str) -> ProcessRow:
    async with records_context() as context:
        return await context.repositories.processes.get(process)


async def latest_revision(process: str) -> int:
    async with records_context() as context:
        plan = await context.repositories.plans.latest(process)
        return plan.revision if plan is not None else 1
