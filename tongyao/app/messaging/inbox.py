"""The inbox: what processes ask of a caller, by when, and how to answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from tongyao.app.action_permissions import PARTICIPANT_ASKS, Action, Role
from tongyao.app.authorization import Caller, authorize_in_process, permit
from tongyao.app.choosing.choices import Choices, OpenPoint, choices_of
from tongyao.app.context import AppContext
from tongyao.app.messaging.answers import Answer, messages_for
from tongyao.app.people.consents import ConsentQuestion, question_of
from tongyao.app.processes import party_view
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.read_access import PartyView
from tongyao.records.process.inbox import InboxRow
from tongyao.records.process.processes import ProcessRow

ANSWER_WITH: Final[dict[str, str]] = {
    "confirm_tension": '{"kind": "confirm_tension"}, or revise_tension with your own `tension`',
    "select_participants": '{"kind": "select_participants", "participants": ["p-…", "p-…"]}: of the candidates, or others',
    "projection": '{"kind": "submit_projection", "round": %d, "text": "in your own words"}, or `nothing_new`',
    "decision": '{"kind": "decide", "decision": one of the `options`}; for the option `replan` {"kind": "replan", "without": aliases who '
    'declined, "proposals": aliases whose proposal the new plan follows}; for `conclude` {"kind": "conclude"}',
    "answer": '{"kind": "answer_plan", "revision": %d, "answer": "commit", "decline" or "propose", "text": "if you like"}; with '
    'commit also "contact", how the others reach you',
    "residual": '{"kind": "approve_residual", "residual": its `subject`, "approve": true or false}',
    "hole": '{"kind": "approve_residual", "residual": its `subject`, "approve": true or false}, or replan without who '
    "declined",
    "consent": '{"kind": "consent", "allow": true or false}: may a proxy speak for you in this process? '
    'With "allow": true, "endpoint": "human" you take part and speak for yourself. No answer is no',
    "resume": '{"kind": "resume"}, once the cause is mended',
}
"""Which message answers which ask."""
_ENDS_ANSWERS: Final = (
    ". Whether true or false, it ends the answers: nobody can answer the plan any more, and it cannot be made anew"
)
_LAST_PLAN: Final = (
    "; the plan was written anew once already, so a proposal is kept beside it and leads to no other plan"
)


class Ask(Value):
    """Something that waits for you: what, by when, and how to answer; `view`: what you may see, to answer it.

    `choices`: for the demander, what there is to choose among; `subject`: the residual that it is about. `answer_with` is for people,
    `messages` for programs.
    """

    process_id: str
    ask: str
    alias: str
    round: int = Field(
        description="The round, or for `answer` the revision of the plan, for `residual` its number, for `consent` the number of the question."
    )
    subject: str = ""
    due_at: str | None
    remaining_seconds: int | None = Field(default=None, description="While it is suspended: the time left after that.")
    opened_at: str
    answer_with: str
    of_gaps: bool = Field(
        default=False,
        description="Of `projection`: you brought the intent and have no seat. The host asks what only you can know; no round waits.",
    )
    gaps: tuple[OpenPoint, ...] = Field(
        default=(), description="Of `projection`, with `view`: the gaps that ask you and are not answered."
    )
    messages: tuple[Answer, ...] = Field(
        default=(),
        description="Each answers it, the usual one first. Each is complete but for the texts in angle brackets.",
    )
    ends_answers: bool = Field(
        default=False,
        description="Of `hole`: it is the last thing that is waited for. With `approve_residual`, true or false, nobody can "
        "answer the plan any more, and it cannot be made anew.",
    )
    choices: Choices | None = None
    consent: ConsentQuestion | None = Field(default=None, description="Of `consent`: what you are asked.")
    view: PartyView | None = None


async def inbox(context: AppContext, caller: Caller, *, with_view: bool = False, most: int | None = None) -> list[Ask]:
    """Everything that waits for the caller, the most urgent first. `most`: so many of it."""
    return [await _ask(context, caller, row, with_view=with_view) for row in (await _rows(context, caller))[:most]]


async def find_ask(context: AppContext, caller: Caller, process_id: str, ask: str, number: int) -> Ask | None:
    """What a process asks of the caller in this round, with a view; None where it does not wait."""
    rows = await _rows(context, caller)
    found = next((row for row in rows if (row.process_id, row.ask, row.round) == (process_id, ask, number)), None)
    return await _ask(context, caller, found, with_view=True) if found is not None else None


async def count_waiting(context: AppContext, caller: Caller) -> int:
    """How much waits for the caller."""
    return len(await _rows(context, caller))


async def _rows(context: AppContext, caller: Caller) -> list[InboxRow]:
    permit(caller, Action.READ_INBOX)
    inbox = context.repositories.inbox
    rows = await inbox.of_operators() if caller.operator else await inbox.of_person(caller.person)
    if caller.role is Role.PARTICIPANT:
        seat = (caller.process_id, caller.alias)
        rows = [row for row in rows if (row.process_id, row.alias) == seat and row.ask in PARTICIPANT_ASKS]
    return rows


async def _ask(context: AppContext, caller: Caller, row: InboxRow, *, with_view: bool) -> Ask:
    view = None
    process = None if row.alias != DEMANDER else await context.repositories.processes.get(row.process_id)
    if with_view and row.ask != "consent":
        access = await authorize_in_process(context.repositories, caller, row.process_id, Action.READ_PROCESS)
        view = await party_view(context, access)
    choices = await choices_of(context.repositories, row) if not caller.operator else None
    answer_with = ANSWER_WITH.get(row.ask, "") + (_LAST_PLAN if row.ask == "answer" and row.round > 1 else "")
    answer_with += _ENDS_ANSWERS if row.ends_answers else ""
    return Ask(
        process_id=row.process_id,
        ask=row.ask,
        alias=row.alias,
        round=row.round,
        due_at=row.due_at.isoformat() if row.due_at else None,
        remaining_seconds=row.remaining_seconds,
        opened_at=row.opened_at.isoformat(),
        answer_with=answer_with % row.round if "%d" in answer_with else answer_with,
        subject=row.subject if row.ask != "consent" else "",
        messages=tuple(await _messages(context, row, choices.options if choices else ())),
        ends_answers=row.ends_answers,
        of_gaps=process is not None and asks_gaps(row, process),
        gaps=_gaps(view, row.alias) if view is not None and row.ask == "projection" else (),
        choices=choices,
        consent=await question_of(context, row) if not caller.operator else None,
        view=view,
    )


def asks_gaps(ask: InboxRow, process: ProcessRow) -> bool:
    """Whether an ask is about gaps that ask the demander, who has no seat (docs/protocol.md §5)."""
    seated = process.settings.get("demander_takes_part")
    return ask.ask == "projection" and ask.alias == DEMANDER and not seated


def _gaps(view: PartyView, alias: str) -> tuple[OpenPoint, ...]:
    if (stands := view.stands) is None:
        return ()
    asked = {id for id, one in stands.asked.items() if one.alias == alias and one.outcome == "open"}
    return tuple(OpenPoint(id=note.id, text=note.text) for note in stands.notes if note.id in asked)


async def _messages(context: AppContext, row: InboxRow, options: Sequence[str]) -> list[Answer]:
    given: dict[str, str] = {}
    if "replan" in options:
        answers = await context.repositories.plans.answers(row.process_id)
        given = {one.alias: one.decision for one in answers if one.revision == row.round and one.alias != DEMANDER}
    subject = row.subject if row.ask != "consent" else ""
    return messages_for(row.ask, number=row.round, subject=subject, options=options, given=given)
