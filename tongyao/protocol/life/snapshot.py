"""The row and the inbox of a process, computed from its state (docs/protocol.md §11.3)."""

from __future__ import annotations

from tongyao.protocol.model.events import Ask, Snapshot, Waiting
from tongyao.protocol.model.process import DEMANDER, Phase, State
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.rules.lineage import hole_of


def snapshot(state: State) -> Snapshot:
    return Snapshot(
        process_id=state.process_id,
        seq=state.seq,
        phase=state.phase,
        round=state.round,
        waiting=state.waiting,
        grade=state.tension.grade.value if state.tension else "",
        tension_text_id=state.tension.text_id if state.tension else "",
        suspended_reason=state.suspended_reason,
        deadline=state.due,
        tokens=state.spent.tokens,
        cost=str(state.spent.cost),
        inbox=asks(state),
    )


def asks(state: State) -> tuple[Waiting, ...]:
    """Everything that waits for somebody now. Residuals stay open beside whatever the phase itself asks."""
    residuals = tuple(_residual(residual) for residual in state.undecided)
    turns = tuple(
        Waiting(ask=Ask.PROJECTION, alias=turn.alias, round=turn.round, due=turn.due) for turn in state.waiting_for
    )
    match state.phase:
        case Phase.CONFIRMING:
            return (Waiting(ask=Ask.CONFIRM_TENSION, alias=DEMANDER, due=state.due),)
        case Phase.SELECTING if state.selected is None:
            return (Waiting(ask=Ask.SELECT_PARTICIPANTS, alias=DEMANDER, due=state.due),)
        case Phase.CRYSTALLIZING:
            return turns
        case Phase.DECIDING:
            return (Waiting(ask=Ask.DECISION, alias=DEMANDER, round=state.round, due=state.due),)
        case Phase.ANSWERING:
            answers = tuple(
                Waiting(ask=Ask.ANSWER, alias=alias, round=state.plan_revision, due=state.due)
                for alias in people(state)
                if alias not in state.answers
            )
            decision = Waiting(ask=Ask.DECISION, alias=DEMANDER, round=state.plan_revision, due=state.due)
            return (*residuals, *answers, *((decision,) if state.decline_open else ()))
        case Phase.AWAITING_CHILDREN:
            return residuals
        case Phase.SUSPENDED:
            return (Waiting(ask=Ask.RESUME, alias=""), *turns)
        case _:
            return ()


def _residual(residual: str) -> Waiting:
    last = residual.rsplit("/", 1)[-1]
    ask = Ask.RESIDUAL if hole_of(residual) is None else Ask.HOLE
    return Waiting(ask=ask, alias=DEMANDER, round=int(last.lstrip("P")), subject=residual)


def people(state: State) -> tuple[str, ...]:
    """Aliases in the room that a person or their own agent speaks for."""
    return tuple(alias for alias in state.present if state.seats[alias].endpoint is not EndpointKind.PROXY)
