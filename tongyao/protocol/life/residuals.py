"""What becomes of the residual tensions of a plan: a child process for each that is approved (docs/protocol.md §3.6)."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from tongyao.protocol.contracts.process import BRANCH, BranchInput, BranchOutput
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import Residual, State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import child_id, hole_of
from tongyao.protocol.model.messages import ApproveResidual, ChildEnded
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.settings import Residuals

DECLINED = "declined"
"""The reason in the event when the demander said no; the other reasons are those of `BranchOutput`."""


def branches(state: State) -> dict[str, Step]:
    """Children to start: in every phase that is open."""
    steps = {}
    for residual, one in state.residuals.items():
        if one.status == "approved":
            branch = BranchInput(process_id=state.process_id, residual=residual)
            steps[f"child/{residual}"] = Step(
                BRANCH, branch, f"child for {residual}", take=partial(_branched, residual)
            )
    return steps


def leave_open(state: State, names: tuple[str, ...], now: datetime) -> None:
    """A plan left these unresolved: ask the demander, or approve them all, as the settings say.

    What an earlier plan left open and nobody decided on is superseded.
    """
    state.residuals = {name: one for name, one in state.residuals.items() if one.status != "open"}
    if not state.may_branch:
        return
    auto = state.start.settings.residuals is Residuals.AUTO
    for residual in names:
        state.residuals[residual] = Residual(status="approved" if auto else "open")
        if not auto:
            note(state, EventKind.RESIDUAL_OPEN, now, urgent=False, residual=residual)


def approve(state: State, message: ApproveResidual, now: datetime) -> None:
    if message.approve:
        state.residuals[message.residual].status = "approved"
        note(state, EventKind.RESIDUAL_APPROVED, now, residual=message.residual)
    else:
        _refuse(state, message.residual, DECLINED, now)


def _branched(residual: str, state: State, output: BranchOutput, now: datetime) -> None:
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


def without(state: State) -> tuple[str, ...]:
    """Whom the last plan does without: those left out before, and those whose hole a child has filled."""
    filled = {
        hole[1]
        for residual, one in state.residuals.items()
        if one.outcome == Phase.COMPLETED and (hole := hole_of(residual)) is not None
    }
    return tuple(sorted({*state.left_out, *filled}))
