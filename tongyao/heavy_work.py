"""Runs work on people's texts that may take seconds or minutes, in a limited number of threads, one job at a time for
each person.

A person with many jobs waits for their own jobs. Jobs of other people run between them. A job belongs to the person for
whom it is done. `on_behalf_of` sets this person for the following jobs.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
Job = tuple[Callable[[], Any], Future[Any]]

_PERSON: Final[contextvars.ContextVar[str]] = contextvars.ContextVar("on_behalf_of", default="")
_LOCKS: Final = WeakValueDictionary[str, asyncio.Lock]()


def on_behalf_of(person: str) -> None:
    """Set the person for whom this task, and the tasks that it starts from now on, do their work."""
    _PERSON.set(person)


class HeavyWork:
    """Runs at most `threads` jobs at once, and one job of each person at a time."""

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Job]] = {}
        """The jobs that have not begun, by person. Each person in it has one job that runs or waits for a thread."""

    async def run(self, work: Callable[[], T], *, person: str | None = None) -> T:
        """Run `work` for `person` (None: the person set by `on_behalf_of`) and return its result. If this is cancelled,
        a job that has not begun is dropped."""
        whose = _PERSON.get() if person is None else person
        context, done = contextvars.copy_context(), Future[T]()
        with self._lock:
            if idle := whose not in self._waiting:
                self._waiting[whose] = deque()
            self._waiting[whose].append((lambda: context.run(work), done))
        if idle:
            self._pool.submit(self._do_next, whose)
        return await asyncio.wrap_future(done)

    def _do_next(self, person: str) -> None:
        with self._lock:
            work, done = self._waiting[person].popleft()
        if done.set_running_or_notify_cancel():
            try:
                done.set_result(work())
            except BaseException as error:  # the waiting caller gets it
                done.set_exception(error)
        with self._lock:
            if not self._waiting[person]:
                del self._waiting[person]
                return
        self._pool.submit(self._do_next, person)  # after the others who wait for a thread


READINGS: Final = HeavyWork(3, "readings")
"""Jobs on single texts and records: names, sentences, chunks of a long profile, views of a long process."""
SCENES: Final = HeavyWork(2, "scenes")
"""Jobs on all people of a scene, which take minutes if profiles are long. A job belongs to the scene."""


@asynccontextmanager
async def one_at_a_time(what: str) -> AsyncIterator[None]:
    """Lock for work that holds much memory between its jobs: one holder for each `what`. For one event loop."""
    async with _LOCKS.setdefault(f"{id(asyncio.get_running_loop())}/{what}", asyncio.Lock()):
        yield
