"""What everything in this room works with, handed in from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tongyao.gateway.door import Door
from tongyao.gateway.options import GatewayOptions
from tongyao.gateway.registering import Registering
from tongyao.gateway.starting import Starting
from tongyao.protocol.tension import Tension
from tongyao.records.library import Library
from tongyao.records.room import CandidateRow


class Search(Protocol):
    """Who in a scene is near a tension: the field, as this room knows it."""

    async def discover(
        self, tension: Tension, *, scene: str, limit: int, excluded: Sequence[str]
    ) -> Sequence[CandidateRow]:
        """At most `limit` people, best first within each perspective."""
        ...


@dataclass(frozen=True)
class Gateway:
    """The doors and the records. Without `search`, people can be listed but not looked for."""

    library: Library
    starting: Starting
    registering: Registering
    door: Door
    options: GatewayOptions = GatewayOptions()
    search: Search | None = None
