"""The phases after the rounds: plan, deliveries, answers, and child processes for residual tensions (docs/protocol.md
§3.6, §7). In a room with only proxies, only the demander is asked, about the residuals."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from tongyao.protocol.contracts.process import (
    BRANCH,
    CANCEL_CHILDREN,
    DELIVER,
    PLAN,
    REMEMBER,
    ActivityContract,
    ActivityInput,
    BranchInput,
    BranchOutput,
    CancelChildrenInput,
    DeliverInput,
    DeliverOutput,
    PlanInput,
    PlanOutput,
    RememberInput,
)
from tongyao.protocol.life.state import ResidualOutcome, State, WantedStep, note
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import child_id, hole_id, hole_of
from tongyao.protocol.model.messages import AnswerPlan, ApproveResidual, ChildEnded, Replan
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.process_settings import Residuals

# ---- planning and delivering


def plan(state: State) -> dict[str, WantedStep]:
    revision = state.plan_revision + 1
    what = PlanInput(
        process_id=state.process_id,
        revision=revision,
        unconverged=state.unconverged,
        without=tuple(sorted({*state.left_out, *_filled(state)})) if state.folded else state.left_out,
        proposals=state.proposals,
        readable=tuple(alias for alias, seat in sorted(state.seats.items()) if seat.consented),
        children=state.completed_children if state.folded else (),
    )
    summary = f"plan {revision} · {len(state.present)} people, {state.round} rounds"
    return {f"plan/{revision}": WantedStep(PLAN, what, summary, take=_planned)}


def _filled(state: State) -> set[str]:
    """Return the aliases whose hole in the plan was filled by a completed child."""
    holes = [hole_of(residual) for residual, one in state.residuals.items() if one.outcome == Phase.COMPLETED]
    return {hole[1] for hole in holes if hole is not None}


def _planned(state: State, output: PlanOutput, now: datetime) -> Phase:
    state.plan_revision += 1
    state.plan_has_parts = output.has_parts
    state.proposals = ()
    state.answers = {}
    figures = output.model_dump(include={"claims", "supported", "reduced"})
    figures |= {"revision": state.plan_revision, "residuals": len(output.residuals)}
    note(state, EventKind.PLAN_READY, now, **figures)
    if not state.folded:  # the plan that was revised from children's plans starts no more children
        _leave_open(state, output.residuals, now)
    return Phase.DELIVERING


def _leave_open(state: State, names: tuple[str, ...], now: datetime) -> None:
    """Record the residuals of a new plan. By the setting `residuals`, the demander is asked, or all are approved.

    Undecided residuals of an earlier plan are dropped.
    """
    state.residuals = {name: one for name, one in state.residuals.items() if one.status != "open"}
    auto = state.start.settings.residuals is Residuals.AUTO
    for residual in names if state.may_branch else ():
        state.residuals[residual] = ResidualOutcome(status="approved" if auto else "open")
        if not auto:
            note(state, EventKind.RESIDUAL_OPEN, now, residual=residual)


def open_delivering(state: State, now: datetime) -> Phase | None:
    """End a fork here, because its plan is not delivered to anybody."""
    return Phase.COMPLETED if state.start.fork is not None else None


def deliveries(state: State) -> dict[str, WantedStep]:
    revision = state.plan_revision
    aliases = tuple(alias for alias in state.present if alias not in state.left_out)
    what = DeliverInput(process_id=state.process_id, revision=revision, aliases=aliases)
    summary = f"deliver plan {revision} · {len(aliases)} people"
    return {f"deliver/{revision}": WantedStep(DELIVER, what, summary, take=_delivered)}


def _delivered(state: State, output: DeliverOutput, now: datetime) -> Phase:
    for alias in dict.fromkeys((*output.delivered, DEMANDER)):
        note(state, EventKind.DELIVERY_READY, now, alias=alias, revision=state.plan_revision)
    asks = bool(state.asked_for_answers) or state.only_residuals
    return Phase.ANSWERING if asks and not state.folded else _after_answers(state)


# ---- answering


def answer(state: State, message: AnswerPlan, now: datetime) -> None:
    state.answers[message.alias] = message.answer
    data = message.model_dump(include={"alias", "revision", "text_id"})
    note(state, EventKind.ANSWER_RECEIVED, now, **data, decision=message.answer)
    if message.answer == "decline" and state.may_branch and message.alias != DEMANDER:
        hole = hole_id(message.revision, message.alias)  # a hole is treated as a residual
        state.residuals[hole] = ResidualOutcome()
        note(state, EventKind.RESIDUAL_OPEN, now, residual=hole)


def replan(state: State, message: Replan, now: datetime) -> Phase:
    """Request a new plan, at most once. The plan leaves out the people in `without`, who declined and are not asked
    again. It includes the changes that the people in `proposals` proposed."""
    state.proposals, state.left_out = message.proposals, message.without
    state.replanned = True
    note(state, EventKind.DECIDED, now, decision="replan", by="person", without=list(message.without))
    return Phase.PLANNING


def answers_complete(state: State, now: datetime) -> Phase | None:
    over = state.concluded or (state.all_answered and not state.open_points and not state.only_residuals)
    return _after_answers(state) if over else None


def _after_answers(state: State) -> Phase:
    """Return the phase after the answers. A process with approved children does not complete before they are
    started."""
    return Phase.AWAITING_CHILDREN if _awaits_children(state) or _child_starting(state) else Phase.COMPLETED


def wait_no_longer(state: State, now: datetime) -> None:
    """Stop waiting for answers or children."""
    state.concluded = True


# ---- children


def branches(state: State) -> dict[str, WantedStep]:
    """Return the steps that start approved children, in every open phase."""
    steps = {}
    for residual, one in state.residuals.items():
        if one.status == "approved":
            branch = BranchInput(process_id=state.process_id, residual=residual)
            summary = f"child for {residual}"
            steps[f"child/{residual}"] = WantedStep(BRANCH, branch, summary, take=partial(_branched, residual))
    return steps


def approve(state: State, message: ApproveResidual, now: datetime) -> None:
    if message.approve:
        state.residuals[message.residual].status = "approved"
        note(state, EventKind.RESIDUAL_APPROVED, now, residual=message.residual)
    else:
        _refuse(state, message.residual, "declined", now)


def _branched(residual: str, state: State, output: BranchOutput, now: datetime) -> None:
    """Record that the child process was announced, or the reason why there is none."""
    if output.child is None:
        _refuse(state, residual, output.reason, now)
        return
    one = state.residuals[residual]
    one.status, one.child = "started", output.child.process_id
    note(state, EventKind.CHILD_STARTED, now, child=one.child, residual=residual)


def _refuse(state: State, residual: str, reason: str, now: datetime) -> None:
    """Record that no child is started. `reason`: `declined` (by the demander), or a reason of `BranchOutput`."""
    state.residuals[residual].status = "refused"
    note(state, EventKind.CHILD_REFUSED, now, residual=residual, reason=reason)


def residual_of(state: State, child: str) -> str | None:
    """Return the started or approved residual of this child process; None if `child` is no child of this process."""
    for residual, one in state.residuals.items():
        if one.status in ("approved", "started") and child_id(state.process_id, residual) == child:
            return residual
    return None


def child_ended(state: State, message: ChildEnded, now: datetime) -> None:
    residual = residual_of(state, message.child)
    assert residual is not None  # otherwise the message was refused
    one = state.residuals[residual]
    one.status, one.child, one.outcome = "ended", message.child, message.outcome
    note(state, EventKind.CHILD_FINISHED, now, child=message.child, residual=residual, outcome=message.outcome)


def _child_starting(state: State) -> bool:
    return any(residual.status == "approved" for residual in state.residuals.values())


def _awaits_children(state: State) -> bool:
    """Whether the process waits for children. Afterwards it revises its plan from theirs, at most once."""
    waits = state.start.settings.wait_for_children and not state.folded
    return waits and (state.children_open or bool(state.completed_children))


def children_seconds(state: State) -> int | None:
    """Return the time to wait for children, in seconds. None if the process starts children and does not wait."""
    return state.start.settings.children_seconds if _awaits_children(state) else None


def children_ended(state: State, now: datetime) -> Phase | None:
    if _child_starting(state):
        return None
    if not _awaits_children(state):
        return Phase.COMPLETED
    if state.children_open and not state.concluded:
        return None
    state.folded = bool(state.completed_children)  # the plan is revised once, from the plans of the children
    return Phase.PLANNING if state.folded else Phase.COMPLETED


# ---- after the end


def remembering(state: State) -> dict[str, WantedStep]:
    """Return the step that strengthens, in the indexes of long profiles, the passages that the process used."""
    long = tuple(alias for alias, seat in sorted(state.seats.items()) if seat.long and state.start.remember)
    what = RememberInput(process_id=state.process_id, aliases=long)
    return _closing(state, REMEMBER, what, "strengthen what was used", optional=True) if long else {}


def cancelling(state: State) -> dict[str, WantedStep]:
    what = CancelChildrenInput(process_id=state.process_id)
    return _closing(state, CANCEL_CHILDREN, what, "cancel the children") if state.cancel_branch else {}


def _closing(
    state: State, contract: ActivityContract[Any, Any], what: ActivityInput, summary: str, *, optional: bool = False
) -> dict[str, WantedStep]:
    """Return a step that runs once after the end of the process; nothing if the step has run."""

    def close(state: State, output: Any, now: datetime) -> None:
        state.closed.append(contract.name)

    step = WantedStep(contract, what, summary, take=close, optional=optional)
    return {} if contract.name in state.closed else {contract.name: step}
