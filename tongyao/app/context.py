"""The context of all use cases: the records, the Temporal client, and the implementations that `runtime` chose."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

from tongyao.app.gateway_options import GatewayOptions
from tongyao.app.notifications.notifier import Notifier
from tongyao.app.people.profile_source import ProfileSourceFactory
from tongyao.protocol.contracts.process import FairBy
from tongyao.protocol.model.process_settings import DAY, ProcessSettings
from tongyao.protocol.model.requests import FormulationRequest
from tongyao.protocol.model.tension import Tension, TensionDraft
from tongyao.records.budgets import DayBudgets
from tongyao.records.people.consents import ConsentQuotas
from tongyao.records.repositories import Repositories
from tongyao.single_flight import SingleFlight

if TYPE_CHECKING:
    from temporalio.client import Client

    from tongyao.app.messaging.message_relay import MessageRelay
    from tongyao.protocol.life.state import State

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
"""Addresses at which only the machine itself reaches a gateway."""


class Ceilings(BaseModel):
    """The settings `TONGYAO_MOST__…`: limits for process settings. Commands on the machine are not limited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turn_seconds: int = Field(default=30 * DAY, ge=1, description="Longest turn of a person, in seconds.")
    process_seconds: int = Field(
        default=365 * DAY, ge=1, description="Longest time of a process, and of every other deadline, in seconds."
    )
    max_rounds: int = Field(default=10, ge=2, description="Most rounds before the demander decides.")
    depth_limit: int = Field(default=3, ge=0, description="Most generations of children.")
    token_budget: int = Field(default=20_000_000, ge=1, description="Highest token budget of a tree of processes.")
    cost_budget: Decimal = Field(
        default=Decimal(200), gt=0, description="Highest budget of a tree of processes, in US dollars."
    )

    def of(self, setting: str) -> int | Decimal | None:
        """Return the highest permitted value of a process setting; None if it has no limit."""
        if setting in type(self).model_fields:
            most: int | Decimal = getattr(self, setting)
            return most
        return self.process_seconds if setting.endswith("_seconds") else None


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
    """The intent field, as use cases call it."""

    async def relevant(
        self, needs: Sequence[str], *, scene: str, top: int, excluded: Sequence[str]
    ) -> Sequence[Sequence[FoundPerson]]:
        """Return for each raw text in `needs` the nearest people, best first."""
        ...

    async def perspectives(
        self, tension: Tension, *, scene: str, top: int, excluded: Sequence[str]
    ) -> Mapping[str, Sequence[FoundPerson]]:
        """Return the nearest people for each perspective, best first."""
        ...

    async def near_profile(self, profile_id: str, *, top: int) -> Sequence[FoundPerson]:
        """Return the people nearest to a profile in its own scene, without the profile itself."""
        ...


class StandingSearch(PeopleSearch, Protocol):
    """The intent field, as the search for standing tensions calls it."""

    async def answered_by(
        self, tension: Tension, *, scene: str, people: Collection[str], excluded: Sequence[str]
    ) -> Sequence[FoundPerson]:
        """Return those of `people` who are among the best of the scene for a tension, each once."""
        ...

    async def tensions_near(
        self, tensions: Mapping[str, str], *, scene: str, people: Collection[str]
    ) -> Mapping[str, set[str]]:
        """Return for each tension id the people for whom `answered_by` can find a match. `tensions`: text by id."""
        ...

    def own_words(self, text: str, tensions: Mapping[str, Tension]) -> Sequence[Any]:
        """Return the passages of a profile that match these tensions (`tension`, `part`, `start`, `end`), nearest
        first. The result depends on no other profile."""
        ...


class PersonalDataStore(Protocol):
    """A store of personal data outside the tables that an erasure clears, such as an index or a memory."""

    async def forget(self, owner: str) -> None:
        """Delete all data of this person. Idempotent."""
        ...


RequestRecitation = Callable[[str, int], Awaitable[None]]
"""Takes a profile id and a version. Starts the indexing of a long profile in the background (docs/highway.md)."""


class IntentReader(Protocol):
    """The engine that formulates intents, called before a process starts. Calls count for the person's day budget."""

    def most(self, request: FormulationRequest) -> Decimal:
        """Return the highest possible cost of reading this request, in US dollars."""
        ...

    def read(self, request: FormulationRequest, *, person: str) -> AsyncIterator[TensionDraft]:
        """Yield the partial drafts, and at last the complete draft. Raises `Unavailable`."""
        ...

    def suggest(self, request: FormulationRequest, *, person: str) -> AsyncIterator[TensionDraft]:
        """Like `read`, for a profile alone. `barriers` has questions, `quotes` their passages. Raises `Unavailable`."""
        ...


class CallAnswers(Protocol):
    """Checks, with the rules of the engines, answers to model calls that come from outside."""

    def schema(self, step: str) -> Mapping[str, object]:
        """Return the JSON schema of a step's answers."""
        ...

    def problem_with(self, step: str, text: str) -> str:
        """Return the fault that makes a text unusable as an answer of a step. Empty if there is none."""
        ...


@dataclass(frozen=True)
class OpenIDFlow:
    """One sign-in by OpenID Connect. `state`, `nonce` and `verifier` (of PKCE) belong to one browser. `redirect_uri`:
    the page to which the browser returns."""

    redirect_uri: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True)
class OpenIDAccount:
    """An account at the OpenID provider. `shown`: display name. `operator`: whether it is in the operators' group."""

    subject: str
    shown: str
    operator: bool


class OpenIDProvider(Protocol):
    """The OpenID provider of the settings. `label`: display name. `operator_hours`: longest session of an operator."""

    issuer: str
    label: str
    operator_hours: int

    async def authorization_url(self, flow: OpenIDFlow) -> str:
        """Return the provider's URL to which a browser is sent. Raises `Unavailable`."""
        ...

    async def account(self, flow: OpenIDFlow, answer: str) -> OpenIDAccount:
        """Return the account. `answer`: query string of the redirect. Raises `Unavailable`, `NotSignedIn`."""
        ...


@dataclass(frozen=True)
class AppContext:
    """The first argument of use cases; those that only read the records take `Repositories` instead.

    Without `people_search`, people can be listed but not searched.

    - `process_defaults`: default settings of new processes. `day_budgets`: the limits of model calls per day.
    - `remember`: whether the Highway remembers processes. `intent_reader`: None if its engine is free or unknown.
    - `notifiers`: by kind of channel. `profile_sources`: the clients of people's own agents, by kind of platform.
    - `call_answers`: None if no calls are answered here. `delegates`: whether any model call is answered from outside.
    - `models_cost`: whether any step calls a paid service. `fair_by`: the unit among which workers are shared evenly.
      `fair_salt`: a secret that is mixed into its name, which Temporal shows.
    - `public_url`, `gateway_host`, `behind_proxy`: the settings of these names. The gateway answers only to the host
      names in them.
    - `temporal_ui`: URL of the workflows in Temporal's Web UI, or empty. `openid`: None if OpenID Connect is off.
    """

    repositories: Repositories
    client: Client
    options: GatewayOptions = field(default_factory=GatewayOptions)
    process_defaults: ProcessSettings = field(default_factory=ProcessSettings)
    ceilings: Ceilings = field(default_factory=Ceilings)
    consent_quotas: ConsentQuotas = field(default_factory=ConsentQuotas)
    remember: bool = False
    profile_max_chars: int = 2_000_000
    request_recitation: RequestRecitation | None = None
    people_search: StandingSearch | None = None
    intent_reader: IntentReader | None = None
    models_cost: bool = True
    delegates: bool = False
    notifiers: Mapping[str, Notifier] = field(default_factory=dict)
    openid: OpenIDProvider | None = None
    profile_sources: Mapping[str, ProfileSourceFactory] = field(default_factory=dict)
    personal_data_stores: Sequence[PersonalDataStore] = ()
    temporal_ui: str = ""
    day_budgets: DayBudgets = field(default_factory=DayBudgets)
    public_url: str = ""
    gateway_host: str = "127.0.0.1"
    behind_proxy: bool = False
    call_answers: CallAnswers | None = None
    fair_by: FairBy = "demander"
    fair_salt: bytes = field(default=b"", repr=False)

    @cached_property
    def relay(self) -> MessageRelay:
        from tongyao.app.messaging.message_relay import MessageRelay

        return MessageRelay(self.repositories, self.client)

    @cached_property
    def states(self) -> SingleFlight[State]:
        """Cached states of open processes, so many readers query a workflow once. They contain no texts."""
        return SingleFlight(keep=200, seconds=2.0)

    @cached_property
    def backlog_seconds(self) -> SingleFlight[float]:
        """Cached number of seconds that the oldest model step has waited for a worker (`app/quotas.py`)."""
        return SingleFlight(keep=1, seconds=5.0)

    @property
    def registration_open(self) -> bool:
        """Whether anybody may join by introducing themselves."""
        if self.options.open_registration is not None:
            return self.options.open_registration
        return self.gateway_host in LOOPBACK and not self.behind_proxy
