"""The order in which the people who were found before the rounds are chosen."""

from __future__ import annotations

from typing import Any

from tongyao.protocol.model.events import EventKind
from tongyao.records.repositories import Repositories


async def nearest_first(repositories: Repositories, process_id: str) -> list[str]:
    """Return the people who were found before the rounds, in the order of choice, without erased people."""
    events = await repositories.events.of_kind(process_id, EventKind.FIELD_ACTIVATED)
    found: Any = events[0].data.get("candidates", ()) if events else ()
    left = {candidate.profile_id for candidate in await repositories.seats.candidates(process_id, round_number=0)}
    return [person for person in dict.fromkeys(str(row[0]) for row in found) if person in left]
