"""State → what operators read in the Temporal UI, without a text of anybody (docs/operations.md §2)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

from tongyao.protocol.contracts.process import SearchAttribute
from tongyao.protocol.life.snapshot import suspended_codes
from tongyao.protocol.life.state import State
from tongyao.protocol.life.transitions import waiting
from tongyao.protocol.life.why import why
from tongyao.protocol.model.projection import Outcome

_PHASE = SearchAttributeKey.for_keyword(SearchAttribute.PHASE)
_ROUND = SearchAttributeKey.for_int(SearchAttribute.ROUND)
_WAITING = SearchAttributeKey.for_bool(SearchAttribute.WAITING)
_SUSPENDED = SearchAttributeKey.for_keyword_list(SearchAttribute.SUSPENDED)

_MARKS: Final[Mapping[Outcome, str]] = {
    Outcome.REPLIED: "replied",
    Outcome.NOTHING_NEW: "nothing new",
    Outcome.LAPSED: "lapsed",
    Outcome.FAILED: "failed",
    Outcome.LEFT: "left",
}


class Shown:
    """What the UI shows of a process: search attributes are sent when they change, details are kept up to date."""

    def __init__(self) -> None:
        self._attributes: dict[SearchAttributeKey[Any], object] = {_SUSPENDED: ()}

    def update(self, state: State, now: datetime) -> None:
        attributes: dict[SearchAttributeKey[Any], object] = {
            _PHASE: state.phase.value,
            _ROUND: state.round,
            _WAITING: waiting(state),
            _SUSPENDED: suspended_codes(state),
        }
        changed = [key for key, value in attributes.items() if self._attributes.get(key) != value]
        if changed:
            workflow.upsert_search_attributes([_set(key, attributes[key]) for key in changed])
            self._attributes = attributes
        workflow.set_current_details(details(state, now))


def _set(key: SearchAttributeKey[Any], value: object) -> SearchAttributeUpdate[Any]:
    if isinstance(value, tuple):
        return key.value_set(list(value)) if value else key.value_unset()
    return key.value_set(value)


def details(state: State, now: datetime) -> str:
    """Markdown: what the process is, what it waits for, the rounds so far, the cost."""
    lines = [
        state.start.summary,
        f"**{state.phase.value}**" + (f", round {state.round} of at most {state.round_limit}" if state.round else ""),
    ]
    lines += [f"Suspended ({cause.code}): {cause.reason}" for _, cause in sorted(state.causes.items())]
    lines += [reason.sentence for reason in why(state, now)]
    if state.tension is not None:
        lines.append(f"Tension of grade {state.tension.grade.value}, {state.tension.barriers} barriers")
    if state.seats:
        people = len(state.people)
        lines.append(f"{len(state.present)} in the room, {people} of them a person or their agent")
    if state.start.signal_key and not state.phase.ended:
        lines.append(f"Signals but `resume` need a signature: `tongyao signal {state.process_id} KIND PAYLOAD`")
    lines += _rounds(state)
    if state.spent.calls:
        lines.append(f"{state.spent.calls} model calls, {state.spent.tokens:,} tokens, ${state.spent.cost:.4f}")
    if state.plan_revision:
        lines.append(f"Plan {state.plan_revision}, {len(state.residuals)} residual tensions")
    lines += [
        f"Child {one.child} for {residual}: {one.outcome or 'running'}"
        for residual, one in sorted(state.residuals.items())
        if one.child
    ]
    return "\n\n".join(lines)


def _rounds(state: State) -> list[str]:
    """A table: one row for each round, one column for each participant, the catalyst last."""
    if not state.round:
        return []
    aliases = sorted(state.seats)
    rows = [f"| | {' | '.join(aliases)} | catalyst |", "|" + "---|" * (len(aliases) + 2)]
    for result in state.results:
        marks = [_MARKS.get(result.outcomes[alias], "") if alias in result.outcomes else "" for alias in aliases]
        said = result.verdict.value + ("" if result.news else ", no news")
        rows.append(f"| R{result.number} | {' | '.join(marks)} | {said} |")
    if len(state.results) < state.round:
        marks = [_turn_mark(state, alias) for alias in aliases]
        rows.append(f"| R{state.round} | {' | '.join(marks)} | |")
    return ["\n".join(rows)]


def _turn_mark(state: State, alias: str) -> str:
    turn = state.turns.get(alias)
    if turn is None:
        return ""
    return _MARKS[turn.outcome] if turn.outcome is not None else "…"
