"""The interfaces that activities call. `tongyao.runtime.wiring` chooses the implementations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as default
from typing import Protocol

from activities.llm.model_calls import ModelCalls
from activities.maintain import Indexing, ReciteLevel, RunDuty
from tongyao.protocol.contracts.maintenance import Duty
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.requests import Material
from tongyao.protocol.model.tension import Tension
from tongyao.records.people.consents import ConsentQuotas
from tongyao.records.process.seats import CandidateRow
from tongyao.records.repositories import Repositories


class Retriever(Protocol):
    """Finds the pieces of a long profile that a proxy reads. An extension point (docs/extending.md)."""

    @property
    def name(self) -> str:
        """The name of the retriever in the ledger and the manifest."""
        ...

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension, focus: tuple[str, ...] = ()) -> Material:
        """Return pieces of `text` in text order. Each piece equals `text[start:start + len(piece)]`.

        The pieces are relevant to a text of `focus`, or to `tension` if `focus` is empty. `focus` contains statements
        made since the person's last turn, so the result differs from round to round.
        """
        ...


class ProfileMemory(Protocol):
    """The store of long profiles: the Highway."""

    async def strengthen(
        self, profile: ProfileRef, occasion: str, queries: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> None:
        """Strengthen the index for the passages `spans`, which answered `queries`, once per `occasion`."""
        ...


class Field(Protocol):
    """Finds people for a tension in a scene."""

    async def discover(
        self, tension: Tension, *, scene: str, limit: int, excluded: Sequence[str]
    ) -> Sequence[CandidateRow]:
        """Return candidates with perspective, rank and reasons. The best `limit` people come first."""
        ...


@dataclass(frozen=True)
class Deps:
    """The dependencies of all activities.

    `manifest`: the engines, models and prompts that a process records at its start. `brief`: the retriever for plan
    requests, which contain less of a profile than proxies read; None: `retriever` is used. `duties`: the function of
    each maintenance duty.
    """

    repositories: Repositories
    model_calls: ModelCalls
    retriever: Retriever
    field: Field
    indexing: Indexing | None = None
    memory: ProfileMemory | None = None
    reciting: ReciteLevel | None = None
    manifest: Mapping[str, object] = default(default_factory=dict)
    brief: Retriever | None = None
    consent_quotas: ConsentQuotas = default(default_factory=ConsentQuotas)
    duties: Mapping[Duty, RunDuty] = default(default_factory=dict)
