"""A thread cannot be killed: the work of a step asks here, sentence by sentence, whether it should go on.

A step whose activity is cancelled would otherwise use the processor to its end, and a very long text would use it for minutes.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, TypeVar

from tongyao.fair_threads import FairThreads
from tongyao.llm.errors import StepFailed

T = TypeVar("T")

MOST_SECONDS: Final = 120.0
"""Of processor time of one step. A step with the longest turns of two people takes under ten (docs/extractive.md)."""


_STEPS: Final = FairThreads(4, "steps")


class Stopped(BaseException):
    """The step was cancelled. Not an `Exception`, so that no code of a step or a library takes it for a fault of its own."""


@dataclass
class _Work:
    cancelled: threading.Event = field(default_factory=threading.Event)
    ends_at: float = 0.0
    """In processor time of the thread (`time.thread_time`)."""


_WORK: Final[ContextVar[_Work | None]] = ContextVar("work", default=None)


def check() -> None:
    """Raise `Stopped` in a step that was cancelled, `StepFailed` in one that has used its processor time; else nothing."""
    work = _WORK.get()
    if work is None:
        return
    if work.cancelled.is_set():
        raise Stopped
    if time.thread_time() > work.ends_at:
        raise StepFailed(f"the texts of this step take more than {MOST_SECONDS:g} s of processor time: shorten them")


async def in_thread(function: Callable[[], T], *, seconds: float = MOST_SECONDS) -> T:
    """Run `function` in a thread that ends soon after this is cancelled, and after `seconds` of processor time.

    `function` calls `check` often. Raises `StepFailed`.
    """
    work = _Work()

    def run() -> T:
        work.ends_at = time.thread_time() + seconds
        _WORK.set(work)
        return function()

    try:
        return await _STEPS.run(run)
    except asyncio.CancelledError:
        work.cancelled.set()
        raise
