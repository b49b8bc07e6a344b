"""When the rounds end. The whole rule is in this module (docs/protocol.md §5.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.settings import MAX_ROUNDS
from tongyao.protocol.model.value import Value

VERDICT_FROM_ROUND: Final = 3
"""First round whose verdict counts. Before it the catalyst has not seen an answer to its own observations."""

EARLIEST_END: Final = 2
"""First round after which a process may converge, even if everyone says `nothing_new` earlier."""

MORE_ROUNDS: Final = 2
"""Rounds that `extend` and `add_participants` add."""


class RoundResult(Value):
    """The result of one finished round, as far as convergence needs it.

    `outcomes`: outcome of each turn by alias; participants who were not asked have none. `everybody_asked`: whether
    everybody in the room was asked. `verdict`: the catalyst's; `more` if its answer failed or could not be read.
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
    """Return the course after the last of `rounds` (oldest first, numbered from 1 without gaps).

    - Two verdicts `exhausted` in a row, both from round 3 on, end the rounds. In the second of these rounds a framework
      can still bring new information (000, property 8).
    - The rounds also end if, from the second round on, everybody in the room was asked and said `nothing_new`. `lapsed`
      and `failed` do not count as `nothing_new`.
    - After `limit` rounds the demander decides.

    Figures of a round have no influence. They are shown to the catalyst and to people.
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
