"""Tells readers of the records that there is something new: PostgreSQL notifies one connection, which wakes those who wait.

The triggers of migrations 0003 and 0040 notify. A notification of events says which process, one of messages nothing. A reader that
is woken reads the records as always, and reads them every `SAFETY_SECONDS` without a notification too: a lost one delays what is
new, and loses nothing.
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
"""The standard library's: commands that only read load no other, and without a set-up it writes to standard error."""
EVENTS: Final = "tongyao_events"
MESSAGES: Final = "tongyao_messages"
_ALL: Final = "*"
SAFETY_SECONDS: Final = 10.0
"""How long a reader waits at most before it looks for itself."""
ALIVE_SECONDS: Final = 30.0
"""How often the connection is asked whether it lives, where nothing is notified."""
AGAIN_SECONDS: Final = 1.0
"""How long after a broken connection the next one is made."""


class Watch:
    """One reader's wait. Ready from the beginning: the first wait returns at once."""

    def __init__(self) -> None:
        self._new = asyncio.Event()
        self._new.set()

    def wake(self) -> None:
        self._new.set()

    async def wait(self, seconds: float = SAFETY_SECONDS) -> None:
        """Return when something may be new since the last wait returned, or after so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._new.wait(), seconds)
        self._new.clear()


class Changes:
    """Whoever watches processes, over one connection. It is opened for the first of them and closed after the last."""

    def __init__(self, pool: Pool) -> None:
        assert isinstance(pool.conninfo, str)  # as `open_pool` makes it
        self._conninfo = pool.conninfo
        self._watches: dict[tuple[str, str], set[Watch]] = {}
        self._listening: asyncio.Task[None] | None = None

    def watch(self, process_id: str) -> AbstractContextManager[Watch]:
        """Watch a process during the block. Read its events after each `wait`: so none is missed that came before the block."""
        return self._watch(EVENTS, process_id)

    def watch_all(self) -> AbstractContextManager[Watch]:
        """Watch the events of all processes."""
        return self._watch(EVENTS, _ALL)

    def watch_messages(self) -> AbstractContextManager[Watch]:
        """Watch for messages that may be due."""
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
                    self._wake_all()  # something may have come while nobody listened
                    while True:
                        async for notified in connection.notifies(timeout=ALIVE_SECONDS):
                            for payload in {notified.payload, _ALL}:
                                for watch in self._watches.get((notified.channel, payload), ()):
                                    watch.wake()
                        await connection.execute("SELECT 1")
            except psycopg.Error as error:
                log.warning(
                    "the connection that listens is lost: a new one is made",
                    extra={"error": type(error).__name__},
                )
            await asyncio.sleep(AGAIN_SECONDS)

    def _wake_all(self) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.wake()
