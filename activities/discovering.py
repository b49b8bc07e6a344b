"""Who should be in the room: asks the field, and keeps what it found with its reasons (docs/field.md)."""

from __future__ import annotations

from temporalio import activity

from activities.deps import Deps
from activities.recording import write_outbox
from tongyao.protocol.contracts import DISCOVER, Candidate, DiscoverInput, DiscoverOutput
from tongyao.protocol.tension import Tension


class Discovering:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=DISCOVER.name)
    async def discover(self, what: DiscoverInput) -> DiscoverOutput:
        """The people near the tension, best first, nobody twice; scores are those of this moment."""
        library = self._deps.library
        await write_outbox(library, what)
        tension = Tension.model_validate_json(await library.texts.get(what.tension_text_id))
        found = await self._deps.field.discover(
            tension, scene=what.scene, limit=what.limit, excluded=[one for one in what.excluded if one]
        )
        await library.room.find(what.process_id, found)
        return DiscoverOutput(
            candidates=tuple(
                Candidate(profile_id=one.profile_id, perspective=one.perspective, score=one.score) for one in found
            )
        )
