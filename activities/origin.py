"""Reads turns and observations that a fork takes over from the record of its origin (docs/forks.md).

All reads of an origin's texts are in this module. Model answers are copied from the ledger
(`activities.llm.model_calls`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tongyao.protocol.contracts.process import Fork
from tongyao.protocol.model.observation import Observation
from tongyao.protocol.model.projection import EndpointKind, Outcome, Projection
from tongyao.protocol.model.upcast import read_observation, read_projection
from tongyao.records.process.rounds import ObservationRow, ProjectionRow
from tongyao.records.repositories import Repositories


async def turns_of_origin(
    repositories: Repositories, fork: Fork, round_number: int
) -> Mapping[str, tuple[ProjectionRow, Projection] | None]:
    """Return the turns of a round of the origin, by alias. None: a proxy spoke, and the fork asks it again.

    Before the first round of the fork, no turn is asked again; from that round on, only turns of proxies are.
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
