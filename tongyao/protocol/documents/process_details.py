"""A process and its waiting reasons as Markdown, for the current details in the Temporal UI. Pure.

The Markdown contains no text of a person (docs/operations.md §2).
"""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.life.state import State
from tongyao.protocol.life.why import why
from tongyao.protocol.model.projection import Outcome


def details(state: State, now: datetime) -> str:
    """Return Markdown with the process, the reasons why it waits, the rounds so far, and the cost."""
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
    lines += _rounds(state)
    if state.spent.calls:
        price = f", ${state.spent.cost:.4f}" if state.spent.cost else ""  # 0 where no price is known
        lines.append(f"{state.spent.calls} model calls, {state.spent.tokens:,} tokens{price}")
    if state.plan_revision:
        lines.append(f"Plan {state.plan_revision}, {len(state.residuals)} residual tensions")
    lines += [
        f"Child {kept.child} for {residual}: {kept.outcome or 'running'}"
        for residual, kept in sorted(state.residuals.items())
        if kept.child
    ]
    return "\n\n".join(lines)


def _rounds(state: State) -> list[str]:
    """Return a table with a row for each round and a column for each participant. The last column is the catalyst."""
    if not state.round:
        return []
    aliases = sorted(state.seats)
    rows = [f"| | {' | '.join(aliases)} | catalyst |", "|" + "---|" * (len(aliases) + 2)]
    for result in state.results:
        marks = [_mark(result.outcomes[alias]) if alias in result.outcomes else "" for alias in aliases]
        rows.append(f"| R{result.number} | {' | '.join(marks)} | {result.verdict.value} |")
    if len(state.results) < state.round:
        marks = [_mark(state.turns[alias].outcome) if alias in state.turns else "" for alias in aliases]
        rows.append(f"| R{state.round} | {' | '.join(marks)} | |")
    return ["\n".join(rows)]


def _mark(outcome: Outcome | None) -> str:
    return outcome.value.replace("_", " ") if outcome is not None else "…"
