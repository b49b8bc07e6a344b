"""The rule for the end of the rounds (docs/protocol.md §5.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process_settings import MAX_ROUNDS
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.value import Value

VERDICT_FROM_ROUND: Final = 3
"""The first round whose verdict counts. Until then the catalyst has seen no answers to its observations."""

EARLIEST_END: Final = 2
"""The first round after which the rounds may end, even if everybody says `nothing_new` before."""

MORE_ROUNDS: Final = 2
"""Number of rounds that the decisions `extend` and `add_participants` add."""


class RoundResult(Value):
    """The data of one finished round that determine whether the rounds end.

    `outcomes`: the outcome of each turn, by alias; participants who were not asked have no turn. `everybody_asked`:
    whether everybody in the room was asked. `verdict`: the catalyst's verdict; `more` if its answer failed or could not
    be read.
    """

    number: int
    outcomes: Mapping[str, Outcome]
    everybody_asked: bool
    verdict: Verdict


class Course(StrEnum):
    """The continuation after a round."""

    GO_ON = "go_on"
    CONVERGED = "converged"
    ALL_SILENT = "all_silent"
    AT_LIMIT = "at_limit"

    @property
    def converged(self) -> bool:
        return self in (Course.CONVERGED, Course.ALL_SILENT)


def course(rounds: Sequence[RoundResult], *, limit: int = MAX_ROUNDS) -> Course:
    """Return the continuation after the last of `rounds` (oldest first, numbered from 1 without gaps).

    - Two successive verdicts `exhausted`, both from round 3 on, end the rounds. One is not enough, because a framework
      can still bring new information in the next round (000, property 8).
    - The rounds also end if, from the second round on, everybody in the room was asked and said `nothing_new`. `lapsed`
      and `failed` do not count as `nothing_new`.
    - After `limit` rounds the demander decides.

    Counts of a round, such as its number of new items, have no influence. They are only shown.
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
