"""What every use case is given: the records, the Temporal client, and the implementations that `runtime` chose."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, field_validator
from temporalio.client import Client

from tongyao.app.message_relay import MessageRelay
from tongyao.app.notifications.notifier import Notifier
from tongyao.app.people.profile_source import ProfileSourceFactory
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.model.tension import Tension
from tongyao.records.privacy.signing import Signer
from tongyao.records.repositories import Repositories


class GatewayOptions(BaseModel):
    """The settings `TONGYAO_GATEWAY__…`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    open_registration: bool = Field(default=True, description="Anybody may join by introducing themselves.")
    rate: str = Field(default="240/minute", description="Requests of one token, or of one address without a token.")
    join_rate: str = Field(default="20/hour", description="Registrations from one address.")
    answer_seconds: float = Field(default=8.0, gt=0, le=60, description="How long a message waits for its verdict.")
    private_addresses: bool = Field(
        default=False, description="Webhooks and people's own agents may be inside this network, and without TLS."
    )
    max_body_bytes: int = Field(default=16_000_000, ge=1_000, description="A longer request is refused unread.")
    session_hours: int = Field(default=24, ge=1, le=24 * 30, description="A session of the console lasts so long.")
    token_days: int | None = Field(default=None, ge=1, description="New owner tokens expire after; unset: never.")

    @field_validator("rate", "join_rate")
    @classmethod
    def _is_a_rate(cls, rate: str) -> str:
        from limits import parse  # imported late: the settings of every command hold these options

        parse(rate)  # raises ValueError
        return rate


class FoundPerson(Protocol):
    """A search result. `reasons`: which part of the query matches which facet of the person, strongest first."""

    @property
    def profile_id(self) -> str: ...

    @property
    def perspective(self) -> str: ...

    @property
    def score(self) -> float: ...

    @property
    def reasons(self) -> Sequence[Any]: ...


class PeopleSearch(Protocol):
    """The intent field, as the use cases know it."""

    async def relevant(
        self, needs: Sequence[str], *, scene: str, top: int, excluded: Sequence[str]
    ) -> Sequence[Sequence[FoundPerson]]:
        """For each raw text the nearest people, best first."""
        ...

    async def perspectives(
        self, tension: Tension, *, scene: str, top: int, excluded: Sequence[str]
    ) -> Mapping[str, Sequence[FoundPerson]]:
        """For each perspective the nearest people, best first."""
        ...

    async def near_profile(self, profile_id: str, *, top: int) -> Sequence[FoundPerson]:
        """The people nearest to a profile in its own scene, without itself."""
        ...


class PersonalDataStore(Protocol):
    """Keeps data of people outside the tables that an erasure clears itself: an index, a memory."""

    async def forget(self, owner: str) -> None:
        """Delete everything of this person. Repeating it is harmless."""
        ...


RequestRecitation = Callable[[str, int], Awaitable[None]]
"""Called with a profile id and a version: has a long profile recited in the background (docs/highway.md)."""


@dataclass(frozen=True)
class AppContext:
    """The first argument of every use case. Without `people_search`, people can be listed but not searched.

    `process_defaults`: the installation's settings for new processes. `remember`: processes are remembered by the Highway. `notifiers`: by kind of channel.
    `temporal_ui`: the address of the list of workflows in Temporal's Web UI, where it is known. `day_cost_budget`: in US dollars.
    `profile_sources`: how people's own agents are reached, by kind of platform. `signer`: signs what the relay sends; None: nothing is
    signed, and new processes trust whoever reaches Temporal, as they do where `temporal_authenticated`.
    """

    repositories: Repositories
    client: Client
    options: GatewayOptions = field(default_factory=GatewayOptions)
    process_defaults: ProcessSettings = field(default_factory=ProcessSettings)
    remember: bool = False
    profile_max_chars: int = 2_000_000
    request_recitation: RequestRecitation | None = None
    people_search: PeopleSearch | None = None
    notifiers: Mapping[str, Notifier] = field(default_factory=dict)
    profile_sources: Mapping[str, ProfileSourceFactory] = field(default_factory=dict)
    personal_data_stores: Sequence[PersonalDataStore] = ()
    temporal_ui: str = ""
    day_cost_budget: Decimal | None = None
    signer: Signer | None = None
    temporal_authenticated: bool = False

    @cached_property
    def relay(self) -> MessageRelay:
        """Stores messages and delivers them."""
        return MessageRelay(self.repositories, self.client, self.signer)

    async def signal_key(self) -> str:
        """The public key by which new processes know messages and signals of this installation; empty: they trust all."""
        return "" if self.signer is None or self.temporal_authenticated else await self.signer.public_key()
