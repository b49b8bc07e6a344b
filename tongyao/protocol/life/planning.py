"""The phases planning and delivering: the plan, and each participant's part of it (docs/protocol.md §7)."""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.contracts.process import DELIVER, PLAN, DeliverInput, DeliverOutput, PlanInput, PlanOutput
from tongyao.protocol.life import residuals
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER, Phase


def open(state: State, now: datetime) -> None:
    state.concluded = False
    state.deciding_cause = None


def open_delivery(state: State, now: datetime) -> Phase | None:
    """The plan of a fork is delivered to nobody."""
    return Phase.COMPLETED if state.start.fork is not None else None


def plan(state: State) -> dict[str, Step]:
    revision = state.plan_revision + 1
    what = PlanInput(
        process_id=state.process_id,
        revision=revision,
        unconverged=state.unconverged,
        without=residuals.without(state) if state.folded else state.left_out,
        proposals=state.replan.proposals if state.replan else (),
        readable=tuple(alias for alias, seat in sorted(state.seats.items()) if seat.consented),
        children=state.completed_children if state.folded else (),
    )
    summary = f"plan {revision} · {len(state.present)} people, {state.round} rounds"
    return {f"plan/{revision}": Step(PLAN, what, summary, take=_planned)}


def deliveries(state: State) -> dict[str, Step]:
    revision = state.plan_revision
    aliases = tuple(alias for alias in state.present if alias not in state.left_out)
    what = DeliverInput(process_id=state.process_id, revision=revision, aliases=aliases)
    summary = f"deliver plan {revision} · {len(aliases)} people"
    return {f"deliver/{revision}": Step(DELIVER, what, summary, take=_delivered)}


def _planned(state: State, output: PlanOutput, now: datetime) -> Phase:
    state.plan_revision += 1
    state.plan_has_parts = output.has_parts
    state.replan = None
    state.answers = {}
    note(
        state,
        EventKind.PLAN_READY,
        now,
        urgent=False,
        revision=state.plan_revision,
        claims=output.claims,
        supported=output.supported,
        residuals=len(output.residuals),
        reduced=output.reduced,
    )
    if not state.folded:  # what came back from children is not sent there again
        residuals.leave_open(state, output.residuals, now)
    return Phase.DELIVERING


def _delivered(state: State, output: DeliverOutput, now: datetime) -> Phase:
    for alias in dict.fromkeys((*output.delivered, DEMANDER)):
        note(state, EventKind.DELIVERY_READY, now, urgent=False, alias=alias, revision=state.plan_revision)
    asks = bool(state.asked_for_answers) or state.only_residuals
    return Phase.ANSWERING if asks and not state.folded else state.after_answers
