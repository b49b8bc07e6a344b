"""The row and the inbox of a process, computed from its state (docs/protocol.md §11.3)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tongyao.protocol.life.clock import process_time, wall_time
from tongyao.protocol.life.phases.answering import last_hole, open_points
from tongyao.protocol.life.state import Deadline, State
from tongyao.protocol.life.transitions import waiting
from tongyao.protocol.model.events import Ask, Snapshot, Waiting
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.plans.lineage import hole_of


def snapshot(state: State, now: datetime) -> Snapshot:
    """The row as of the last event."""
    deadline = state.deadline if not state.suspended else None
    causes = sorted(state.causes.values(), key=lambda cause: cause.since)
    return Snapshot(
        process_id=state.process_id,
        seq=state.seq,
        phase=state.phase,
        round=state.round,
        waiting=waiting(state),
        grade=state.tension.grade.value if state.tension else "",
        tension_text_id=state.tension.text_id if state.tension else "",
        suspended=suspended_codes(state),
        suspended_reason="; ".join(dict.fromkeys(cause.reason or cause.code for cause in causes)),
        deadline=wall_time(state, deadline.due) if deadline is not None else None,
        tokens=state.spent.tokens,
        cost=str(state.spent.cost),
        inbox=asks(state, now),
    )


def suspended_codes(state: State) -> tuple[str, ...]:
    """Codes of all causes, each once, in alphabetical order."""
    return tuple(sorted({cause.code for cause in state.causes.values()}))


def asks(state: State, now: datetime) -> tuple[Waiting, ...]:
    """Everything that waits for somebody now. Suspension adds to it and takes nothing away."""
    if state.phase.ended:
        return ()
    operators = any(cause.kind == "operator" for cause in state.causes.values())
    resume = (Waiting(ask=Ask.RESUME, alias=""),) if operators else ()
    return (*resume, *_of_phase(state, now))


def _of_phase(state: State, now: datetime) -> tuple[Waiting, ...]:
    last = last_hole(state)
    residuals = tuple(_residual(residual, ends_answers=residual == last) for residual in state.undecided)
    until = _until(state, state.deadline, now)
    match state.phase:
        case Phase.CONFIRMING:
            return (Waiting(ask=Ask.CONFIRM_TENSION, alias=DEMANDER, **until),)
        case Phase.SELECTING:
            return (Waiting(ask=Ask.SELECT_PARTICIPANTS, alias=DEMANDER),)
        case Phase.CONSENTING:
            return tuple(
                Waiting(
                    ask=Ask.CONSENT,
                    alias=f"invited/{one.number}",
                    round=one.number,
                    subject=one.choice.profile_id,
                    others=state.others_expected - 1,
                    **_until(state, one.deadline, now),
                )
                for one in state.invitations
                if one.waits
            )
        case Phase.CRYSTALLIZING:
            gaps = (Waiting(ask=Ask.PROJECTION, alias=DEMANDER, round=state.demander_asked),)
            turns = tuple(
                Waiting(ask=Ask.PROJECTION, alias=turn.alias, round=state.round, **_until(state, turn.deadline, now))
                for turn in state.waiting_for
            )
            return (*(gaps if state.demander_asked else ()), *turns)
        case Phase.DECIDING:
            return (Waiting(ask=Ask.DECISION, alias=DEMANDER, round=state.round, **until),)
        case Phase.ANSWERING:
            answers = tuple(
                Waiting(ask=Ask.ANSWER, alias=alias, round=state.plan_revision, **until)
                for alias in state.asked_for_answers
                if alias not in state.answers
            )
            decision = Waiting(ask=Ask.DECISION, alias=DEMANDER, round=state.plan_revision, **until)
            return (*residuals, *answers, *((decision,) if open_points(state) else ()))
        case Phase.AWAITING_CHILDREN:
            return residuals
        case _:
            return ()


def _until(state: State, deadline: Deadline | None, now: datetime) -> dict[str, Any]:
    """While the process is suspended no date can be told, only how much time will be left."""
    if deadline is None:
        return {}
    if state.suspended:
        left = deadline.due - process_time(state, now)
        return {"remaining_seconds": max(0, round(left.total_seconds()))}
    return {"due": wall_time(state, deadline.due)}


def _residual(residual: str, *, ends_answers: bool) -> Waiting:
    last = residual.rsplit("/", 1)[-1]
    ask = Ask.RESIDUAL if hole_of(residual) is None else Ask.HOLE
    number = int(last.lstrip("P"))
    return Waiting(ask=ask, alias=DEMANDER, round=number, subject=residual, ends_answers=ends_answers)
