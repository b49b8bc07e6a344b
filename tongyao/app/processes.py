"""Starting processes and reading them, each party what `protocol.views` lets them see: for the API and for MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, Literal
from uuid import UUID, uuid5

from pydantic import Field

from tongyao.app.authorization import Caller, Standing, in_process, permit
from tongyao.app.context import Gateway
from tongyao.app.errors import BadInput
from tongyao.app.messages import OF_A_SEAT, checked_key, view_of
from tongyao.app.permissions import Action, Role
from tongyao.app.problems import NotAllowed, NotFound, Problem
from tongyao.app.start import MAX_INTENT_CHARS, Wish
from tongyao.app.wire import Given, Id, People, TensionGiven, choices
from tongyao.protocol.model.events import Event
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.event_views import event_for_party
from tongyao.protocol.rules.views import PartyView
from tongyao.records.process.events import EventCursor
from tongyao.records.process.processes import ProcessRow
from tongyao.records.process.seats import CandidateRow

_NAMESPACE: Final = UUID("b6a4f2a8-6f0f-5b5f-8f6b-1a2d3c4e5f60")
_YEAR: Final = 366 * 24 * 3600
_MOST: Final = 10**12
_MILLIONTH: Final = Decimal("0.000001")
_NOT_THEIRS: Final = frozenset({"strategy"})
"""`strategy` in the settings is the id of a text; here it comes as a text, so that nobody names another's."""


class Demand(Given):
    """What you want, in a sentence or a few; with the people to ask, or the scene to find them in."""

    intent: str = Field(min_length=1, max_length=MAX_INTENT_CHARS)
    scene: Id | None = None
    participants: People = Field(default=(), max_length=20)
    tension: TensionGiven | None = Field(default=None, description="Formulated already, by you or your own agent.")
    strategy: str = Field(default="", max_length=2_000, description="What the catalyst should attend to.")
    settings: dict[str, Any] = Field(default_factory=dict, max_length=50)
    demander: Id | None = Field(default=None, description="Of whom; for operators only.")


class ProcessSummary(Value):
    """One process as one party may know it. `you` is your alias there; who is waited for is told to nobody else."""

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
    suspended: tuple[str, ...] | None = None
    suspended_reason: str | None = None
    tokens: int | None = None
    cost: Decimal | None = None
    demander: str | None = None
    waiting: bool | None = None


class ProcessList(Value):
    processes: list[ProcessSummary]
    next: str | None = None


async def start(gateway: Gateway, caller: Caller, demand: Demand, *, key: str | None) -> str:
    """Start a process and return its id; the same key of the same person is the same process. Raises `Problem`, `BadInput`."""
    permit(caller, Action.START_PROCESS)
    demander = demand.demander if caller.operator else caller.person
    if not caller.operator and demand.demander not in (None, caller.person):
        raise NotAllowed("you can start processes for yourself only")
    if not demander:
        raise Problem("demander_missing", "say for whom it is: `demander`", status=422, field="demander")
    wish = Wish(
        intent=demand.intent,
        demander=demander,
        scene=demand.scene or "",
        participants=choices(demand.participants),
        settings=_bounded(demand.settings),
        tension=demand.tension.tension() if demand.tension else None,
        strategy=demand.strategy.strip(),
    )
    process_id = "c-" + uuid5(_NAMESPACE, "\x1f".join((demander, checked_key(key)))).hex[:16]
    return await gateway.starting.start(wish, process_id=process_id)


async def processes(
    gateway: Gateway,
    caller: Caller,
    *,
    role: Literal["demander", "participant"] = "demander",
    scene: str | None = None,
    phase: list[str] | None = None,
    open: bool | None = None,
    parent: str | None = None,
    person: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> ProcessList:
    """Those of the caller in this role, newest first; for operators all, for a participant's token its one.

    `person` is for operators: who else sits in a room is told to nobody by searching. Raises `NotAllowed`.
    """
    permit(caller, Action.LIST_PROCESSES)
    library = gateway.library
    token = caller.token
    if token is not None and token.role == "participant":
        standing = await in_process(library, caller, token.process_id or "", Action.READ_PROCESS)
        return ProcessList(processes=[await summary(gateway, standing)])
    if person is not None and not caller.operator:
        raise NotAllowed("only operators search by person: leave `person` out for your own processes")
    mine = {} if caller.operator else {role: caller.person}
    page = await library.processes.list(
        scene=scene, phases=phase, open=open, parent=parent, person=person,
        since=_in_utc(since), until=_in_utc(until), limit=limit, cursor=cursor,
        demander=mine.get("demander"), participant=mine.get("participant"),
    )  # fmt: skip
    seen = [await in_process(library, caller, row.id, Action.READ_PROCESS) for row in page.rows]
    return ProcessList(processes=[await summary(gateway, one) for one in seen], next=page.next)


def _in_utc(at: datetime | None) -> datetime | None:
    """A time without a zone is UTC."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


async def summary(gateway: Gateway, standing: Standing) -> ProcessSummary:
    row: ProcessRow = standing.process
    open_asks = await gateway.library.inbox.of_process(row.id, open_only=True)
    shown: dict[str, Any] = {}
    if standing.role is not Role.PARTICIPANT:
        shown = {
            "grade": row.grade,
            "parent": row.parent_id,
            "suspended": row.suspended,
            "suspended_reason": row.suspended_reason or None,
            "tokens": row.tokens,
            "cost": row.cost.quantize(_MILLIONTH),
        }
    if standing.role is Role.OPERATOR:
        shown |= {"demander": row.demander, "waiting": row.waiting}
    return ProcessSummary(
        id=row.id,
        role=standing.role,
        you=standing.alias,
        scene=row.scene_id,
        phase=row.phase,
        round=row.round,
        participants=row.participants,
        waits_for_you=any(
            ask.alias == standing.alias and (standing.role is not Role.PARTICIPANT or ask.ask in OF_A_SEAT)
            for ask in open_asks
        ),
        created_at=row.created_at,
        ended_at=row.ended_at,
        outcome=row.outcome,
        **shown,
    )


async def read(gateway: Gateway, caller: Caller, process_id: str) -> PartyView:
    return await view_of(gateway, await in_process(gateway.library, caller, process_id, Action.READ_PROCESS))


async def candidates(gateway: Gateway, caller: Caller, process_id: str) -> list[CandidateRow]:
    """Whom the field found, with its reasons: for the demander to choose among."""
    await in_process(gateway.library, caller, process_id, Action.READ_CANDIDATES)
    return await gateway.library.room.candidates(process_id)


async def plan(gateway: Gateway, caller: Caller, process_id: str) -> Plan:
    view = await view_of(gateway, await in_process(gateway.library, caller, process_id, Action.READ_PLAN))
    if view.plan is None:
        raise NotFound("no_plan_yet", f"{process_id} has no plan (yet): it is in phase {view.phase.value}")
    return view.plan


async def delivery(gateway: Gateway, caller: Caller, process_id: str) -> Delivery:
    standing = await in_process(gateway.library, caller, process_id, Action.READ_DELIVERY)
    view = await view_of(gateway, standing)
    if view.delivery is None and standing.role is Role.DEMANDER and view.plan is not None:
        raise NotFound(
            "no_delivery",
            "the demander gets the whole plan, and takes no part of their own here: `plan`, and everybody's parts in "
            "`deliveries` of the process",
        )
    if view.delivery is None:
        raise NotFound("no_delivery_yet", f"{process_id} has no delivery for you (yet): it is {view.phase.value}")
    return view.delivery


async def history(
    gateway: Gateway, caller: Caller, process_id: str, *, after: int = 0, limit: int = 100
) -> tuple[list[Event], int | None]:
    """What happened behind `after`, as this party may know it, and where to go on (None: nothing more for now).

    Read from the records: it stays when Temporal has forgotten the process.
    """
    standing = await in_process(gateway.library, caller, process_id, Action.READ_EVENTS)
    events = await gateway.library.events.events(process_id, EventCursor(seq=after), limit)
    shown = [event for event in (_shown(one.event, standing) for one in events) if event is not None]
    return shown, events[-1].seq if events else None


async def new_events(
    gateway: Gateway, standing: Standing, after: EventCursor
) -> AsyncIterator[tuple[EventCursor, Event | None]]:
    """Every event behind `after` that is there now, as (how far one has read with it, what this party may see of it)."""
    while events := await gateway.library.events.events(standing.process.id, after, 100):
        for event in events:
            yield event.cursor, _shown(event.event, standing)
        after = events[-1].cursor


def _shown(event: Event, standing: Standing) -> Event | None:
    role: Any = standing.role.value
    return event_for_party(event, role=role, alias=standing.alias, seated=standing.seated)


def _bounded(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings whose numbers a calendar, a budget and a database can hold. Raises `BadInput`."""
    for name, value in settings.items():
        if name in _NOT_THEIRS:
            raise BadInput("unknown_setting", f"{name} is not a setting here: send it beside the settings", field=name)
        try:
            number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
        except (ValueError, OverflowError):
            number = float("inf") if isinstance(value, int) else 0.0
        most = _YEAR if name.endswith("_seconds") else _MOST
        if not -most <= number <= most:
            raise BadInput("settings", f"{name}: at most {most:,}", field=name)
    return settings
