"""The gateway's background work goes on whatever one person's row or the database answers: the gateway would end with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from psycopg.errors import DeadlockDetected

from tests.support.unchanged import UNCHANGED
from tongyao.app.notifications.notices import create_notices
from tongyao.gateway.outbound.agents import AgentCaller
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.records.people.notifications import ATTEMPTS, Notification
from tongyao.records.process.events import EventCursor


class Records:
    """Records that fail twice in a way that nobody foresaw. Then `stop` is set."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop, self.asked = stop, 0

    async def from_inbox(self) -> int:
        return await self._failing()

    async def due(self, *args: Any, **named: Any) -> int:
        return await self._failing()

    async def _failing(self) -> int:
        self.asked += 1
        if self.asked == 2:
            self._stop.set()
        raise DeadlockDetected("two statements wait for each other")


async def test_notifications_go_on_after_an_error_that_nobody_foresaw() -> None:
    stop = asyncio.Event()
    records = Records(stop)
    library: Any = SimpleNamespace(notifications=records, changes=UNCHANGED)
    async with asyncio.timeout(60):
        await NotificationSender(library, {}).run(stop, idle=0.001)
    assert records.asked == 2


async def test_agents_are_asked_on_after_an_error_that_nobody_foresaw() -> None:
    stop = asyncio.Event()
    records = Records(stop)
    context: Any = SimpleNamespace(repositories=SimpleNamespace(sources=records, changes=UNCHANGED))
    async with asyncio.timeout(60):
        await AgentCaller(context).run(stop, idle=0.001)
    assert records.asked == 2


class TwoProcesses:
    """Of the first process an event cannot be read."""

    def __init__(self) -> None:
        self.made: list[str] = []

    async def from_inbox(self) -> int:
        return 0

    async def behind(self, **_: Any) -> list[tuple[str, EventCursor]]:
        return [(one, EventCursor(epoch=0, seq=0)) for one in ("unreadable", "good")]

    async def events(self, process_id: str, cursor: EventCursor, most: int) -> Sequence[Any]:
        if process_id == "unreadable":
            raise ValueError("no such kind")
        return ()

    async def from_events(self, process_id: str, *args: Any) -> int:
        self.made.append(process_id)
        return 0


async def test_an_event_that_cannot_be_read_keeps_nobody_elses_notifications() -> None:
    records = TwoProcesses()
    library: Any = SimpleNamespace(notifications=records, events=records)
    await create_notices(library)
    assert records.made == ["good"]


class OneNotice:
    """A notification of something that this version has no words for."""

    def __init__(self, attempts: int) -> None:
        self.ends: list[str] = []
        self._attempts = attempts

    async def from_inbox(self) -> int:
        return 0

    async def behind(self, **_: Any) -> list[Any]:
        return []

    async def due(self, *args: Any, **named: Any) -> list[Notification]:
        return [] if self.ends else [self._notification()]

    def _notification(self) -> Notification:
        now = datetime.now(UTC)
        return Notification(
            id="n", source="s", person="p", channel="log", process_id=None, about={"what": "of tomorrow"}, state="pending",
            attempts=self._attempts, next_attempt_at=now, created_at=now, ended_at=None,
        )  # fmt: skip

    async def get_many(self, people: Sequence[str]) -> dict[str, Any]:
        return {}

    async def ended(self, id: str, state: str) -> None:
        self.ends.append(state)

    async def postpone(self, id: str, seconds: float) -> None:
        self.ends.append("postponed")


async def test_a_notification_that_cannot_be_worded_is_tried_again_and_not_for_ever() -> None:
    for attempts, end in ((1, "postponed"), (ATTEMPTS, "failed")):
        records = OneNotice(attempts)
        library: Any = SimpleNamespace(notifications=records, profiles=records, changes=UNCHANGED)
        notifier: Any = SimpleNamespace()
        await NotificationSender(library, {"log": notifier}).once()
        assert records.ends == [end]
