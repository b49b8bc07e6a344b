"""Reads processes: lists, summaries, and the view of each party (docs/protocol.md §6)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final, Literal

from pydantic import BaseModel

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, ProcessAccess, authorize_in_process, authorize_in_row, permit
from tongyao.app.errors import NotAllowed, NotFound
from tongyao.heavy_work import READINGS
from tongyao.protocol.life.asks import FOR_PARTICIPANTS, does
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.read_access import Part, PartyRole, PartyView, may_see
from tongyao.records.process.inbox import InboxRow
from tongyao.records.repositories import Repositories

_MILLIONTH: Final = Decimal("0.000001")
SOON_READ: Final = 30_000
"""Length in characters up to which the view of a record is made within some tens of milliseconds."""


class WaitsFor(Value):
    """An open ask to a person (`alias`) or an operator (empty alias). `round`: the round, or the plan's revision.

    `id`: the id by which messages name the ask. `en`, `zh`: the question as a sentence.
    """

    id: str
    alias: str
    ask: str
    en: str
    zh: str
    round: int
    subject: str = ""
    due_at: datetime | None = None


class ProcessSummary(Value):
    """A process as one party may know it. `you`: your alias in it.

    `answers`: answers to the current plan by alias, for demander and operators. `forked_from`: the origin of a fork.
    `price_unknown`: true if no price of its model calls is known; `cost` is 0 then.
    `demander`, `waiting`, `waits`, `root`, `depth` and `updated_at` are for operators.
    """

    id: str
    role: Role
    you: str
    scene: str | None
    phase: str
    round: int
    participants: int
    waits_for_you: bool
    created_at: datetime
    ended_at: datetime | None
    outcome: str | None
    grade: str | None = None
    parent: str | None = None
    forked_from: str | None = None
    suspended: tuple[str, ...] | None = None
    suspended_reason: str | None = None
    answered_by: tuple[str, ...] | None = None
    tokens: int | None = None
    cost: Decimal | None = None
    price_unknown: bool | None = None
    demander: str | None = None
    waiting: bool | None = None
    waits: tuple[WaitsFor, ...] | None = None
    answers: dict[str, str] | None = None
    root: str | None = None
    depth: int | None = None
    updated_at: datetime | None = None


class ProcessList(Value):
    processes: list[ProcessSummary]
    next: str | None = None


async def list_processes(
    repositories: Repositories,
    caller: Caller,
    *,
    role: Literal["demander", "participant"] = "demander",
    scene: str | None = None,
    phase: Sequence[str] | None = None,
    open: bool | None = None,
    suspended: bool | None = None,
    parent: str | None = None,
    origin: str | None = None,
    person: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> ProcessList:
    """Return the caller's processes in this role, newest first. Operators get all processes. A participant's token gets
    the process for which it was issued.

    `origin`: only its forks. `person` is for operators, because it reveals who takes part. Raises `NotAllowed`.
    """
    permit(caller, Action.LIST_PROCESSES)
    if caller.role is Role.PARTICIPANT:
        access = await authorize_in_process(repositories, caller, caller.process_id, Action.READ_PROCESS)
        return ProcessList(processes=[await summary(repositories, access)])
    if person is not None and not caller.operator:
        raise NotAllowed("only operators search by person: leave `person` out for your own processes")
    mine = {} if caller.operator else {role: caller.person}
    page = await repositories.processes.list(
        scene=scene, phases=phase, open=open, suspended=suspended, parent=parent, origin=origin, person=person,
        since=_in_utc(since), until=_in_utc(until), limit=limit, cursor=cursor,
        demander=mine.get("demander"), participant=mine.get("participant"),
    )  # fmt: skip
    accesses = [await authorize_in_row(repositories, caller, row, Action.READ_PROCESS) for row in page.rows]
    return ProcessList(processes=await _summaries(repositories, accesses), next=page.next)


def _in_utc(at: datetime | None) -> datetime | None:
    """Return the time in UTC if it has no zone."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


async def summary(repositories: Repositories, access: ProcessAccess) -> ProcessSummary:
    """Return the summary of a process, with the names of outside answerers of model calls, for all parties."""
    names = await _answerers(repositories, access.process.id)
    return (await _summaries(repositories, [access]))[0].model_copy(update={"answered_by": names})


async def _answerers(repositories: Repositories, process_id: str) -> tuple[str, ...] | None:
    """Return the names of outside answerers of model calls; None if there are none."""
    manifest = await repositories.seats.manifest(process_id)
    return tuple(sorted(manifest.get("answerers", {}))) or None


async def _summaries(repositories: Repositories, accesses: Sequence[ProcessAccess]) -> list[ProcessSummary]:
    """Return summaries in the order of `accesses`. The number of queries does not depend on the number of processes."""
    asks: dict[str, list[InboxRow]] = {}
    for ask in await repositories.inbox.open_in([access.process.id for access in accesses]):
        asks.setdefault(ask.process_id, []).append(ask)
    answered = [access.process.id for access in accesses if _reads_answers(access)]
    decisions = await repositories.plans.decisions(answered) if answered else {}
    return [
        _summary(access, asks.get(access.process.id, []), decisions.get(access.process.id, {})) for access in accesses
    ]


def _reads_answers(access: ProcessAccess) -> bool:
    return access.role is not Role.PARTICIPANT and may_see("demander", Part.ANSWERS, Phase(access.process.phase))


def _summary(access: ProcessAccess, open_asks: Sequence[InboxRow], decisions: dict[str, str]) -> ProcessSummary:
    row = access.process
    shown: dict[str, Any] = {}
    if access.role is not Role.PARTICIPANT:
        shown = {
            "grade": row.grade,
            "parent": row.parent_id,
            "forked_from": row.forked_from,
            "suspended": row.suspended,
            "suspended_reason": row.suspended_reason or None,
            "tokens": row.tokens,
            "cost": row.cost.quantize(_MILLIONTH),
            "price_unknown": row.price_unknown or None,
        }
    if access.role is Role.OPERATOR:
        shown |= {
            "demander": row.demander,
            "waiting": row.waiting,
            "waits": [
                WaitsFor(
                    id=ask.ask_id,
                    alias=ask.alias,
                    ask=ask.ask,
                    en=does(ask, "en"),
                    zh=does(ask, "zh"),
                    round=ask.round,
                    subject=_shown(ask),
                    due_at=ask.due_at,
                )
                for ask in open_asks
            ],
            "root": row.root_id,
            "depth": row.depth,
            "updated_at": row.updated_at,
        }
    if _reads_answers(access):
        shown["answers"] = decisions
    return ProcessSummary(
        id=row.id,
        role=access.role,
        you=access.alias,
        scene=row.scene_id,
        phase=row.phase,
        round=row.round,
        participants=row.participants,
        waits_for_you=any(
            ask.alias == access.alias and (access.role is not Role.PARTICIPANT or ask.ask in FOR_PARTICIPANTS)
            for ask in open_asks
        ),
        created_at=row.created_at,
        ended_at=row.ended_at,
        outcome=row.outcome,
        **shown,
    )


def _shown(ask: InboxRow) -> str:
    """Return the subject of an ask, such as a residual. Empty for `consent`, where the subject is a person's id."""
    return "" if ask.ask == "consent" else ask.subject


async def party_view(repositories: Repositories, access: ProcessAccess) -> PartyView:
    """Return the process as this party may see it now. `access`: with a row that was just read."""
    role: Any = access.role.value
    alias = "" if role == "operator" else access.alias
    record = await repositories.record(access.process, own=[alias])
    view = await view_of(record, role=role, alias=alias, person=access.author_id)
    return view.model_copy(update={"said_now": await _said_now(repositories, view, access)}) if alias else view


async def _said_now(repositories: Repositories, view: PartyView, access: ProcessAccess) -> str | None:
    """Return the party's words in the open round. Until the gate closes, they are in a message, not in the record.

    After a reset, somebody else may have had this seat before. Their words are not returned.
    """
    taken = any(turn.round == view.round for turn in view.own or ())
    if view.phase is not Phase.CRYSTALLIZING or taken or view.left:
        return None
    said = await repositories.messages.said_last(view.id, view.you, view.round)
    if said is not None and said.decided_before and said.author_id != access.author_id:
        return None
    if said is None or not said.text_id:
        return None if said is None else ""
    return (await repositories.texts.get_many([said.text_id], erased=""))[said.text_id]


async def view_of(record: Record, *, role: PartyRole, alias: str, person: str) -> PartyView:
    """Like `read_access.for_party`. Views of long texts take seconds, so a thread makes them, one per person."""
    make = partial(read_access.for_party, record, role=role, alias=alias)
    if _words_in(record) <= SOON_READ:
        return make()
    return await READINGS.run(make, person=person)


def _words_in(record: Record) -> int:
    """Return the number of characters in a record that are searched for names when a view is made."""
    parts = (record.tension, *record.observations, *record.projections, *record.plans, *record.deliveries)
    return sum(map(_chars, parts)) + sum(map(len, record.answer_words.values()))


def _chars(value: object) -> int:
    """Return the number of characters of all strings in a model."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, tuple):
        return sum(map(_chars, value))
    return sum(map(_chars, vars(value).values())) if isinstance(value, BaseModel) else 0


async def read_process(repositories: Repositories, caller: Caller, process_id: str) -> PartyView:
    """Like `party_view`, with the names of outside answerers of model calls."""
    access = await authorize_in_process(repositories, caller, process_id, Action.READ_PROCESS)
    view = await party_view(repositories, access)
    return view.model_copy(update={"answered_by": await _answerers(repositories, process_id)})


async def read_plan(repositories: Repositories, caller: Caller, process_id: str) -> Plan:
    view = await party_view(
        repositories, await authorize_in_process(repositories, caller, process_id, Action.READ_PLAN)
    )
    if view.plan is None:
        raise NotFound("no_plan_yet", f"{process_id} has no plan (yet): it is in phase {view.phase.value}")
    return view.plan


async def read_delivery(repositories: Repositories, caller: Caller, process_id: str) -> Delivery:
    access = await authorize_in_process(repositories, caller, process_id, Action.READ_DELIVERY)
    view = await party_view(repositories, access)
    if view.delivery is None and access.role is Role.DEMANDER and view.plan is not None:
        raise NotFound(
            "no_delivery",
            "the demander has no part of their own here: `plan` gives the whole plan, and `deliveries` of the process gives "
            "everybody's parts",
        )
    if view.delivery is None and view.left:
        raise NotFound("no_delivery_left", "people who have left the process get no part of the plan")
    if view.delivery is None:
        raise NotFound(
            "no_delivery_yet", f"{process_id} has no delivery for you (yet): it is in the phase {view.phase.value}"
        )
    return view.delivery
