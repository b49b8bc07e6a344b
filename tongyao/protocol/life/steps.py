"""Steps: the activities that a process wants to run, and how they ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from tongyao.protocol.contracts.process import ActivityContract, ActivityInput

RECORD_KEY = "record"
"""The key of the step that writes the outbox. It may run any number of times; every other key succeeds at most once."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step that should be running. `input` is complete but for the outbox, which whoever starts it adds.

    `held`: it may go on if it runs, and may not be started now, because the process is suspended.
    `optional`: the process can do without it; a failure is noted and passed over.
    """

    contract: ActivityContract[Any, Any]
    input: ActivityInput
    summary: str
    optional: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class Success:
    """A step's output, and what of the outbox it has written: numbers of events, ids of signalled texts."""

    output: Any
    events: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a step failed. `code`: a closed word; `began`: when the failed call was made (wall time)."""

    kind: Literal["operator", "infrastructure"]
    code: str
    reason: str
    began: datetime
