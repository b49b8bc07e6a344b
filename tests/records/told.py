"""Events as a workflow tells them, and how they stand in the records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.life import machine
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.process import Phase
from tongyao.records.database import Pool, session
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.process.events import Events

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
Person = Callable[..., Awaitable[ProfileVersion]]
K = EventKind


def event(seq: int, kind: EventKind = K.ROUND_OPENED, *, of: str = "first", **data: Any) -> Event:
    """`of`: two events of one number differ by it."""
    return Event(seq=seq, kind=kind, at=NOON + timedelta(minutes=seq), data={"of": of, **data})


def told(process: str, *events: Event, phase: Phase = Phase.CRYSTALLIZING, **row: Any) -> Outbox:
    snapshot = Snapshot(
        process_id=process, seq=events[-1].seq if events else row.pop("seq"), phase=phase, round=1, waiting=False, **row
    )
    return Outbox(snapshot=snapshot, events=events)


async def standing(pool: Pool, process: str) -> list[tuple[int, int, str]]:
    """(epoch, seq, of) of every event that stands."""
    return [(one.epoch, one.seq, str(one.data["of"])) for one in await Events(pool).events(process, limit=500)]


async def superseded(pool: Pool, process: str) -> list[tuple[int, int]]:
    async with session(pool) as connection:
        cursor = await connection.execute(
            "SELECT epoch, seq FROM events WHERE process_id = %s AND superseded ORDER BY epoch, seq", [process]
        )
        return [(row["epoch"], row["seq"]) for row in await cursor.fetchall()]


def stated(process: str, **changes: Any) -> State:
    """A state that waits for the demander to confirm; `changes` to it."""
    start = ProcessInput(process_id=process, scene="s", demander="somebody", intent_text_id="t")
    state = machine.begin(start, NOON, seed="seed")
    for name, value in changes.items():
        setattr(state, name, value)
    return state
