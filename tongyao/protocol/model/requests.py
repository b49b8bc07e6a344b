"""The request of each model step. Only `protocol.rules.request_access` builds requests (docs/protocol.md §6)."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from tongyao.protocol.model.observation import Observation, Statement
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.projection import Item, Projection
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value

Language = Literal["zh", "en"]


def known_language(code: str) -> Language:
    """Return `zh` for `zh`, and `en` for every other language."""
    return "zh" if code == "zh" else "en"


class Piece(Value):
    """A verbatim passage of a source text: `source[start:start + len(text)]`."""

    start: int = Field(ge=0)
    text: str
    labels: tuple[str, ...] = Field(default=(), description="Which parts of the tension it was found for.")


class Material(Value):
    """The part of a profile version that a model reads: the whole text, or retrieved pieces in text order."""

    pieces: tuple[Piece, ...] = ()
    total_chars: int = Field(default=0, ge=0, description="Length of the whole profile, in characters.")

    @classmethod
    def whole(cls, text: str) -> Material:
        return cls(pieces=(Piece(start=0, text=text),), total_chars=len(text))

    @property
    def shown_chars(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)

    @property
    def is_whole(self) -> bool:
        return self.shown_chars == self.total_chars

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The spans of the pieces in the profile. Valid only before names in them are replaced."""
        return tuple((piece.start, piece.start + len(piece.text)) for piece in self.pieces)

    @property
    def text(self) -> str:
        return "\n…\n".join(piece.text for piece in self.pieces)


class Mandate(Value):
    """A person's orders to their proxy. Changes apply from the next model call on (docs/protocol.md §3.5)."""

    may_speak: bool = True
    topics: tuple[str, ...] = Field(default=(), description="Speak of these only; empty: anything in the profile.")
    never: tuple[str, ...] = Field(default=(), description="Words and subjects that are never disclosed.")
    addition: str = Field(default="", max_length=2_000, description="The person's own words to their proxy.")
    answerers: tuple[str, ...] = Field(
        default=(), description="Who may read the profile beside others' to answer model calls, by name."
    )

    @property
    def keeps_profile_back(self) -> bool:
        """Whether only the proxy may read the profile, because other model steps do not apply the mandate's limits."""
        return not self.may_speak or bool(self.topics or self.never)


class Request(Value):
    """The fields of all requests. The day on which the process began is needed to understand relative dates in
    texts."""

    language: Language
    began: date | None = Field(default=None, description="The day on which the process began, in UTC.")


class FormulationRequest(Request):
    """The intent and, if there is one, the demander's profile. Names are already replaced."""

    intent: str
    material: Material | None = None


class EndpointRequest(Request):
    """The request of a proxy's turn. Its only information on others is in the catalyst's valid statements.

    `items`: this participant's own valid items. `stands`: the valid relations and notes, without `sources`. `asked`:
    ids of the gaps that ask this participant now. `words`: the catalyst's words of the last round.
    """

    alias: str
    round: int = Field(ge=1)
    tension: Tension
    material: Material = Material()
    mandate: Mandate = Mandate()
    first: bool = Field(default=True, description="This participant was not asked before.")
    items: tuple[Item, ...] = ()
    stands: tuple[Statement, ...] = ()
    asked: tuple[str, ...] = ()
    words: str = ""
    answers_only: bool = Field(default=False, description="P00 without a seat: only the gaps in `asked` are answered.")
    exhausted: bool = Field(
        default=False, description="The last verdict was `exhausted`, and one does not end the rounds."
    )


class Exchange(Value):
    """One round as the catalyst reads it: the projections in alias order, then the catalyst's observation."""

    round: int = Field(ge=1)
    projections: tuple[Projection, ...]
    observation: Observation | None = None


class CatalystRequest(Request):
    """All rounds so far, without profiles and names."""

    round: int = Field(ge=1)
    tension: Tension
    exchange: tuple[Exchange, ...] = Field(description="Oldest first; the last one is the round to observe.")
    contributors: tuple[str, ...] = Field(description="Aliases that have contributed so far, the demander left out.")
    strategy: str = Field(default="", description="The demander's wish for attention; lifts no constraint.")
    verdict_counts: bool = Field(description="True from round 3.")


class ChildPlan(Value):
    """The plan of a completed child process, which the parent's next plan takes in."""

    process: str
    title: str
    plan: Plan


class PlannerRequest(Request):
    """The whole record, and the profiles that the planner may read under their owners' mandates."""

    tension: Tension
    exchange: tuple[Exchange, ...]
    aliases: tuple[str, ...] = Field(description="The contributors the plan must speak of, in alias order.")
    materials: dict[str, Material] = Field(default_factory=dict)
    converged: bool = Field(default=True, description="Whether the rounds ended because nothing new came.")
    without: tuple[str, ...] = Field(default=(), description="Aliases that declined: a re-plan does without them.")
    proposals: dict[str, str] = Field(
        default_factory=dict, description="Alias → what they proposed in answer to the plan before, to be taken up."
    )
    children: tuple[ChildPlan, ...] = ()
    revision: int = Field(default=1, ge=1)


class DeliveryRequest(Request):
    """One participant's part of a finished plan. The plan's references contain the texts of all sources."""

    alias: str
    plan: Plan
