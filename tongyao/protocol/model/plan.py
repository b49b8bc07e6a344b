"""The plan, its parts and the deliveries (docs/protocol.md §7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from tongyao.protocol.model.ids import speaker_of
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Draft, Value

NOBODY: Final = "nobody"
"""The assignee of a task for which nobody is known."""
OUTSIDE: Final = "outside"
"""The assignee of a task for somebody who is known and not in the room. `Task.outside` names that person."""
SCHEMA_ID: Final = "https://tongyao.dev/schemas/plan.json"


TaskStanding = Literal["agreed", "decides", "asked", "offered", "unasked"]
"""How far a task is agreed. `agreed`: the assignee and another person spoke of the task (docs/protocol.md §7.4).
`decides`: the demander decides. `asked`: the task is a question to the assignee. `offered`: only the assignee spoke of
it. `unasked`: the assignee has not spoken of it."""


class Source(Value):
    """One id that a plan cites, with its text."""

    id: str
    text: str = Field(default="", description="Empty where readers of the plan may not see it (`open_record` off).")


class Claim(Value):
    """One statement of a plan and the ids of its sources. A statement without sources is kept with
    `supported=False`."""

    text: str
    sources: tuple[str, ...] = ()
    supported: bool = True
    concluded: bool = Field(default=False, description="No source says it; the author concludes it from them.")
    doubt: str = Field(default="", description="Why code doubts that the cited items say this; empty when it does not.")


class PlanRole(Value):
    """One participant's part of the plan, besides their tasks."""

    alias: str
    role: str = Field(description="A few words that tell this person from all others here.")
    conditions: tuple[Claim, ...] = Field(
        default=(), description="What holds for them whatever is done: when they are there, what they do not do."
    )


class Task(Value):
    """A piece of work. `prerequisites`: ids of other tasks, without cycles."""

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
        """Whether the assignee is in this process: a participant or the demander."""
        return self.assignee not in ("", NOBODY, OUTSIDE)

    @property
    def offered(self) -> bool:
        """Whether the task cites the assignee's own words: one of their items, or the line E for the demander."""
        return self.has_doer and not self.question and self.assignee in speakers(self.sources)

    @property
    def standing(self) -> TaskStanding:
        """How far the task is agreed. A task whose assignee is not in this process is `unasked`."""
        if self.agreed:
            return "agreed"
        if self.assignee == DEMANDER:
            return "decides"
        if self.question and self.has_doer:
            return "asked"
        return "offered" if self.offered else "unasked"


class Residual(Value):
    """A residual tension: an unresolved part of the plan, written as a tension, for which people can be searched."""

    id: str = Field(description="`residual/<number>` within its plan.")
    title: str
    tension: Tension
    sources: tuple[str, ...] = ()


class Plan(Value):
    """The whole plan, in reading order. `documents.plan_page` makes its Markdown page."""

    revision: int = Field(default=1, ge=1)
    language: str = "en"
    date: Claim | None = Field(default=None, description="The date that matters, and what hangs on it.")
    possible: tuple[Claim, ...] = Field(default=(), description="What is possible now, and through what.")
    roles: tuple[PlanRole, ...] = ()
    tasks: tuple[Task, ...] = Field(default=(), description="What is done or settled, in that order.")
    residuals: tuple[Residual, ...] = Field(default=(), description="What nobody here has.")
    offsets: tuple[Claim, ...] = Field(default=(), description="Offsets and dissent, with both sides.")
    references: tuple[Source, ...] = Field(
        default=(), description="All cited ids and the lines of the tension, with their words."
    )
    unused: tuple[Source, ...] = Field(default=(), description="Valid items and open gaps that nothing above cites.")
    remarks: tuple[str, ...] = Field(default=(), description="The planner's notes on how the plan was made.")
    reduced: bool = Field(
        default=False, description="True when it was assembled from the record: no answer could be read."
    )
    removed: tuple[str, ...] = Field(default=(), description="Aliases of those whose part was erased at their request.")
    markdown: str = Field(default="", description="All of it for people, written by `documents.plan_page`.")

    def has_part(self, alias: str) -> bool:
        """Whether the plan has a claim or a task for `alias`."""
        claims = any(role.alias == alias and role.conditions for role in self.roles)
        return claims or any(task.assignee == alias for task in self.tasks)

    def claims(self) -> tuple[Claim, ...]:
        """Return every claim of the plan, in reading order."""
        dates = () if self.date is None else (self.date,)
        return (*dates, *self.possible, *(claim for role in self.roles for claim in role.conditions), *self.offsets)

    def cited(self) -> tuple[str, ...]:
        """Return every id that a claim, a task or a residual cites, each once, in reading order."""
        parts: tuple[Claim | Task | Residual, ...] = (*self.claims(), *self.tasks, *self.residuals)
        return tuple(dict.fromkeys(source for part in parts for source in part.sources))


class Delivery(Value):
    """One participant's part of a plan, in their own language and the second person."""

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
    conditions: list[ClaimDraft] = Field(default_factory=list)


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
    date: ClaimDraft = ClaimDraft(text="")
    possible: list[ClaimDraft] = Field(default_factory=list)
    roles: list[RoleDraft] = Field(default_factory=list)
    tasks: list[TaskDraft] = Field(default_factory=list)
    residuals: list[ResidualDraft] = Field(default_factory=list)
    offsets: list[ClaimDraft] = Field(default_factory=list)
    remarks: SkipJsonSchema[list[str]] = Field(default_factory=list)


class DeliveryDraft(Draft):
    about: list[ClaimDraft] = Field(default_factory=list)
    asked: list[ClaimDraft] = Field(default_factory=list)
    gains: list[ClaimDraft] = Field(default_factory=list)
    conditions: list[ClaimDraft] = Field(default_factory=list)
    open: list[ClaimDraft] = Field(default_factory=list)
    remarks: SkipJsonSchema[list[str]] = Field(default_factory=list)


def speakers(sources: Iterable[str]) -> frozenset[str]:
    """Return the aliases of the people whose words the sources are. The exchange (E) counts as the demander's offer."""
    return frozenset(DEMANDER if source == "T/E" else speaker_of(source) for source in sources) - {""}


def plan_schema() -> dict[str, Any]:
    """Return the published JSON Schema (2020-12) of a plan."""
    schema = Plan.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **schema}
