"""Adds to the Highway counts of long profiles what a process used (docs/highway.md). Stores no text of the tension."""

from __future__ import annotations

from temporalio import activity

from activities.dependencies import Deps
from activities.record import write_outbox
from tongyao.protocol.contracts.process import REMEMBER, RememberInput
from tongyao.protocol.guards.quoting import find_pieces
from tongyao.protocol.model.record import Record


class Remembering:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=REMEMBER.name)
    async def remember(self, what: RememberInput) -> None:
        """For each participant named: the quoted evidence, with the tension's parts as queries."""
        await write_outbox(self._deps.repositories, what)
        memory, record = self._deps.memory, await self._deps.repositories.record(what.process_id, own=what.aliases)
        if memory is None or record.tension is None:
            return
        queries = tuple(record.tension.targets().values())
        profiles = {alias: profile for alias in what.aliases if (profile := record.participant(alias).profile)}
        texts = await self._deps.repositories.profile_texts(list(profiles.values()))
        for alias, profile in profiles.items():
            if profile in texts and (spans := _quoted(record, alias, texts[profile])):
                await memory.strengthen(profile, what.process_id, queries, spans)


def _quoted(record: Record, alias: str, text: str) -> list[tuple[int, int]]:
    """Return the places in `text` of the passages that items of `alias` quote, in order."""
    said = (turn for turn in record.projections if turn.alias == alias)
    quotes = {quote for turn in said for item in turn.items for quote in item.quotes}
    return sorted({span for quote in quotes for span in find_pieces(text, quote)})
