"""Sending messages, and what waits for whom: the same for the API and for MCP."""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic import Field

from tongyao.gateway.auth import Caller, Standing, in_process, permit
from tongyao.gateway.choosing import Choices, choices
from tongyao.gateway.gateway import Gateway
from tongyao.gateway.incoming import Incoming, read
from tongyao.gateway.permissions import Action
from tongyao.gateway.problems import NotFound, Problem, Refused
from tongyao.protocol import views
from tongyao.protocol.messages import ApproveResidual, Message
from tongyao.protocol.value import Value
from tongyao.protocol.views import PartyView
from tongyao.records.inbox import InboxRow
from tongyao.records.messages import MessageUnknown, StoredMessage, Words

_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")

HOW: Final[dict[str, str]] = {
    "confirm_tension": "confirm_tension, or revise_tension",
    "select_participants": "select_participants",
    "projection": "submit_projection with `round` and `text`, `parts` or `nothing_new`",
    "decision": "decide with one of the `options`; where they say so, replan without who declined, or conclude",
    "answer": "answer_plan with `revision` and `answer`",
    "residual": "approve_residual with its `subject` as `residual`",
    "hole": "approve_residual with its `subject` as `residual`, or replan without who declined",
    "resume": "resume, once the cause is mended",
}
"""Which message answers which ask."""


def checked_key(key: str | None) -> str:
    """An Idempotency-Key as it may be used. Raises `Problem`."""
    if not key:
        raise Problem(
            "key_missing", "send an `Idempotency-Key` of your own making: the same key again is the same request"
        )
    if not _KEY.fullmatch(key):
        raise Problem("bad_key", "an Idempotency-Key has 1 to 200 visible ASCII characters, without spaces")
    return key


class Receipt(Value):
    """What became of a message: `applied`, `refused`, or `waiting` for a worker; then ask again under its id."""

    id: str
    process_id: str
    kind: str
    state: str
    code: str = ""
    en: str = ""
    zh: str = ""
    repeated: bool = False


class Ask(Value):
    """Something that waits for you: what, by when, and how to answer; `view`: what you may see, to answer it.

    `choices`: for the demander, what there is to choose among; `subject`: the residual that it is about.
    """

    process_id: str
    ask: str
    alias: str
    round: int = Field(description="The round, or for `answer` the revision of the plan, for `residual` its number.")
    subject: str = ""
    due_at: str | None
    opened_at: str
    answer_with: str
    choices: Choices | None = None
    view: PartyView | None = None


async def send(
    gateway: Gateway, caller: Caller, process_id: str, incoming: Incoming, *, key: str | None, door: str
) -> Receipt:
    """Send a message to a process. Raises `Refused` when the process refused it, and every other `Problem`."""
    key = checked_key(key)
    standing = await in_process(gateway.library, caller, process_id, Action.SEND_MESSAGE)
    message, words = read(incoming, standing, key)
    if isinstance(message, ApproveResidual) and message.approve and standing.process.ended_at is not None:
        return await _branch(gateway, standing, message)
    return await deliver(gateway, standing, message, words, door=door)


async def deliver(gateway: Gateway, standing: Standing, message: Message, words: Words | None, *, door: str) -> Receipt:
    """Through the durable door. Raises `Refused`."""
    stored = await gateway.door.send(
        standing.process.id,
        message,
        author_id=standing.author_id,
        door=door,
        words=words,
        wait=gateway.options.answer_seconds,
    )
    if stored.verdict is not None and not stored.verdict.accepted:
        raise Refused(stored.verdict, stored.id)
    return receipt(stored)


async def _branch(gateway: Gateway, standing: Standing, message: ApproveResidual) -> Receipt:
    """A process that has ended starts no children itself; its residuals may still go back to the field."""
    child = await gateway.starting.branch(standing.process.id, message.residual)
    return Receipt(
        id=child,
        process_id=standing.process.id,
        kind=message.kind,
        state="applied",
        code="accepted",
        en=f"{child} has been started for it",
        zh=f"已为它启动 {child}",
    )


def receipt(stored: StoredMessage) -> Receipt:
    verdict = stored.verdict
    return Receipt(
        id=stored.id,
        process_id=stored.process_id,
        kind=stored.kind,
        state="waiting" if verdict is None else "applied" if verdict.accepted else "refused",
        code=verdict.code if verdict else "",
        en=verdict.en if verdict else "",
        zh=verdict.zh if verdict else "",
        repeated=verdict.repeated if verdict else False,
    )


async def message_state(gateway: Gateway, caller: Caller, message_id: str) -> Receipt:
    """What became of a message of the caller's own. Raises `NotFound` for those of others."""
    if caller.token is None:
        permit(caller, Action.READ_MESSAGE)
    unknown = NotFound("no_such_message", f"you have sent no message {message_id!r}")
    try:
        stored = await gateway.library.messages.get(message_id)
    except MessageUnknown:
        raise unknown from None
    if not caller.operator:
        standing = await in_process(gateway.library, caller, stored.process_id, Action.SEND_MESSAGE)
        if stored.author_id != standing.author_id:
            raise unknown
    return receipt(stored)


async def pending(gateway: Gateway, caller: Caller, *, with_view: bool = False) -> list[Ask]:
    """Everything that waits for the caller, the most urgent first."""
    permit(caller, Action.READ_INBOX)
    inbox = gateway.library.inbox
    rows = await inbox.of_operators() if caller.operator else await inbox.of_person(caller.person)
    token = caller.token
    if token is not None and token.role == "participant":
        rows = [row for row in rows if (row.process_id, row.alias) == (token.process_id, token.alias)]
    return [await _ask(gateway, caller, row, with_view=with_view) for row in rows]


async def _ask(gateway: Gateway, caller: Caller, row: InboxRow, *, with_view: bool) -> Ask:
    view = None
    if with_view:
        view = await view_of(gateway, await in_process(gateway.library, caller, row.process_id, Action.READ_PROCESS))
    return Ask(
        process_id=row.process_id,
        ask=row.ask,
        alias=row.alias,
        round=row.round,
        due_at=row.due_at.isoformat() if row.due_at else None,
        opened_at=row.opened_at.isoformat(),
        answer_with=HOW.get(row.ask, ""),
        subject=row.subject,
        choices=await choices(gateway.library, row) if not caller.operator else None,
        view=view,
    )


async def view_of(gateway: Gateway, standing: Standing) -> PartyView:
    """The process as this party may see it now."""
    record = await gateway.library.record(standing.process.id)
    role: Any = standing.role.value
    return views.for_party(record, role=role, alias="" if role == "operator" else standing.alias)
