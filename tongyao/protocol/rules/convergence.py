"""When the rounds end. The whole rule is in this file (docs/protocol.md §5.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.settings import MAX_ROUNDS
from tongyao.protocol.model.value import Value

VERDICT_FROM_ROUND: Final = 3
"""Before this round the catalyst has not seen an answer to its own observations, so its verdict does not count."""

EARLIEST_END: Final = 2
"""No process converges before this round, not even when everyone says that there is nothing new."""

MORE_ROUNDS: Final = 2
"""How many rounds `extend` and `add_participants` add."""


class RoundResult(Value):
    """What one finished round means for convergence: how every turn ended, what the catalyst said, whether there was news.

    `news` is true where it is not counted (`NewsRule.SEED`).
    """

    number: int
    outcomes: Mapping[str, Outcome]
    verdict: Verdict
    news: bool = True


class Course(StrEnum):
    """What follows after a round."""

    GO_ON = "go_on"
    CONVERGED = "converged"
    ALL_SILENT = "all_silent"
    AT_LIMIT = "at_limit"

    @property
    def converged(self) -> bool:
        return self in (Course.CONVERGED, Course.ALL_SILENT)


def course(rounds: Sequence[RoundResult], *, limit: int = MAX_ROUNDS) -> Course:
    """What follows after the last of `rounds` (oldest first, numbered from 1 without holes).

    - Everyone still in the room *said* that there is nothing new, in a round not before the second: the gap is
      exhausted everywhere at once. A lapsed or failed turn says nothing, so it never counts towards this.
    - Two `exhausted` verdicts in a row, both from round 3 on; a round without news counts as `exhausted`: the second is the buffer round, in which a new framework
      could have reactivated somebody (seed 000, property 8).
    - `limit` rounds are over: the demander decides.
    """
    if not rounds:
        return Course.GO_ON
    last = rounds[-1]
    if last.number >= EARLIEST_END and _everyone_said_nothing_new(last.outcomes):
        return Course.ALL_SILENT
    if len(rounds) >= 2 and all(_counted_exhausted(result) for result in rounds[-2:]):
        return Course.CONVERGED
    return Course.AT_LIMIT if last.number >= limit else Course.GO_ON


def _counted_exhausted(result: RoundResult) -> bool:
    return result.number >= VERDICT_FROM_ROUND and (result.verdict is Verdict.EXHAUSTED or not result.news)


def _everyone_said_nothing_new(outcomes: Mapping[str, Outcome]) -> bool:
    present = [outcome for outcome in outcomes.values() if outcome is not Outcome.LEFT]
    return bool(present) and all(outcome is Outcome.NOTHING_NEW for outcome in present)
