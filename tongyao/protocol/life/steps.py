"""Steps: the activities that a process wants to run, and their results."""

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
"""The key of the step that writes the outbox. It may run any number of times. Every other key succeeds at most once."""


@dataclass(frozen=True, slots=True)
class WantedStep:
    """A step that should be running. `input` is complete except for the outbox, which the workflow adds.

    `take`: applies the output to the state, and returns the next phase, or None. The output is None if an optional step
    failed.
    `split`: called if only an operator can fix the step's failure, or if it waits for answers. It may replace the step
    by smaller ones.
    `unanswered`: called if nobody answered its model calls in time. Without it the process is suspended.
    `held`: the step may continue if it runs, but may not be started, because the process is suspended.
    `optional`: the process can continue without the step. A failure is noted and skipped.
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
    """A step's output, and the part of the outbox that it wrote: numbers of events, ids of signalled texts."""

    output: Any
    events: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepFailure:
    """The failure of a step. `code`: a fixed word. `began`: the wall time at which the failed call was made."""

    kind: Literal["operator", "infrastructure"]
    code: str
    reason: str
    began: datetime
