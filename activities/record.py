"""Writes a workflow's outbox to the records, as the first act of a step (docs/protocol.md §11.1). Reads a fork's
origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opentelemetry import trace
from temporalio import activity

from tongyao.protocol.contracts.process import STATE_QUERY, ActivityInput, Fork
from tongyao.protocol.life.state import State
from tongyao.protocol.model.observation import Observation
from tongyao.protocol.model.projection import EndpointKind, Outcome, Projection
from tongyao.protocol.model.upcast import read_observation, read_projection
from tongyao.records.process.rounds import ObservationRow, ProjectionRow
from tongyao.records.repositories import Repositories

_TRACER: Final = trace.get_tracer("tongyao")


async def write_outbox(repositories: Repositories, what: ActivityInput) -> None:
    """Write the outbox that the workflow sent. Idempotent.

    If the workflow was reset or restored to a point before the stored events, or if the records do not know its run,
    its whole state is queried and projected again. Steps then use no data that the run has not produced.
    """
    run_id = activity.info().workflow_run_id or ""
    if what.outbox is not None:
        with _TRACER.start_as_current_span("record", attributes={"tongyao.events": len(what.outbox.events)}):
            went_back = await repositories.journal.write(what.outbox, run_id)
    else:
        went_back = not await repositories.journal.knows(what.process_id, run_id)
    if went_back:
        await _follow_state(repositories, what.process_id, run_id)


async def _follow_state(repositories: Repositories, process_id: str, run_id: str) -> None:
    handle = activity.client().get_workflow_handle(process_id)
    if (await handle.describe()).run_id == run_id:  # otherwise the run of this step has ended
        state = await handle.query(STATE_QUERY, result_type=State)
        await repositories.journal.project_again(state, run_id)


async def turns_of_origin(
    repositories: Repositories, fork: Fork, round_number: int
) -> Mapping[str, tuple[ProjectionRow, Projection] | None]:
    """Return the turns of a round of the origin, by alias. None: the fork asks the proxy again.

    Before the fork's first round, no proxy is asked again. From that round on, every proxy is.
    """
    replaced = {seat.alias for seat in fork.seats if seat.replaced}
    rows = [
        row
        for row in await repositories.rounds.projections(fork.origin)
        if row.round == round_number and row.alias not in replaced
    ]
    texts = await repositories.texts.get_many([row.text_id for row in rows if row.text_id], erased="")
    return {
        row.alias: (row, _said(row, texts.get(row.text_id or "", "")))
        if round_number < fork.round or row.author is not EndpointKind.PROXY or row.outcome is Outcome.LEFT
        else None
        for row in rows
    }


async def observation_of_origin(
    repositories: Repositories, fork: Fork | None, round_number: int
) -> tuple[ObservationRow, Observation] | None:
    """Return the origin's observation of a round before the fork's first round. None: the fork asks the catalyst."""
    if fork is None or round_number >= fork.round:
        return None
    rows = [row for row in await repositories.rounds.observations(fork.origin) if row.round == round_number]
    texts = await repositories.texts.get_many([row.text_id for row in rows], erased="")
    return next(((row, read_observation(texts[row.text_id])) for row in rows if texts[row.text_id]), None)


def speaks_for_themselves(fork: Fork, alias: str) -> bool:
    """Return whether a person or an agent spoke for this seat at the end of the origin."""
    return any(seat.alias == alias and seat.choice.endpoint is not EndpointKind.PROXY for seat in fork.seats)


def _said(row: ProjectionRow, text: str) -> Projection:
    if text:
        return read_projection(text)
    outcome = Outcome.LAPSED if row.text_id else row.outcome
    return Projection(round=row.round, alias=row.alias, outcome=outcome, author=row.author)
