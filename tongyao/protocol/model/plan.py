"""The plan, its parts and the deliveries (docs/protocol.md §7)."""

from __future__ import annotations

from pydantic import Field

from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Draft, Value


class Claim(Value):
    """One statement of a plan with the item ids it rests on. Without a source it is `supported=False`, never dropped."""

    text: str
    sources: tuple[str, ...] = ()
    supported: bool = True
    doubt: str = Field(default="", description="Why code doubts that the cited items say this; empty when it does not.")


class Role(Value):
    """One participant's part of the plan."""

    alias: str
    role: str
    tier: str = Field(default="", description="data giver, integrator, target user, … where such tiers show.")
    contributions: tuple[Claim, ...] = ()
    benefits: tuple[Claim, ...] = ()
    costs: tuple[Claim, ...] = ()
    dependencies: tuple[Claim, ...] = ()


class Task(Value):
    """A piece of work. `prerequisites` are ids of other tasks; together they form no cycle."""

    id: str
    title: str
    assignee: str = Field(description="An alias, `P00` for the demander, or empty when nobody is there for it.")
    prerequisites: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    agreed: bool = Field(default=False, description="False: offered by one side only (docs/protocol.md §7.4).")


class Residual(Value):
    """What stayed unresolved: a tension like the first, sharp enough to filter people."""

    id: str = Field(description="`residual/<number>` within its plan.")
    title: str
    tension: Tension
    sources: tuple[str, ...] = ()


class Plan(Value):
    """The whole. Markdown for people and this structure for machines are both kept."""

    revision: int = Field(default=1, ge=1)
    language: str = "en"
    panorama: tuple[Claim, ...]
    roles: tuple[Role, ...] = ()
    tasks: tuple[Task, ...] = ()
    order: tuple[Claim, ...] = Field(default=(), description="Sequence and nodes, in words.")
    offsets: tuple[Claim, ...] = Field(default=(), description="Offsets and dissent, kept rather than smoothed away.")
    residuals: tuple[Residual, ...] = ()
    open_points: tuple[str, ...] = Field(default=(), description="What was open when rounds ended without converging.")
    reduced: bool = Field(
        default=False, description="True when it was assembled from the record: no answer could be read."
    )
    removed: tuple[str, ...] = Field(default=(), description="Aliases of those whose part was erased at their request.")
    markdown: str = ""

    def claims(self) -> tuple[Claim, ...]:
        """Every claim of the plan, in reading order."""
        of_roles = (
            claim
            for role in self.roles
            for group in (role.contributions, role.benefits, role.costs, role.dependencies)
            for claim in group
        )
        return (*self.panorama, *of_roles, *self.order, *self.offsets)


class Delivery(Value):
    """One participant's share of a plan, in their own language."""

    alias: str
    plan_revision: int = Field(ge=1)
    language: str
    markdown: str


class ClaimDraft(Draft):
    text: str
    sources: list[str] = Field(default_factory=list)


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
    prerequisites: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)
    agreed: bool = False


class ResidualDraft(Draft):
    title: str = ""
    transition: str = ""
    initial_state: str = ""
    barriers: list[str] = Field(default_factory=list)
    exchange: str = ""
    sources: list[str] = Field(default_factory=list)


class PlanDraft(Draft):
    panorama: list[ClaimDraft] = Field(default_factory=list)
    roles: list[RoleDraft] = Field(default_factory=list)
    tasks: list[TaskDraft] = Field(default_factory=list)
    order: list[ClaimDraft] = Field(default_factory=list)
    offsets: list[ClaimDraft] = Field(default_factory=list)
    residuals: list[ResidualDraft] = Field(default_factory=list)
    markdown: str = ""


class DeliveryDraft(Draft):
    markdown: str = ""
