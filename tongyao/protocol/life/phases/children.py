"""Child processes, one for each approved residual tension (docs/protocol.md §3.6)."""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.contracts.process import (
    BRANCH,
    CANCEL_CHILDREN,
    REMEMBER,
    BranchInput,
    BranchOutput,
    CancelChildrenInput,
    RememberInput,
)
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import planning
from tongyao.protocol.life.state import Residual, State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.life.transitions import enter
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import ApproveResidual, ChildEnded
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.settings import Residuals
from tongyao.protocol.rules.plans.lineage import child_id, hole_of

DECLINED = "declined"
"""The reason in the event when the demander said no; the other reasons are those of `BranchOutput`."""


def wanted(state: State) -> dict[str, Step]:
    """Children to start while the process lives; after its end, what remains to be done for others."""
    steps = {}
    if not state.phase.ended:
        for residual, one in state.residuals.items():
            if one.status == "approved":
                branch = BranchInput(process_id=state.process_id, residual=residual)
                steps[f"child/{residual}"] = Step(BRANCH, branch, f"child for {residual}")
    elif state.phase is Phase.COMPLETED:
        long = tuple(alias for alias, seat in sorted(state.seats.items()) if seat.long)
        if long and state.start.remember and "remember" not in state.closed:
            remember = RememberInput(process_id=state.process_id, aliases=long)
            steps["remember"] = Step(REMEMBER, remember, "strengthen what was used", optional=True)
    elif state.cancel_branch and "cancel_children" not in state.closed:
        cancel = CancelChildrenInput(process_id=state.process_id)
        steps["cancel_children"] = Step(CANCEL_CHILDREN, cancel, "cancel the children")
    return steps


def open_residuals(state: State, residuals: tuple[str, ...], now: datetime) -> None:
    """A plan left these unresolved: ask the demander, or approve them all, as the settings say.

    What an earlier plan left open and nobody decided on is superseded.
    """
    state.residuals = {name: one for name, one in state.residuals.items() if one.status != "open"}
    if not state.may_branch:
        return
    auto = state.start.settings.residuals is Residuals.AUTO
    for residual in residuals:
        state.residuals[residual] = Residual(status="approved" if auto else "open")
        if not auto:
            note(state, EventKind.RESIDUAL_OPEN, now, urgent=False, residual=residual)


def approve(state: State, message: ApproveResidual, now: datetime) -> None:
    if message.approve:
        state.residuals[message.residual].status = "approved"
        note(state, EventKind.RESIDUAL_APPROVED, now, residual=message.residual)
    else:
        _refuse(state, message.residual, DECLINED, now)


def branched(state: State, residual: str, output: BranchOutput, now: datetime) -> None:
    """The child has started, or there is none, for the reason given."""
    if output.child is None:
        _refuse(state, residual, output.reason, now)
        return
    one = state.residuals[residual]
    one.status, one.child = "started", output.child.process_id
    note(state, EventKind.CHILD_STARTED, now, child=one.child, residual=residual)


def _refuse(state: State, residual: str, reason: str, now: datetime) -> None:
    state.residuals[residual].status = "refused"
    note(state, EventKind.CHILD_REFUSED, now, residual=residual, reason=reason)


def residual_of(state: State, child: str) -> str | None:
    """The residual whose child this is, started or just being started; None: it is no child of this process."""
    for residual, one in state.residuals.items():
        if one.status in ("approved", "started") and child_id(state.process_id, residual) == child:
            return residual
    return None


def ended(state: State, message: ChildEnded, now: datetime) -> None:
    residual = residual_of(state, message.child)
    assert residual is not None  # refused otherwise
    one = state.residuals[residual]
    one.status, one.child, one.outcome = "ended", message.child, message.outcome
    note(state, EventKind.CHILD_FINISHED, now, child=message.child, residual=residual, outcome=message.outcome)


def completed(state: State) -> tuple[str, ...]:
    """Ids of children that completed."""
    return tuple(sorted(one.child for one in state.residuals.values() if one.outcome == Phase.COMPLETED))


def without(state: State) -> tuple[str, ...]:
    """Whom the last plan does without: those left out before, and those whose hole a child has filled."""
    filled = {
        hole[1]
        for residual, one in state.residuals.items()
        if one.outcome == Phase.COMPLETED and (hole := hole_of(residual)) is not None
    }
    return tuple(sorted({*state.left_out, *filled}))


def wait_or_complete(state: State, now: datetime) -> None:
    """Wait for children where that is set, and until every approved one is started; else the process is complete.

    Children that have completed before are folded in from there too, at once.
    """
    starting = any(one.status == "approved" for one in state.residuals.values())
    waits = state.start.settings.wait_for_children and not state.folded
    state.concluded = False
    if waits and (state.children_open or completed(state)):
        enter(state, Phase.AWAITING_CHILDREN, now, seconds=state.start.settings.children_seconds)
    elif starting:
        enter(state, Phase.AWAITING_CHILDREN, now)
    else:
        enter(state, Phase.COMPLETED, now)


def advance(state: State, now: datetime) -> None:
    if state.phase is not Phase.AWAITING_CHILDREN or any(one.status == "approved" for one in state.residuals.values()):
        return
    waits = state.start.settings.wait_for_children and not state.folded
    if state.concluded or not waits or not state.children_open:
        _fold_or_complete(state, now)


def _fold_or_complete(state: State, now: datetime) -> None:
    """The plans of children that completed are folded into one more plan, once."""
    if state.start.settings.wait_for_children and completed(state) and not state.folded:
        state.folded = True
        planning.begin(state, now)
    else:
        enter(state, Phase.COMPLETED, now)
