"""Who is to be asked whether a proxy may speak for them, before they get a seat (docs/protocol.md §3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from temporalio import activity

from activities.record import write_outbox
from tongyao.protocol.contracts.process import CONSENT, ConsentInput, ConsentOutput
from tongyao.protocol.model.process import Choice
from tongyao.records.repositories import Repositories


class Consenting:
    def __init__(self, repositories: Repositories) -> None:
        self._library = repositories

    @activity.defn(name=CONSENT.name)
    async def consent(self, what: ConsentInput) -> ConsentOutput:
        await write_outbox(self._library, what)
        return await consent_of(self._library, what.choices)


async def consent_of(repositories: Repositories, choices: Sequence[Choice]) -> ConsentOutput:
    """Who of these is to be asked, and who has refused. Whoever is registered has allowed it: nobody is."""
    return ConsentOutput()
