"""What the model server was asked for: which answers were paid for again although nothing was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

SETTLE_SECONDS: Final = 3.0
"""From the end of an answer until it is certainly in the records, where nothing is wrong; on a busy machine."""


@dataclass(frozen=True)
class PaidCall:
    """A whole answer that the model server gave, with no fault of its own. `asked`: a digest of the request."""

    asked: str
    step: str
    began: float
    ended: float


def paid_again(calls: Iterable[PaidCall], wrong: Sequence[tuple[float, float]]) -> tuple[int, list[str]]:
    """How many answers were paid for again, and which of them without a reason.

    The reason is a fault: an answer may be asked for again only if something was wrong (the spans of `wrong`) between the time it was
    asked for and the time at which it had to be in the records.
    """
    times = 0
    found = []
    last: dict[str, PaidCall] = {}
    for call in sorted(calls, key=lambda one: one.began):
        before = last.get(call.asked)
        last[call.asked] = call
        if before is None:
            continue
        times += 1
        if not any(began <= before.ended + SETTLE_SECONDS and before.began <= ended for began, ended in wrong):
            found.append(f"paid again without a fault: {call.step}, {call.began - before.ended:.1f} s after its answer")
    return times, found
