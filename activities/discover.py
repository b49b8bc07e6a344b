"""Asks the field for candidates and stores them with the reasons (docs/field.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from temporalio import activity

from activities.dependencies import Deps
from activities.record import write_outbox
from tongyao.protocol.contracts.process import DISCOVER, PROPOSE, Candidate, DiscoverInput, DiscoverOutput, ProposeInput
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.gap_tension import Lack, lacking
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.process.seats import CandidateRow


class Discovering:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=DISCOVER.name)
    async def discover(self, what: DiscoverInput) -> DiscoverOutput:
        """Return the candidates, best first, each person once. In a child process, people who were not asked in the
        parent come first."""
        repositories = self._deps.repositories
        await write_outbox(repositories, what)
        row = await repositories.processes.get(what.process_id)
        tension = Tension.model_validate_json(await repositories.texts.get(what.tension_text_id))
        await repositories.shared.publish_tension(row)
        parent = row.parent_id
        before = await repositories.lineage.asked_in(parent) if parent else frozenset()
        spoke = await repositories.seats.spoke_for_themselves(parent) if parent else {}
        excluded = [profile for profile in what.excluded if profile]
        found = list(
            await self._deps.field.discover(
                tension, scene=what.scene, limit=what.limit, excluded=[*excluded, *sorted(before)]
            )
        )
        others = list(dict.fromkeys(person.profile_id for person in found))
        if before and len(others) < what.limit:
            again = await self._deps.field.discover(
                tension, scene=what.scene, limit=what.limit - len(others), excluded=[*excluded, *others]
            )
            found += [person.model_copy(update={"rank": person.rank + len(found)}) for person in again]
        await self._keep(row, found)
        return _found(found, spoke)

    @activity.defn(name=PROPOSE.name)
    async def propose(self, what: ProposeInput) -> DiscoverOutput:
        """Return candidates for the open points of the rounds. Each reason has the id of the gap or barrier."""
        repositories = self._deps.repositories
        await write_outbox(repositories, what)
        row = await repositories.processes.get(what.process_id)
        lack = lacking(await repositories.record(row))
        found: Sequence[CandidateRow] = ()
        if lack is not None:
            near = await self._deps.field.discover(
                lack.tension,
                scene=what.scene,
                limit=what.limit,
                excluded=[profile for profile in what.excluded if profile],
            )
            found = [_explained(person, lack, what.round) for person in near]
        await self._keep(row, found, round_number=what.round)
        return _found(found, {})

    async def _keep(self, process: ProcessRow, found: Sequence[CandidateRow], *, round_number: int = 0) -> None:
        """Store the candidates, and hide their names and the demander's name in the texts of the process."""
        repositories = self._deps.repositories
        await repositories.seats.find(process.id, found, round_number=round_number)
        await repositories.shared.hide_people(process, [process.demander, *(one.profile_id for one in found)])


def _explained(found: CandidateRow, lack: Lack, round_number: int) -> CandidateRow:
    reasons = [{**reason, "part": lack.open.get(reason["part"], reason["part"])} for reason in found.reasons]
    return found.model_copy(update={"reasons": reasons, "round": round_number})


def _found(found: Sequence[CandidateRow], spoke: Mapping[str, EndpointKind]) -> DiscoverOutput:
    """Convert the rows. `spoke`: by profile id, the endpoint of people who spoke for themselves in the parent."""
    return DiscoverOutput(
        candidates=tuple(
            Candidate(
                profile_id=person.profile_id,
                perspective=person.perspective,
                score=person.score,
                endpoint=spoke.get(person.profile_id, EndpointKind.PROXY),
            )
            for person in found
        )
    )
