"""Runs functions that read people's texts in separate processes, with limits of processor time and memory.

A regular expression or a parser of a library holds Python's interpreter lock until it is done. In a thread it would
stop all other work of the process, and no timeout could end it. A process can be killed: the system kills it when its
processor time is used up, also if its caller is gone.

Functions, arguments and results are pickled. Functions must be at the top level of a module.
"""

from __future__ import annotations

import asyncio
import math
import resource
import threading
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from typing import Final, TypeVar, TypeVarTuple

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from tongyao.heavy_work import HeavyWork

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

PROCESSES: Final = 2
"""Number of child processes of each process that calls `run`. They start with the first call, and are kept."""

MOST_BYTES: Final = 1024**3
"""Limit of the data of one process, in bytes: its heap and private mappings. Linux only."""

_TRIES: Final = 3
"""Most attempts of a call whose processes were killed while idle. One killed during work has reached its limit."""


class LimitReached(Exception):
    """A call exceeded its processor time or memory, and was ended."""


_TURNS: Final = HeavyWork(PROCESSES, "limited")
"""Threads that wait for the processes."""
_pool: ProcessPool | None = None
_lock = threading.Lock()


async def run(function: Callable[[*Arguments], T], *arguments: *Arguments, seconds: float) -> T:
    """Return the result of `function`. A call waits while another one for the same person runs. If it is cancelled, its
    process ends.

    `seconds`: limit of processor time. Raises `LimitReached`, and the errors of `function`.
    """
    begun: list[ProcessFuture[T]] = []

    def work() -> T:
        for _ in range(_TRIES):
            begun.append(_running_pool().schedule(_limited, args=[function, seconds, *arguments]))
            with suppress(BrokenProcessPool):  # the process was killed from outside while idle
                return begun[-1].result()
        raise LimitReached("the processes that read texts are killed again and again")

    try:
        return await _TURNS.run(work)
    except asyncio.CancelledError:
        for call in begun:
            call.cancel()  # type: ignore[no-untyped-call]  # reason: the library does not annotate it
        raise
    except (ProcessExpired, MemoryError):
        most = f"{seconds:g} s of processor time or {MOST_BYTES // 1024**2:,} MB"
        raise LimitReached(f"reading these texts takes more than {most}: shorten them") from None


def _running_pool() -> ProcessPool:
    """Return the pool of this process. A pool whose processes did not start, or were killed while idle, is replaced."""
    global _pool
    with _lock:
        if _pool is None or not _pool.active:
            # Spawned, because a fork would copy the locks of threads in any state.
            _pool = ProcessPool(max_workers=PROCESSES, initializer=_limit_memory, context=get_context("spawn"))
        return _pool


def _limit_memory() -> None:
    _limit(resource.RLIMIT_DATA, MOST_BYTES)
    _limit(resource.RLIMIT_CORE, 0)


def _limited(function: Callable[[*Arguments], T], seconds: float, *arguments: *Arguments) -> T:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds))
    return function(*arguments)


def _limit(what: int, most: int) -> None:
    """Set a limit that the system enforces. A lower limit, which cannot be raised, is kept."""
    _, highest = resource.getrlimit(what)
    resource.setrlimit(what, (most if highest == resource.RLIM_INFINITY else min(most, highest), highest))
