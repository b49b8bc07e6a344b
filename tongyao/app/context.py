"""What everything in this room works with, handed in from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tongyao.app.erasure import Forgetting
from tongyao.app.message_relay import MessageRelay
from tongyao.app.notifier import Notifier
from tongyao.app.options import GatewayOptions
from tongyao.app.profile_source import SourceKind
from tongyao.app.registration import Registering
from tongyao.app.start import Starting
from tongyao.protocol.model.tension import Tension
from tongyao.records.library import Library


class Found(Protocol):
    """Somebody who was found. `reasons`: which part of what was sought meets which side of the person, strongest first."""

    @property
    def profile_id(self) -> str: ...

    @property
    def perspective(self) -> str: ...

    @property
    def score(self) -> float: ...

    @property
    def reasons(self) -> Sequence[Any]: ...


class Search(Protocol):
    """Who in a scene is near: the field, as this room knows it."""

    async def relevant(
        self, needs: Sequence[str], *, scene: str, top: int, excluded: Sequence[str]
    ) -> Sequence[Sequence[Found]]:
        """For each raw text the nearest people, best first."""
        ...

    async def perspectives(
        self, tension: Tension, *, scene: str, top: int, excluded: Sequence[str]
    ) -> Mapping[str, Sequence[Found]]:
        """Each perspective's own list for a tension, best first."""
        ...

    async def near_profile(self, profile_id: str, *, top: int) -> Sequence[Found]:
        """Who is near a profile in its own scene, without itself."""
        ...


@dataclass(frozen=True)
class Gateway:
    """The doors and the records. Without `search`, people can be listed but not looked for; `notifiers`: by channel.

    `sources`: how people's own agents are asked, by the kind of their platform.
    """

    library: Library
    starting: Starting
    registering: Registering
    relay: MessageRelay
    options: GatewayOptions = field(default_factory=GatewayOptions)
    search: Search | None = None
    notifiers: Mapping[str, Notifier] = field(default_factory=dict)
    sources: Mapping[str, SourceKind] = field(default_factory=dict)
    forgetting: Sequence[Forgetting] = ()
    """What else keeps something of a person, and is told when they are erased."""
