"""Steps: the activities that a process wants to run, and how they ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from tongyao.protocol.contracts.process import ActivityContract, ActivityInput
from tongyao.protocol.model.process import Phase

if TYPE_CHECKING:
    from tongyao.protocol.life.state import State

RECORD_KEY = "record"
"""The key of the step that writes the outbox. It may run any number of times; every other key succeeds at most once."""


@dataclass(frozen=True, slots=True)
class WantedStep:
    """A step that should be running. `input` is complete but for the outbox, which whoever starts it adds.

    `take`: brings its output into the state, and returns the phase that follows; the output is None of an optional step that was passed over.
    `split`: called when it failed for what an operator has to mend, or waits for answers: it may want smaller steps in its place.
    `unanswered`: called when nobody answered its model calls in time; without it the process is suspended.
    `held`: it may go on if it runs, and may not be started now, because the process is suspended.
    `optional`: the process can do without it; a failure is noted and passed over.
    """

    contract: ActivityContract[Any, Any]
    input: ActivityInput
    summary: str
    take: Callable[[State, Any, datetime], Phase | None] = field(default=lambda *_: None, compare=False, repr=False)
    split: Callable[[State], None] | None = field(default=None, compare=False, repr=False)
    unanswered: Callable[[State, datetime], None] | None = field(default=None, compare=False, repr=False)
    optional: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class Success:
    """A step's output, and what of the outbox it has written: numbers of events, ids of signalled texts."""

    output: Any
    events: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepFailure:
    """Why a step failed. `code`: a closed word; `began`: when the failed call was made (wall time)."""

    kind: Literal["operator", "infrastructure"]
    code: str
    reason: str
    began: datetime
