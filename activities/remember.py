"""Adds to the Highway counts of long profiles what a process used (docs/highway.md). Stores no text of the tension."""

from __future__ import annotations

from temporalio import activity

from activities.dependencies import Deps
from activities.record import write_outbox
from tongyao.protocol.contracts.process import REMEMBER, RememberInput
from tongyao.protocol.model.record import Participant, Record


class Remembering:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=REMEMBER.name)
    async def remember(self, what: RememberInput) -> None:
        """For each participant named: the quoted evidence, with the tension's parts as queries."""
        await write_outbox(self._deps.repositories, what)
        memory, record = self._deps.memory, await self._deps.repositories.record(what.process_id)
        if memory is None or record.tension is None:
            return
        queries = tuple(record.tension.targets().values())
        for alias in what.aliases:
            participant = record.participant(alias)
            spans = _quoted(record, participant)
            if participant.profile is not None and spans:
                await memory.strengthen(participant.profile, what.process_id, queries, spans)


def _quoted(record: Record, participant: Participant) -> list[tuple[int, int]]:
    said = (one for one in record.projections if one.alias == participant.alias)
    spans = (span for one in said for item in one.items for span in item.spans if span.source == "profile")
    return sorted({(span.start, span.end) for span in spans})
