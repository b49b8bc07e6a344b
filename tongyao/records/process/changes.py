"""Wakes readers of the records after changes. PostgreSQL notifies one connection, which wakes the waiting readers.

The triggers of migrations 0003 and 0040 send the notifications. A notification of events contains the process's id. A
notification of messages contains no id. A woken reader reads the records as usual. It also reads them every
`SAFETY_SECONDS` without a notification, so a lost notification causes only a delay.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final

import psycopg
from psycopg import AsyncConnection

from tongyao.records.database import Pool

log = logging.getLogger(__name__)
"""Of the standard library, because commands that only read do not load structlog. By default it writes to stderr."""
EVENTS: Final = "tongyao_events"
MESSAGES: Final = "tongyao_messages"
_ALL: Final = "*"
SAFETY_SECONDS: Final = 10.0
"""The longest time that a reader waits before it reads the records itself."""
ALIVE_SECONDS: Final = 30.0
"""If there are no notifications, the connection is checked at this interval."""
AGAIN_SECONDS: Final = 1.0
"""The delay between the loss of a connection and the next attempt to connect."""


class Watch:
    """One reader's wait. The first `wait` returns at once."""

    def __init__(self) -> None:
        self._new = asyncio.Event()
        self._new.set()

    def wake(self) -> None:
        self._new.set()

    async def wait(self, seconds: float = SAFETY_SECONDS) -> None:
        """Return when the records may have changed since the last wait returned, or after this many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(
                seconds
            ):  # `wait_for` of Python 3.11 loses a cancellation at the moment of `wake`
                await self._new.wait()
        self._new.clear()


class Changes:
    """The readers that watch processes, over one connection. It is opened for the first reader and closed after the last one."""

    def __init__(self, pool: Pool) -> None:
        assert isinstance(pool.conninfo, str)  # `open_pool` sets it as a string
        self._conninfo = pool.conninfo
        self._watches: dict[tuple[str, str], set[Watch]] = {}
        self._listening: asyncio.Task[None] | None = None

    def watch(self, process_id: str) -> AbstractContextManager[Watch]:
        """Watch a process during the block. Read its events after each `wait`: the first wait returns at once, so no
        earlier event is missed.
        """
        return self._watch(EVENTS, process_id)

    def watch_all(self) -> AbstractContextManager[Watch]:
        """Watch the events of all processes."""
        return self._watch(EVENTS, _ALL)

    def watch_messages(self) -> AbstractContextManager[Watch]:
        """Watch for messages that may be due for delivery."""
        return self._watch(MESSAGES, _ALL)

    @contextmanager
    def _watch(self, channel: str, payload: str) -> Iterator[Watch]:
        watch, key = Watch(), (channel, payload)
        self._watches.setdefault(key, set()).add(watch)
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen(), name="listen")
        try:
            yield watch
        finally:
            self._watches[key].discard(watch)
            if not self._watches[key]:
                del self._watches[key]
            if not self._watches and self._listening is not None:
                self._listening.cancel()
                self._listening = None

    async def _listen(self) -> None:
        while True:
            try:
                async with await AsyncConnection.connect(
                    self._conninfo, autocommit=True, application_name="tongyao-listen"
                ) as connection:
                    await connection.execute(f"LISTEN {EVENTS}")
                    await connection.execute(f"LISTEN {MESSAGES}")
                    self._wake_all()  # events may have come before the connection listened
                    while True:
                        async for notified in connection.notifies(timeout=ALIVE_SECONDS):
                            for payload in {notified.payload, _ALL}:
                                for watch in self._watches.get((notified.channel, payload), ()):
                                    watch.wake()
                        await connection.execute("SELECT 1")
            except psycopg.Error as error:
                log.warning(
                    "the connection that listens for notifications was lost: a new one is opened",
                    extra={"error": type(error).__name__},
                )
            await asyncio.sleep(AGAIN_SECONDS)

    def _wake_all(self) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.wake()
