"""Every claim of a plan has its source, tasks form no cycle, no contributor is forgotten (docs/protocol.md §7). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from tongyao.protocol.guards.naming import named_alias, named_ids
from tongyao.protocol.guards.support import doubt
from tongyao.protocol.model.plan import (
    Claim,
    ClaimDraft,
    Plan,
    PlanDraft,
    Residual,
    ResidualDraft,
    Role,
    RoleDraft,
    Task,
    TaskDraft,
)
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.sizes import cut
from tongyao.protocol.model.tension import MISSING, Lineage, Tension
from tongyao.protocol.rules.lineage import LENS_UNITS


def settle_plan(
    draft: PlanDraft,
    *,
    revision: int,
    language: Literal["zh", "en"],
    contributors: Collection[str],
    known: Mapping[str, str],
    lineage: Lineage,
    open_points: Sequence[str] = (),
    reduced: bool = False,
) -> Plan:
    """The plan in `draft`, as far as the record bears it out.

    - Sources that do not exist are struck; a claim left without one is kept and marked unsupported.
    - Roles of unknown aliases are dropped; a contributor without one gets an empty one, so that nobody is forgotten.
    - Tasks of unknown assignees belong to nobody; prerequisites that are unknown or would close a cycle are dropped.
    - Residuals without a transition are dropped; too long ones are cut lens by lens.

    `known`: every id a source may name, with its text (`Record.item_ids`, and those of children).
    """
    claims = _Claims(known)
    roles = {
        named_alias(role.alias): claims.role(role) for role in draft.roles if named_alias(role.alias) in contributors
    }
    assignable = {*contributors, DEMANDER}
    return Plan(
        revision=revision,
        language=language,
        panorama=claims.all(draft.panorama),
        roles=tuple(roles.get(alias, Role(alias=alias, role="")) for alias in sorted(contributors)),
        tasks=_tasks(draft.tasks, assignable, claims),
        order=claims.all(draft.order),
        offsets=claims.all(draft.offsets),
        residuals=tuple(
            residual
            for number, one in enumerate(draft.residuals, 1)
            if (residual := _residual(one, number, revision, language, claims, lineage)) is not None
        ),
        open_points=tuple(open_points),
        reduced=reduced,
        markdown=draft.markdown,
    )


class _Claims:
    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known

    def sources(self, named: Sequence[str]) -> tuple[str, ...]:
        return named_ids(named, self._known)

    def one(self, draft: ClaimDraft) -> Claim:
        sources = self.sources(draft.sources)
        return Claim(
            text=draft.text.strip(),
            sources=sources,
            supported=bool(sources),
            doubt=doubt(draft.text, [self._known[source] for source in sources]) if sources else "",
        )

    def all(self, drafts: Sequence[ClaimDraft]) -> tuple[Claim, ...]:
        return tuple(self.one(draft) for draft in drafts if draft.text.strip())

    def role(self, draft: RoleDraft) -> Role:
        return Role(
            alias=named_alias(draft.alias),
            role=draft.role.strip(),
            tier=draft.tier.strip(),
            contributions=self.all(draft.contributions),
            benefits=self.all(draft.benefits),
            costs=self.all(draft.costs),
            dependencies=self.all(draft.dependencies),
        )


def _tasks(drafts: Sequence[TaskDraft], assignable: Collection[str], claims: _Claims) -> tuple[Task, ...]:
    unique: dict[str, TaskDraft] = {}
    for draft in drafts:
        if draft.id.strip() and draft.title.strip():
            unique.setdefault(draft.id.strip(), draft)
    prerequisites: dict[str, list[str]] = {}
    for task_id, draft in unique.items():
        prerequisites[task_id] = []
        for wanted in dict.fromkeys(one.strip() for one in draft.prerequisites):
            if wanted in unique and wanted != task_id:
                prerequisites[task_id].append(wanted)
                if _has_cycle(prerequisites):
                    prerequisites[task_id].pop()
    return tuple(
        Task(
            id=task_id,
            title=draft.title.strip(),
            assignee=named_alias(draft.assignee) if named_alias(draft.assignee) in assignable else "",
            prerequisites=tuple(prerequisites[task_id]),
            sources=claims.sources(draft.sources),
            agreed=draft.agreed,
        )
        for task_id, draft in unique.items()
    )


def _has_cycle(prerequisites: Mapping[str, Sequence[str]]) -> bool:
    try:
        TopologicalSorter(prerequisites).prepare()
    except CycleError:
        return True
    return False


def _residual(
    draft: ResidualDraft,
    number: int,
    revision: int,
    language: Literal["zh", "en"],
    claims: _Claims,
    lineage: Lineage,
) -> Residual | None:
    if not draft.transition.strip():
        return None
    residual_id = f"plan/{revision}/residual/{number}"
    barriers = tuple(cut(barrier.strip(), LENS_UNITS) for barrier in draft.barriers if barrier.strip())[:2]
    return Residual(
        id=residual_id,
        title=draft.title.strip() or cut(draft.transition.strip(), 20),
        tension=Tension(
            transition=cut(draft.transition.strip(), LENS_UNITS),
            initial_state=cut(draft.initial_state.strip(), LENS_UNITS) or MISSING,
            barriers=barriers or (MISSING,),
            exchange=cut(draft.exchange.strip(), LENS_UNITS) or MISSING,
            language=language,
            lineage=lineage.model_copy(update={"residual": residual_id}),
        ),
        sources=claims.sources(draft.sources),
    )
