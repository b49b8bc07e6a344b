"""The plan, its parts and the deliveries (docs/protocol.md §7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Draft, Value

NOBODY: Final = "nobody"
"""The assignee of a task that nobody is known for."""
OUTSIDE: Final = "outside"
"""The assignee of a task of somebody who is known and not in the room; `Task.outside` says who."""


Standing = Literal["agreed", "decides", "asked", "offered", "unasked"]
"""How a task stands with its doer, in order: both sides said it, the demander is to decide, it asks the doer something, the doer
alone offered it, the doer has not offered it."""


class Absence(Value):
    """One thing that nobody here has: the gaps that say so, oldest first, and the words of the last."""

    gaps: tuple[str, ...]
    target: str
    text: str


class Source(Value):
    """One id that a plan cites, with what stands there."""

    id: str
    text: str = Field(default="", description="Empty where readers of the plan may not see it (`open_record` off).")
    premise: str = Field(default="", description="Of an item with a bearing: the premise alone. Pages show it.")


class Claim(Value):
    """One statement of a plan with the item ids it rests on. Without a source it is `supported=False`, never dropped."""

    text: str
    sources: tuple[str, ...] = ()
    supported: bool = True
    concluded: bool = Field(default=False, description="No source says it; the author concludes it from them.")
    doubt: str = Field(default="", description="Why code doubts that the cited items say this; empty when it does not.")


class Role(Value):
    """One participant's part of the plan."""

    alias: str
    role: str = Field(description="A few words that tell this person from all others here.")
    tier: str = Field(default="", description="data giver, integrator, target user, … where such tiers show.")
    contributions: tuple[Claim, ...] = Field(default=(), description="What they would do or give.")
    benefits: tuple[Claim, ...] = Field(default=(), description="What they would get.")
    costs: tuple[Claim, ...] = Field(default=(), description="What it costs them; what they do not do.")
    dependencies: tuple[Claim, ...] = Field(default=(), description="What must be there first.")

    def claims(self) -> tuple[Claim, ...]:
        return (*self.contributions, *self.benefits, *self.costs, *self.dependencies)


class Task(Value):
    """A piece of work. `prerequisites` are ids of other tasks; together they form no cycle."""

    id: str
    title: str
    assignee: str = Field(
        description="An alias, `P00` (the demander), `outside` (somebody who is not in the room) or `nobody`."
    )
    outside: str = Field(default="", description="With the assignee `outside`: who that is, by function.")
    when: str = Field(default="", description="The date or node it hangs on; empty where the record names none.")
    prerequisites: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    agreed: bool = Field(default=False, description="Both sides said it (docs/protocol.md §7.4).")
    question: bool = Field(default=False, description="It asks its assignee for something that they have not said.")

    @property
    def has_doer(self) -> bool:
        """Whether somebody of this process is to do it: a participant or the demander."""
        return self.assignee not in ("", NOBODY, OUTSIDE)

    @property
    def offered(self) -> bool:
        """Whether a source of it is the assignee's own word: an item of theirs; of the demander, the exchange (E)."""
        return self.has_doer and not self.question and self.assignee in speakers(self.sources)

    @property
    def standing(self) -> Standing:
        """How it stands with its doer; of a task that nobody here does, `unasked`."""
        if self.agreed:
            return "agreed"
        if self.assignee == DEMANDER:
            return "decides"
        if self.question and self.has_doer:
            return "asked"
        return "offered" if self.offered else "unasked"


class Residual(Value):
    """What stayed unresolved: a tension like the first, sharp enough to filter people."""

    id: str = Field(description="`residual/<number>` within its plan.")
    title: str
    tension: Tension
    sources: tuple[str, ...] = ()


class Plan(Value):
    """The whole, in the order in which it is read. `documents.plan_page` lays it out for people."""

    revision: int = Field(default=1, ge=1)
    language: str = "en"
    about: tuple[Claim, ...] = Field(default=(), description="What this is about.")
    panorama: tuple[Claim, ...] = Field(description="What is possible now that was not before.")
    roles: tuple[Role, ...] = ()
    offsets: tuple[Claim, ...] = Field(
        default=(), description="What stands against it: offsets and dissent, both ends."
    )
    residuals: tuple[Residual, ...] = Field(default=(), description="What nobody here has.")
    tasks: tuple[Task, ...] = ()
    order: tuple[Claim, ...] = Field(default=(), description="Sequence and nodes, in words.")
    open_points: tuple[str, ...] = Field(default=(), description="What was open when rounds ended without converging.")
    references: tuple[Source, ...] = Field(default=(), description="Every id cited, and the lines of the tension.")
    unused: tuple[Source, ...] = Field(
        default=(),
        description="Facts that the participants stated and that nothing above cites (`rules.plans.unused`).",
    )
    remarks: tuple[str, ...] = Field(default=(), description="What its author has to say of how it was made.")
    reduced: bool = Field(
        default=False, description="True when it was assembled from the record: no answer could be read."
    )
    removed: tuple[str, ...] = Field(default=(), description="Aliases of those whose part was erased at their request.")
    markdown: str = Field(default="", description="All of it for people, written by `documents.plan_page`.")

    def has_part(self, alias: str) -> bool:
        """Whether it has a claim or a task for `alias`."""
        claims = any(role.alias == alias and role.claims() for role in self.roles)
        return claims or any(task.assignee == alias for task in self.tasks)

    def claims(self) -> tuple[Claim, ...]:
        """Every claim of the plan, in reading order."""
        of_roles = (claim for role in self.roles for claim in role.claims())
        return (*self.about, *self.panorama, *of_roles, *self.offsets, *self.order)

    def cited(self) -> tuple[str, ...]:
        """Every id that a claim, a task or a residual names, each once, in reading order."""
        groups = [one.sources for one in self.claims()]
        groups += [one.sources for one in self.tasks] + [one.sources for one in self.residuals]
        return tuple(dict.fromkeys(source for sources in groups for source in sources))


class Delivery(Value):
    """One participant's share of a plan, in their own language and the second person."""

    alias: str
    plan_revision: int = Field(ge=1)
    language: str
    about: tuple[Claim, ...] = Field(default=(), description="What this is about and what came together.")
    asked: tuple[Claim, ...] = Field(default=(), description="What is asked of them.")
    gains: tuple[Claim, ...] = Field(default=(), description="What they get.")
    conditions: tuple[Claim, ...] = Field(
        default=(), description="What it costs them; their rules; what must be first."
    )
    open: tuple[Claim, ...] = Field(default=(), description="What does not fit or is open, as far as it touches them.")
    remarks: tuple[str, ...] = ()
    markdown: str = Field(default="", description="All of it for people, written by `documents.delivery_page`.")

    def claims(self) -> tuple[Claim, ...]:
        return (*self.about, *self.asked, *self.gains, *self.conditions, *self.open)


class ClaimDraft(Draft):
    text: str
    sources: list[str] = Field(default_factory=list)
    concluded: bool = False


class RoleDraft(Draft):
    alias: str
    role: str = ""
    tier: str = ""
    contributions: list[ClaimDraft] = Field(default_factory=list)
    benefits: list[ClaimDraft] = Field(default_factory=list)
    costs: list[ClaimDraft] = Field(default_factory=list)
    dependencies: list[ClaimDraft] = Field(default_factory=list)


class TaskDraft(Draft):
    id: str
    title: str
    assignee: str = ""
    outside: str = ""
    when: str = ""
    prerequisites: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)
    question: bool = False
    agreed: bool = False


class ResidualDraft(Draft):
    title: str = ""
    transition: str = ""
    initial_state: str = ""
    barriers: list[str] = Field(default_factory=list)
    exchange: str = ""
    sources: list[str] = Field(default_factory=list)


class PlanDraft(Draft):
    about: list[ClaimDraft] = Field(default_factory=list)
    panorama: list[ClaimDraft] = Field(default_factory=list)
    roles: list[RoleDraft] = Field(default_factory=list)
    offsets: list[ClaimDraft] = Field(default_factory=list)
    residuals: list[ResidualDraft] = Field(default_factory=list)
    tasks: list[TaskDraft] = Field(default_factory=list)
    order: list[ClaimDraft] = Field(default_factory=list)
    remarks: SkipJsonSchema[list[str]] = Field(default_factory=list)


class DeliveryDraft(Draft):
    about: list[ClaimDraft] = Field(default_factory=list)
    asked: list[ClaimDraft] = Field(default_factory=list)
    gains: list[ClaimDraft] = Field(default_factory=list)
    conditions: list[ClaimDraft] = Field(default_factory=list)
    open: list[ClaimDraft] = Field(default_factory=list)
    remarks: SkipJsonSchema[list[str]] = Field(default_factory=list)


def speakers(sources: Iterable[str]) -> frozenset[str]:
    """Whose words these ids are: aliases of items; the demander of the exchange, for that is what they offer."""
    found = set()
    for source in sources:
        parts = source.split("/")
        if source == "T/E":
            found.add(DEMANDER)
        elif len(parts) == 3 and parts[1].startswith("P"):
            found.add(parts[1])
    return frozenset(found)
