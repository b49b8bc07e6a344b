"""The phases planning and delivering: the plan, and each participant's part of it (docs/protocol.md §7)."""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.contracts.process import DELIVER, PLAN, DeliverInput, DeliverOutput, PlanInput, PlanOutput
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import answering, children
from tongyao.protocol.life.state import State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.life.transitions import enter
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER, Phase


def wanted(state: State) -> dict[str, Step]:
    if state.phase is Phase.PLANNING:
        revision = state.plan_revision + 1
        plan = PlanInput(
            process_id=state.process_id,
            revision=revision,
            unconverged=state.unconverged,
            without=children.without(state) if state.folded else state.left_out,
            proposals=state.replan.proposals if state.replan else (),
            readable=tuple(alias for alias, seat in sorted(state.seats.items()) if seat.consented),
            children=children.completed(state) if state.folded else (),
        )
        return {
            f"plan/{revision}": Step(PLAN, plan, f"plan {revision} · {len(state.present)} people, {state.round} rounds")
        }
    if state.phase is Phase.DELIVERING:
        aliases = tuple(alias for alias in state.present if alias not in state.left_out)
        deliver = DeliverInput(process_id=state.process_id, revision=state.plan_revision, aliases=aliases)
        return {
            f"deliver/{state.plan_revision}": Step(
                DELIVER, deliver, f"deliver plan {state.plan_revision} · {len(aliases)} people"
            )
        }
    return {}


def begin(state: State, now: datetime) -> None:
    state.concluded = False
    state.deciding_cause = None
    enter(state, Phase.PLANNING, now)


def planned(state: State, output: PlanOutput, now: datetime) -> None:
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
        children.open_residuals(state, output.residuals, now)
    enter(state, Phase.DELIVERING, now)


def delivered(state: State, output: DeliverOutput, now: datetime) -> None:
    for alias in dict.fromkeys((*output.delivered, DEMANDER)):
        note(state, EventKind.DELIVERY_READY, now, urgent=False, alias=alias, revision=state.plan_revision)
    if state.asked_for_answers and not state.folded:
        answering.ask(state, now)
    else:
        children.wait_or_complete(state, now)
