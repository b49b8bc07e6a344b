"""The record of one process, with marks in place of names. `rules.read_access` makes each party's view of the
record."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from tongyao.protocol.model.observation import Observation
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.model.process import DEMANDER, Phase, ProfileRef
from tongyao.protocol.model.projection import EndpointKind, Item, Projection
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value


class Participant(Value):
    """A person and their alias. `identities`: strings that identify the person: name, e-mail address, phone, handle.

    `erased`: the person's data was erased on request. Their name is not shown to anybody.
    """

    alias: str
    profile: ProfileRef | None = None
    identities: tuple[str, ...] = ()
    language: Language = "en"
    endpoint: EndpointKind = EndpointKind.PROXY
    active: bool = True
    erased: bool = False

    @property
    def shown_name(self) -> str:
        """The name, or else the profile id, that others read after identities are disclosed; empty after an erasure."""
        if self.erased:
            return ""
        name = next((name for name in self.identities if name and "@" not in name and "/" not in name), "")
        return name or (self.profile.profile_id if self.profile else "")


class EarlierAnswer(Value):
    """One person's answer to a replaced plan. `words`: the text of the answer."""

    revision: int
    alias: str
    decision: str
    words: str = ""


class Record(Value):
    """All contributions, observations and plans of one process so far. Projections and observations: oldest first.

    A record that is read for certain people (`Repositories.record`, `own`) contains their own words without marks.
    """

    process_id: str
    began: date | None = Field(default=None, description="The day on which the process began, in UTC.")
    forked_from: str | None = Field(default=None, description="Of a fork: its origin.")
    fork_round: int = Field(default=0, description="The first round in which the changes of a fork hold.")
    scene: str = ""
    language: Language = "en"
    phase: Phase
    round: int = 0
    open_record: bool = True
    intent: str = ""
    title: str = Field(default="", description="Of a child: what stayed open in its parent, in a line.")
    tension: Tension | None = Field(default=None, description="As others read it; None until it is confirmed.")
    own_tension: Tension | None = Field(default=None, description="As the demander wrote it.")
    tension_is_own: bool = Field(
        default=True,
        description="Whether it was made of the demander's words; a child's is of others' until it is revised.",
    )
    demander: Participant = Field(
        default=Participant(alias=DEMANDER), description="Also among `participants` where the demander takes part."
    )
    participants: tuple[Participant, ...] = ()
    projections: tuple[Projection, ...] = ()
    observations: tuple[Observation, ...] = ()
    plans: tuple[Plan, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    answers: dict[str, str] = Field(default_factory=dict)
    answer_words: dict[str, str] = Field(
        default_factory=dict, description="What people wrote with their answers, by alias."
    )
    earlier_answers: tuple[EarlierAnswer, ...] = Field(
        default=(), description="What was answered to the plans before the one that holds."
    )
    contacts: dict[str, str] = Field(
        default_factory=dict, description="What each tells those who committed: how to reach them; by alias."
    )

    @property
    def demanders_tension(self) -> Tension | None:
        """The tension as the demander reads it: without marks if the record was read for the demander."""
        return self.own_tension if self.own_tension is not None and self.tension_is_own else self.tension

    def participant(self, alias: str) -> Participant:
        """Return the person with this alias. Raises `KeyError` if there is none."""
        for participant in (self.demander, *self.participants):
            if participant.alias == alias:
                return participant
        raise KeyError(f"{self.process_id} has no {alias}")

    def contributors(self) -> tuple[str, ...]:
        """Return the aliases with at least one item so far, in order, without the demander."""
        spoke = {projection.alias for projection in self.projections if projection.items}
        return tuple(sorted(spoke - {DEMANDER}))

    def with_parts(self) -> tuple[str, ...]:
        """Return the aliases that get a role in a plan: a seated demander with an item, then the contributors."""
        seated = any(participant.alias == DEMANDER for participant in self.participants)
        spoke = any(projection.alias == DEMANDER and projection.items for projection in self.projections)
        return ((DEMANDER,) if seated and spoke else ()) + self.contributors()

    def items(self) -> tuple[Item, ...]:
        """Return all items of participants, round by round."""
        return tuple(item for projection in self.projections for item in projection.items)

    def item_ids(self) -> dict[str, str]:
        """Return the texts of lines of the tension, items, relations and notes, by id: `T/B1`, `R1/P01/1`, `R1/r1`."""
        known: dict[str, str] = {}
        if self.tension is not None:
            known |= {f"T/{name}": text for name, text in self.tension.targets().items()}
        known |= {item.id: item.text for item in self.items()}
        for observation in self.observations:
            known |= observation.texts()
        return known
