"""The row and the inbox of a process, computed from its state (docs/protocol.md §11.3)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tongyao.protocol.life.clock import process_time, wall_time
from tongyao.protocol.life.phases.answering import last_hole, open_points
from tongyao.protocol.life.state import Deadline, State
from tongyao.protocol.model.events import Ask, Snapshot, Waiting
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.plans.lineage import hole_of


def snapshot(state: State, now: datetime) -> Snapshot:
    """The row as of the last event."""
    deadline = state.deadline if not state.suspended else None
    return Snapshot(
        process_id=state.process_id,
        seq=state.seq,
        phase=state.phase,
        round=state.round,
        waiting=waiting(state),
        grade=state.tension.grade.value if state.tension else "",
        tension_text_id=state.tension.text_id if state.tension else "",
        suspended=suspended_codes(state),
        suspended_reason=_suspended_reason(state),
        deadline=wall_time(state, deadline.due) if deadline is not None else None,
        tokens=state.spent.tokens,
        cost=str(state.spent.cost),
        inbox=asks(state, now),
    )


def suspended_codes(state: State) -> tuple[str, ...]:
    """Codes of all causes, each once, in alphabetical order."""
    return tuple(sorted({cause.code for cause in state.causes.values()}))


def _suspended_reason(state: State) -> str:
    """One reason for each code, the oldest: the number of causes of one code tells how many proxies there are."""
    reasons: dict[str, str] = {}
    for cause in sorted(state.causes.values(), key=lambda cause: cause.since):
        reasons.setdefault(cause.code, cause.reason or cause.code)
    return "; ".join(dict.fromkeys(reasons.values()))


def asks(state: State, now: datetime) -> tuple[Waiting, ...]:
    """Everything that waits for somebody now. Suspension adds to it and takes nothing away."""
    if state.phase.ended:
        return ()
    resume = (Waiting(ask=Ask.RESUME, alias=""),) if _needs_operator(state) else ()
    calls = tuple(sorted(call for parked in state.parked.values() for call in parked.calls))
    delegated = (
        Waiting(ask=Ask.CALLS, alias="", subject=" ".join(calls), **_until(state, _first(state), now)),
    ) * bool(calls)
    return (
        *resume,
        *delegated,
        *(ask.model_copy(update=_until(state, deadline, now)) for ask, deadline in open_asks(state)),
    )


def _first(state: State) -> Deadline | None:
    """The first deadline of model calls that wait."""
    running = [parked.deadline for parked in state.parked.values() if parked.deadline is not None]
    return min(running, key=lambda deadline: deadline.due, default=None)


def waiting(state: State) -> bool:
    """Whether the process waits for a person, operators and answerers of model calls included, rather than for a machine. It does not wait for answers to gaps."""
    calls = any(parked.calls for parked in state.parked.values())
    return calls or _needs_operator(state) or state.phase is Phase.ANSWERING or bool(_of_phase(state))


def _needs_operator(state: State) -> bool:
    return any(cause.kind == "operator" for cause in state.causes.values())


def open_asks(state: State) -> tuple[tuple[Waiting, Deadline | None], ...]:
    """Every ask of a participant, the demander or somebody invited, with its deadline."""
    gap = Waiting(ask=Ask.PROJECTION, alias=DEMANDER, round=state.demander_asked)
    asked = state.demander_asked and state.phase is Phase.CRYSTALLIZING
    return (*(((gap, None),) if asked else ()), *_of_phase(state))


def _of_phase(state: State) -> tuple[tuple[Waiting, Deadline | None], ...]:
    last = last_hole(state)
    residuals = tuple((_residual(residual, ends_answers=residual == last), None) for residual in state.undecided)
    match state.phase:
        case Phase.CONFIRMING:
            return ((Waiting(ask=Ask.CONFIRM_TENSION, alias=DEMANDER), state.deadline),)
        case Phase.SELECTING:
            return ((Waiting(ask=Ask.SELECT_PARTICIPANTS, alias=DEMANDER), None),)
        case Phase.CONSENTING:
            return tuple(
                (
                    Waiting(
                        ask=Ask.CONSENT,
                        alias=f"invited/{one.number}",
                        round=one.number,
                        subject=one.choice.profile_id,
                        others=state.others_expected - 1,
                    ),
                    one.deadline,
                )
                for one in state.invitations
                if one.waits
            )
        case Phase.CRYSTALLIZING:
            return tuple(
                (Waiting(ask=Ask.PROJECTION, alias=turn.alias, round=state.round), turn.deadline)
                for turn in state.waiting_for
            )
        case Phase.DECIDING:
            return ((Waiting(ask=Ask.DECISION, alias=DEMANDER, round=state.round), state.deadline),)
        case Phase.ANSWERING:
            asked = [(Ask.ANSWER, alias) for alias in state.asked_for_answers if alias not in state.answers]
            asked += [(Ask.DECISION, DEMANDER)] * bool(open_points(state))
            answers = (Waiting(ask=ask, alias=alias, round=state.plan_revision) for ask, alias in asked)
            return (*residuals, *((answer, state.deadline) for answer in answers))
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
