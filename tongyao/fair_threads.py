"""Threads for work on people's texts that may take seconds. Who has used them least goes first, so that nobody keeps others waiting with much work.

Such threads are for readings of which one person can ask for many at a time. Other work runs in the common threads of the event loop,
or in a pool of its own in which the first comes first. Work is charged to the person on whose behalf it is done, which `on_behalf_of` says for what follows.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeVar

T = TypeVar("T")

HALF_LIFE: Final = 600.0
"""Seconds after which half of what somebody has used is forgotten."""
_FORGOTTEN: Final = 0.01
"""Seconds of use that are no longer remembered."""
_MOST_REMEMBERED: Final = 10_000

_PERSON: Final[contextvars.ContextVar[str]] = contextvars.ContextVar("on_behalf_of", default="")


def on_behalf_of(person: str) -> None:
    """Charge the work of this task, and of those it starts from now on, to `person`."""
    _PERSON.set(person)


@dataclass(eq=False)
class _Waiting:
    person: str
    number: int
    work: Callable[[], Any]
    done: Future[Any]


class FairThreads:
    """`threads` of their own; one person has at most all but one of them at a time."""

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most_of_one = max(1, threads - 1)
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._running = Counter[str]()
        self._used: dict[str, tuple[float, float]] = {}
        self._numbers = count()

    async def run(self, work: Callable[[], T], *, person: str | None = None) -> T:
        """The result of `work`, for `person` (None: the one whom `on_behalf_of` named). What was not begun when this is cancelled is not done."""
        whose = _PERSON.get() if person is None else person
        in_context = contextvars.copy_context().run
        done: Future[T] = Future()
        with self._lock:
            self._waiting.append(_Waiting(whose, next(self._numbers), lambda: in_context(work), done))
        self._pool.submit(self._do_next)
        return await asyncio.wrap_future(done)

    def _do_next(self) -> None:
        with self._lock:
            mine = self._chosen()
            if mine is None:
                return  # whoever ends next looks again
            self._waiting.remove(mine)
            self._running[mine.person] += 1
        began = time.monotonic()
        try:
            if mine.done.set_running_or_notify_cancel():
                try:
                    mine.done.set_result(mine.work())
                except BaseException as error:  # whoever waits for it gets it, `Stopped` too
                    mine.done.set_exception(error)
        finally:
            with self._lock:
                self._charge(mine.person, time.monotonic() - began)
                self._running[mine.person] -= 1
                if self._waiting:
                    self._pool.submit(self._do_next)

    def _chosen(self) -> _Waiting | None:
        """Of those whose person has a thread left, the one whose person has used least, then the first."""
        now = time.monotonic()
        free = (one for one in self._waiting if self._running[one.person] < self._most_of_one)
        return min(
            free,
            key=lambda one: (self._running[one.person], self._use(one.person, now), one.number),
            default=None,
        )

    def _use(self, person: str, now: float) -> float:
        seconds, at = self._used.get(person, (0.0, now))
        return round(float(seconds * 0.5 ** ((now - at) / HALF_LIFE)), 2)

    def _charge(self, person: str, seconds: float) -> None:
        now = time.monotonic()
        self._used[person] = (self._use(person, now) + seconds, now)
        self._running += Counter()  # forget those with nothing running
        if len(self._used) > _MOST_REMEMBERED:
            self._used = {one: use for one, use in self._used.items() if self._use(one, now) > _FORGOTTEN}
