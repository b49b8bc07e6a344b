"""The inbox: open asks to a caller, with their deadlines and the messages that answer them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import Field

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, authorize_in_process, permit
from tongyao.app.choosing.choices import Choices, OpenPoint, choices_of
from tongyao.app.context import AppContext
from tongyao.app.people.consents import ConsentQuestion, question_of
from tongyao.app.processes import party_view
from tongyao.protocol.life.asks import FOR_PARTICIPANTS, Body, answers, does, helps
from tongyao.protocol.model.events import AskName
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.read_access import PartyView
from tongyao.records.process.inbox import InboxRow
from tongyao.records.repositories import Repositories


class Ask(Value):
    """An open ask to you. `en`, `zh`: the question. `view`: what you may read of the process.

    `choices`: options of a demander. `subject`: a residual. `answer_with` is for people, `messages` for programs.
    """

    process_id: str
    id: str = Field(description="The id with which messages refer to it, such as `decide/2`.")
    ask: str
    alias: str
    en: str
    zh: str
    round: int = Field(
        description="The round, or for `answer` and `replan` the revision of the plan, for `residual` its number, for `consent` the number "
        "of the question."
    )
    subject: str = ""
    due_at: str | None
    remaining_seconds: int | None = Field(
        default=None, description="While the process is suspended: the time left when it continues."
    )
    opened_at: str
    answer_with: str
    others: int | None = Field(
        default=None,
        description="Of `confirm_tension`: how many people were named at the start. Confirming begins the process at once.",
    )
    gaps: tuple[OpenPoint, ...] = Field(
        default=(), description="Of `projection` and `gap`: the gaps that ask you and are not answered."
    )
    messages: tuple[Body, ...] = Field(
        default=(),
        description="The messages that answer it, the usual one first. Each is complete except for the texts in angle brackets.",
    )
    ends_answers: bool = Field(
        default=False,
        description="Of `hole`: the process waits for nothing else. After `approve_residual`, true or false, nobody can "
        "answer the plan any more, and it cannot be made anew.",
    )
    choices: Choices | None = None
    consent: ConsentQuestion | None = Field(default=None, description="Of `consent`: what you are asked.")
    view: PartyView | None = None


async def inbox(context: AppContext, caller: Caller, *, with_view: bool = False, most: int | None = None) -> list[Ask]:
    """Return the open asks to the caller, the most urgent first. `most`: the largest number of asks."""
    return [await _ask(context, caller, row, with_view=with_view) for row in (await _rows(context, caller))[:most]]


async def find_ask(context: AppContext, caller: Caller, process_id: str, id: str) -> Ask | None:
    """Return the open ask with this id, with the caller's view; None if it is not open."""
    rows = await _rows(context, caller)
    found = next((row for row in rows if (row.process_id, row.ask_id) == (process_id, id)), None)
    return await _ask(context, caller, found, with_view=True) if found is not None else None


async def count_waiting(context: AppContext, caller: Caller) -> int:
    """Return the number of open asks to the caller."""
    return len(await _rows(context, caller))


async def _rows(context: AppContext, caller: Caller) -> list[InboxRow]:
    permit(caller, Action.READ_INBOX)
    inbox = context.repositories.inbox
    rows = await inbox.of_operators() if caller.operator else await inbox.of_person(caller.person)
    if caller.role is Role.PARTICIPANT:
        seat = (caller.process_id, caller.alias)
        rows = [row for row in rows if (row.process_id, row.alias) == seat and row.ask in FOR_PARTICIPANTS]
    return rows


async def _ask(context: AppContext, caller: Caller, row: InboxRow, *, with_view: bool) -> Ask:
    view, may_be_asked = None, row.ask == "gap" or (row.ask == "projection" and row.round > 1)
    if (with_view or may_be_asked) and row.ask != "consent":
        access = await authorize_in_process(context.repositories, caller, row.process_id, Action.READ_PROCESS)
        view = await party_view(context.repositories, access)
    choices = await choices_of(context.repositories, row) if not caller.operator else None
    messages = await answers_of(context.repositories, row, choices.options if choices else ())
    return Ask(
        process_id=row.process_id,
        id=row.ask_id,
        ask=row.ask,
        alias=row.alias,
        en=does(row, "en"),
        zh=does(row, "zh"),
        round=row.round,
        due_at=row.due_at.isoformat() if row.due_at else None,
        remaining_seconds=row.remaining_seconds,
        opened_at=row.opened_at.isoformat(),
        answer_with=" or ".join(json.dumps(message, ensure_ascii=False) for message in messages)
        + f". {helps(row, 'en')}",
        subject=row.subject if row.ask != "consent" else "",
        others=row.others if row.ask == "confirm_tension" else None,
        messages=tuple(messages),
        ends_answers=row.ends_answers,
        gaps=_gaps(view, row.alias) if view is not None and may_be_asked else (),
        choices=choices,
        consent=await question_of(context.repositories, row) if not caller.operator else None,
        view=view if with_view else None,
    )


def _gaps(view: PartyView, alias: str) -> tuple[OpenPoint, ...]:
    if (stands := view.stands) is None:
        return ()
    asked = {id for id, gap in stands.asked.items() if gap.alias == alias and gap.outcome == "open"}
    return tuple(OpenPoint(id=note.id, text=note.text) for note in stands.notes if note.id in asked)


async def answers_of(repositories: Repositories, row: InboxRow, options: Sequence[str] = ()) -> list[Body]:
    """Return the messages that answer an ask, the usual one first. `options`: the permitted choices. Empty: all."""
    given: dict[str, str] = {}
    if row.ask == "replan":
        answered = await repositories.plans.answers(row.process_id)
        given = {
            answer.alias: answer.decision
            for answer in answered
            if answer.revision == row.round and answer.alias != DEMANDER
        }
    subject = row.subject if row.ask != "consent" else ""
    return answers(AskName(row.ask), row.ask_id, number=row.round, subject=subject, options=options, given=given)
