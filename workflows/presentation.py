"""State → what operators read in the Temporal UI. Pure, and without a text of anybody (docs/operations.md §2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from tongyao.protocol.model.process import DEMANDER, Phase, State
from tongyao.protocol.model.projection import Outcome

_MARKS: Final[Mapping[Outcome, str]] = {
    Outcome.REPLIED: "replied",
    Outcome.NOTHING_NEW: "nothing new",
    Outcome.LAPSED: "lapsed",
    Outcome.FAILED: "failed",
    Outcome.LEFT: "left",
}

_WAITS: Final[Mapping[Phase, str]] = {
    Phase.CONFIRMING: f"{DEMANDER} to confirm the tension",
    Phase.SELECTING: f"{DEMANDER} to select participants",
    Phase.DECIDING: f"{DEMANDER} to decide",
    Phase.SUSPENDED: "an operator to resume",
}


def details(state: State, *, now: datetime) -> str:
    """Current details, in Markdown: phase, who is waited for and until when, the rounds so far, the cost."""
    lines = [
        f"**{state.phase.value}**" + (f", round {state.round} of at most {state.round_limit}" if state.round else "")
    ]
    if state.phase is Phase.SUSPENDED:
        lines.append(f"Suspended: {state.suspended_reason}")
    lines += [f"Waits for {who}{_until(due, now)}" for who, due in _waits(state)]
    if state.tension is not None:
        lines.append(f"Tension of grade {state.tension.grade.value}, {state.tension.barriers} barriers")
    lines += _rounds(state)
    if state.spent.calls:
        lines.append(f"{state.spent.calls} model calls, {state.spent.tokens:,} tokens, ${state.spent.cost:.4f}")
    if state.plan_revision:
        lines.append(f"Plan {state.plan_revision}, {len(state.residuals)} residual tensions")
    lines += [
        f"Child {child} for {residual}: {state.ended_children.get(child, 'running')}"
        for residual, child in sorted(state.children.items())
    ]
    return "\n\n".join(lines)


def turns_summary(aliases: Sequence[str], round_number: int) -> str:
    return f"{', '.join(aliases)} · round {round_number}"


def _waits(state: State) -> list[tuple[str, datetime | None]]:
    waits: list[tuple[str, datetime | None]] = [(turn.alias, turn.due) for turn in state.waiting_for]
    if state.phase in _WAITS and not (state.phase is Phase.SELECTING and state.selected is not None):
        waits.append((_WAITS[state.phase], state.due))
    if state.phase is Phase.ANSWERING:
        waits.append(("answers to the plan", state.due))
    waits += [(f"{DEMANDER} about {residual}", None) for residual in state.undecided if state.waiting]
    return waits


def _until(due: datetime | None, now: datetime) -> str:
    if due is None:
        return ""
    left = due - now
    days, hours = left.days, left.seconds // 3600
    remaining = f"{days} d {hours} h" if days else f"{hours} h {left.seconds % 3600 // 60} min"
    return f" until {due:%Y-%m-%d %H:%M} UTC ({remaining} left)" if left.total_seconds() > 0 else " (due)"


def _rounds(state: State) -> list[str]:
    if not state.seats:
        return []
    header = "| | " + " | ".join(sorted(state.seats)) + " | verdict |"
    rule = "|---" * (len(state.seats) + 2) + "|"
    rows = []
    for result in state.results:
        cells = [_MARKS[result.outcomes[a]] if a in result.outcomes else "" for a in sorted(state.seats)]
        rows.append(f"| R{result.number} | " + " | ".join(cells) + f" | {result.verdict.value} |")
    if state.turns and (not state.results or state.results[-1].number < state.round):
        cells = []
        for alias in sorted(state.seats):
            turn = state.turns.get(alias)
            cells.append("" if turn is None else _MARKS[turn.outcome] if turn.outcome else "…")
        rows.append(f"| R{state.round} | " + " | ".join(cells) + " | |")
    return ["\n".join([header, rule, *rows])] if rows else []
