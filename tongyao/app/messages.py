"""Sending messages, and what waits for whom: the same for the API and for MCP."""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic import Field

from tongyao.app.authorization import Caller, Standing, in_process, permit
from tongyao.app.choices import Choices, choices
from tongyao.app.context import Gateway
from tongyao.app.permissions import Action
from tongyao.app.problems import NotFound, Problem, Refused
from tongyao.app.wire import Incoming, read
from tongyao.protocol.model.messages import ApproveResidual, Message
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules import views
from tongyao.protocol.rules.views import PartyView
from tongyao.records.process.inbox import InboxRow
from tongyao.records.process.messages import MessageText, MessageUnknown, StoredMessage

_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")

HOW: Final[dict[str, str]] = {
    "confirm_tension": '{"kind": "confirm_tension"}, or revise_tension with your own `tension`',
    "select_participants": '{"kind": "select_participants", "participants": ["p-…", "p-…"]}: of the candidates, or others',
    "projection": '{"kind": "submit_projection", "round": %d, "text": "in your own words"}, or `parts`, or `nothing_new`',
    "decision": '{"kind": "decide", "decision": one of the `options`}; where they say so, replan without who declined, '
    "or conclude",
    "answer": '{"kind": "answer_plan", "revision": %d, "answer": "commit", "decline" or "propose", "text": "if you like"}',
    "residual": '{"kind": "approve_residual", "residual": its `subject`, "approve": true or false}',
    "hole": '{"kind": "approve_residual", "residual": its `subject`, "approve": true or false}, or replan without who '
    "declined",
    "resume": '{"kind": "resume"}, once the cause is mended',
}
"""Which message answers which ask."""

OF_A_SEAT: Final = frozenset({"projection", "answer"})
"""What is asked of whoever speaks for a seat; everything else is the demander's, or an operator's."""

DONE: Final[dict[str, tuple[str, str]]] = {
    "confirm_tension": (
        "the tension stands; now people are found, or speak",
        "张力已确认；接下来寻找参与者，或开始发言",
    ),
    "submit_projection": (
        "kept word for word; how it was sorted stands in `own` of the process; while the round is open you may correct "
        "it by sending it anew, under a new key",
        "已逐字保存；整理结果见本过程的 own；本轮结束之前，可用新的 key 重新提交来更正",
    ),
    "nothing_new": ("noted for this round; you are asked again in the next one", "本轮已记录；下一轮仍会询问你"),
    "switch_endpoint": (
        "from now on this speaks for you, until you switch again",
        "从现在起由它代你发言，直到再次切换",
    ),
    "leave": ("you have left; what you said stays", "你已离开；说过的话会保留"),
    "answer_plan": ("your answer is noted; a plan is answered once", "你的答复已记录；每份方案只答复一次"),
}
"""What an applied message means for its sender, and what to do next."""


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
    remaining_seconds: int | None = Field(default=None, description="While it is suspended: the time left after that.")
    opened_at: str
    answer_with: str
    choices: Choices | None = None
    view: PartyView | None = None


async def send(
    gateway: Gateway, caller: Caller, process_id: str, incoming: Incoming, *, key: str | None, via: str
) -> Receipt:
    """Send a message to a process. Raises `Refused` when the process refused it, and every other `Problem`."""
    key = checked_key(key)
    standing = await in_process(gateway.library, caller, process_id, Action.SEND_MESSAGE)
    message, text = read(incoming, standing, key)
    if isinstance(message, ApproveResidual) and message.approve and standing.process.ended_at is not None:
        return await _branch(gateway, standing, message)
    return await deliver(gateway, standing, message, text, via=via)


async def deliver(
    gateway: Gateway, standing: Standing, message: Message, text: MessageText | None, *, via: str
) -> Receipt:
    """Store and deliver one message. Raises `Refused`."""
    stored = await gateway.relay.send(
        standing.process.id,
        message,
        author_id=standing.author_id,
        via=via,
        text=text,
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
    kind = "nothing_new" if stored.payload.get("nothing_new") else stored.kind
    en, zh = DONE.get(kind, ("", "")) if verdict and verdict.accepted else ("", "")
    return Receipt(
        id=stored.id,
        process_id=stored.process_id,
        kind=stored.kind,
        state="waiting" if verdict is None else "applied" if verdict.accepted else "refused",
        code=verdict.code if verdict else "",
        en=verdict.en or en if verdict else "kept, and delivered as soon as a worker answers: ask again under its id",
        zh=verdict.zh or zh if verdict else "已保存，一有工作进程应答即送达；可凭此 id 再查",
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
        here = (token.process_id, token.alias)
        rows = [row for row in rows if (row.process_id, row.alias) == here and row.ask in OF_A_SEAT]
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
        remaining_seconds=row.remaining_seconds,
        opened_at=row.opened_at.isoformat(),
        answer_with=how % row.round if "%d" in (how := HOW.get(row.ask, "")) else how,
        subject=row.subject,
        choices=await choices(gateway.library, row) if not caller.operator else None,
        view=view,
    )


async def view_of(gateway: Gateway, standing: Standing) -> PartyView:
    """The process as this party may see it now."""
    record = await gateway.library.record(standing.process.id)
    role: Any = standing.role.value
    return views.for_party(record, role=role, alias="" if role == "operator" else standing.alias)
