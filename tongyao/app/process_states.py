"""States of processes for many readers at once: one question to a workflow answers everybody who asks meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from tongyao.protocol.life.state import State

MOST_KEPT: Final = 200
KEPT_SECONDS: Final = 2.0
"""How long an answer counts while the process's row says nothing new."""


@dataclass(frozen=True)
class _Told:
    """An answer on its way or given: of which transition of which run, and when it was asked for (`time.monotonic`)."""

    run_id: str
    seq: int
    asked_at: float
    answer: asyncio.Task[State]

    def holds(self, run_id: str, seq: int) -> bool:
        """Whether it may be told to somebody who has read this transition. A question that failed is asked again."""
        if (self.run_id, self.seq) != (run_id, seq) or time.monotonic() - self.asked_at > KEPT_SECONDS:
            return False
        return not self.answer.done() or (not self.answer.cancelled() and self.answer.exception() is None)


class ProcessStates:
    """The states of open processes, shared between concurrent readers. A state holds ids and no texts."""

    def __init__(self, ask: Callable[[str], Coroutine[Any, Any, State]]) -> None:
        """`ask`: has the workflow of a process tell its state."""
        self._ask = ask
        self._told: OrderedDict[str, _Told] = OrderedDict()

    async def of(self, process_id: str, *, run_id: str, seq: int) -> State:
        """The state at this transition of this run, which the process's row names, or at a later one.

        Raises what `ask` raises, to everybody who waited for it.
        """
        told = self._told.get(process_id)
        if told is None or not told.holds(run_id, seq):
            told = _Told(run_id, seq, time.monotonic(), asyncio.create_task(self._ask(process_id)))
            self._told[process_id] = told
            self._told.move_to_end(process_id)
            while len(self._told) > MOST_KEPT:
                self._told.popitem(last=False)
        return await asyncio.shield(told.answer)  # who gives up waiting does not take the answer from the others
