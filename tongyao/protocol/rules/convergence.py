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
"""Rounds that `extend` and `add_participants` add."""


class RoundResult(Value):
    """The result of one finished round for convergence.

    `outcomes`: how each turn ended, by alias; a participant who was not asked has none. `everybody_asked`: nobody in the room was
    left out. `verdict`: the catalyst's; `more` where its answer failed or could not be read.
    """

    number: int
    outcomes: Mapping[str, Outcome]
    everybody_asked: bool
    verdict: Verdict


class Course(StrEnum):
    """The course after a round."""

    GO_ON = "go_on"
    CONVERGED = "converged"
    ALL_SILENT = "all_silent"
    AT_LIMIT = "at_limit"

    @property
    def converged(self) -> bool:
        return self in (Course.CONVERGED, Course.ALL_SILENT)


def course(rounds: Sequence[RoundResult], *, limit: int = MAX_ROUNDS) -> Course:
    """Return the course after the last of `rounds` (oldest first, numbered from 1 without holes).

    - Two verdicts `exhausted` in a row, both from round 3 on, end the rounds. The second round is the buffer in which a framework
      could have woken somebody (seed 000, property 8).
    - Everybody in the room was asked in the same round, not before the second, and said that there is nothing new. A turn that
      lapsed or failed says nothing, so it never counts towards this.
    - After `limit` rounds the demander decides.

    Nothing is counted: figures of a round are shown to the catalyst and to people, and decide nothing.
    """
    if not rounds:
        return Course.GO_ON
    last = rounds[-1]
    if last.number >= EARLIEST_END and last.everybody_asked and _everyone_said_nothing_new(last.outcomes):
        return Course.ALL_SILENT
    if len(rounds) >= 2 and all(_is_exhausted(result) for result in rounds[-2:]):
        return Course.CONVERGED
    return Course.AT_LIMIT if last.number >= limit else Course.GO_ON


def asks_everybody(rounds: Sequence[RoundResult]) -> bool:
    """Whether the round after `rounds` asks everybody: rounds 1 and 2, and the round after a first `exhausted`."""
    return len(rounds) < VERDICT_FROM_ROUND - 1 or _is_exhausted(rounds[-1])


def _is_exhausted(result: RoundResult) -> bool:
    return result.number >= VERDICT_FROM_ROUND and result.verdict is Verdict.EXHAUSTED


def _everyone_said_nothing_new(outcomes: Mapping[str, Outcome]) -> bool:
    present = [outcome for outcome in outcomes.values() if outcome is not Outcome.LEFT]
    return bool(present) and all(outcome is Outcome.NOTHING_NEW for outcome in present)
