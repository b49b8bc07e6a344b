"""Checks plans: sources of claims, cycles of tasks, missing contributors and open gaps (docs/protocol.md §7). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from tongyao.protocol.documents.delivery_page import delivery_markdown
from tongyao.protocol.documents.plan_page import body_limit, body_units, length_remark
from tongyao.protocol.guards.checks import Checks, Complaint, complaint
from tongyao.protocol.guards.naming import named_alias, named_ids
from tongyao.protocol.guards.support import claim_of, without_ids
from tongyao.protocol.model.ids import residual_id, speaker_of
from tongyao.protocol.model.plan import (
    NOBODY,
    OUTSIDE,
    Claim,
    ClaimDraft,
    Delivery,
    DeliveryDraft,
    Plan,
    PlanDraft,
    PlanRole,
    Residual,
    ResidualDraft,
    RoleDraft,
    Source,
    Task,
    TaskDraft,
    speakers,
)
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.requests import Language, PlannerRequest
from tongyao.protocol.model.sizes import cut, units
from tongyao.protocol.model.tension import TENSION_UNITS, Lineage, TensionDraft, from_draft, within_limits
from tongyao.protocol.rules.standing import Standing, standing

_QUESTION = re.compile(
    r"(?:say|tell|state|name|answer) (?:whether|if|who|whom|what|which|when|where|how)\b|(?:说明|回答|答复|说清)(?:是否|能否|可否|愿不愿|能不能|会不会|要不要|行不行|谁|多少|几|哪)",
    re.IGNORECASE,
)
"""Matches a task's title that is a question to its assignee, in the wording that the plan's prompt asks for."""
MOST_RESIDUALS: Final = 40
"""Maximum number of residuals of an answer. Each residual is compared with the tensions of its lineage."""
_TITLE_UNITS = 20
"""A residual without a title gets this number of units of its transition as title."""


def settle_plan(
    draft: PlanDraft,
    request: PlannerRequest,
    *,
    lineage: Lineage | None = None,
    hidden: bool = False,
    reduced: bool = False,
) -> Plan:
    """Return the plan in `draft`, as far as the record in `request` supports it.

    - Ids in sentences become sources. A source is a line of the tension, a valid item or statement, or a source of a
      child's plan. Others are struck. A claim left without a source is kept and marked unsupported.
    - Roles of unknown aliases are dropped. A contributor without a role gets an empty one.
    - Tasks are numbered. Tasks of unknown assignees have no assignee. Prerequisites that are unknown or would close a
      cycle are dropped. `agreed` needs sources of the assignee and of another speaker.
    - Residuals without a transition are dropped.
    - Valid items and open gaps that nothing cites are listed as unused.

    Args:
        lineage: of the residual tensions, without their ids.
        hidden: readers may not see the words of others (`open_record` off). The plan then quotes only the tension.
        reduced: whether the draft was assembled from the record.
    """
    state = standing(request.exchange)
    claims = _Claims(request, state)
    people = {*request.aliases, DEMANDER}
    wanted = _unique(draft.tasks, claims)
    tasks = _tasks(wanted, people, claims)
    residuals = [residual for residual in draft.residuals if residual.transition.strip()][:MOST_RESIDUALS]
    claims.steps = {draft_id: number for number, draft_id in enumerate(wanted, 1)}
    roles = {named_alias(role.alias): claims.role(role) for role in draft.roles}
    plan = Plan(
        revision=request.revision,
        language=request.language,
        date=next(iter(claims.all([draft.date])), None),
        possible=claims.all(draft.possible),
        roles=tuple(roles.get(alias, PlanRole(alias=alias, role="")) for alias in sorted(request.aliases)),
        tasks=tasks,
        residuals=tuple(
            _residual(residual, residual_id(request.revision, number), claims, lineage)
            for number, residual in enumerate(residuals, 1)
        ),
        offsets=claims.all(draft.offsets),
        remarks=tuple(draft.remarks),
        reduced=reduced,
    )
    lines = [id for id in claims.known if id.startswith("T/")]
    references = tuple(
        Source(id=id, text="" if hidden and id not in lines else claims.known[id])
        for id in dict.fromkeys((*lines, *plan.cited()))
    )
    unused = () if hidden else _unused(state, people, plan.cited())
    remark = length_remark(plan, len(request.aliases))
    remarks = (*plan.remarks, remark) if remark else plan.remarks
    return plan.model_copy(update={"references": references, "unused": unused, "remarks": remarks})


def _every_claim_has_a_source(draft: PlanDraft, request: PlannerRequest) -> Iterable[Complaint]:
    language = request.language
    for claim in settle_plan(draft, request).claims():
        if not claim.supported:
            text = complaint(language, "claim_without_source", claim=claim.text)
            yield Complaint(text=text, reason="claim_without_source")


def _residuals_are_no_longer_than_a_tension(draft: PlanDraft, request: PlannerRequest) -> Iterable[Complaint]:
    for residual in draft.residuals:
        parts = (residual.transition, residual.initial_state, *residual.barriers, residual.exchange)
        if (size := sum(map(units, parts))) > TENSION_UNITS:
            text = complaint(
                request.language, "residual_too_long", title=residual.title, units=size, limit=TENSION_UNITS
            )
            yield Complaint(text=text, reason="residual_too_long")


def _the_body_is_short(draft: PlanDraft, request: PlannerRequest) -> Iterable[Complaint]:
    limit = body_limit(request.language, len(request.aliases))
    if (size := body_units(settle_plan(draft, request))) > limit:
        text = complaint(request.language, "plan_too_long", units=size, limit=limit)
        yield Complaint(text=text, reason="plan_too_long")


PLAN_CHECKS: Final[Checks[PlanDraft, PlannerRequest]] = (
    _every_claim_has_a_source,
    _residuals_are_no_longer_than_a_tension,
    _the_body_is_short,
)
"""The second answer replaces the first completely. Faults that remain are marked by `settle_plan` or counted."""


class _Claims:
    """Makes claims from drafts. `known`: the text of every id that may be a source."""

    def __init__(self, request: PlannerRequest, state: Standing) -> None:
        self.language = request.language
        self.steps: Mapping[str, int] = {}
        self.known = {f"T/{name}": text for name, text in request.tension.targets().items()}
        self.known |= {item.id: item.text for item in state.valid_items}
        self.known |= {statement.id: statement.text for statement in state.statements}
        self.known |= {source.id: source.text for child in request.children for source in child.plan.references}

    def sources(self, named: Sequence[str]) -> tuple[str, ...]:
        return named_ids(named, self.known)

    def words(self, text: str) -> str:
        """Return `text` without ids."""
        return without_ids(text, self.language, self.steps)[0]

    def all(self, drafts: Iterable[ClaimDraft]) -> tuple[Claim, ...]:
        made = (claim_of(draft, self.known, self.language, steps=self.steps) for draft in drafts)
        return tuple(claim for claim in made if claim.text)

    def role(self, draft: RoleDraft) -> PlanRole:
        return PlanRole(
            alias=named_alias(draft.alias),
            role=self.words(draft.role),
            conditions=self.all(draft.conditions),
        )


def _unique(drafts: Sequence[TaskDraft], claims: _Claims) -> dict[str, TaskDraft]:
    """Return the tasks that have a title, by the draft's id. Of several tasks with one id, the first is kept."""
    unique: dict[str, TaskDraft] = {}
    for draft in drafts:
        if draft.id.strip() and claims.words(draft.title):
            unique.setdefault(draft.id.strip(), draft)
    return unique


def _tasks(unique: Mapping[str, TaskDraft], people: Collection[str], claims: _Claims) -> tuple[Task, ...]:
    """Return the tasks with new ids. The draft's ids are free text, in which no code replaces names."""
    own = {draft_id: f"t{number}" for number, draft_id in enumerate(unique, 1)}
    wanted = {
        own[id]: [own[before.strip()] for before in draft.prerequisites if before.strip() in own]
        for id, draft in unique.items()
    }
    prerequisites = _without_cycles({task: list(dict.fromkeys(before)) for task, before in wanted.items()})
    return tuple(
        _task(task_id, draft, prerequisites[task_id], people, claims)
        for task_id, draft in zip(own.values(), unique.values(), strict=True)
    )


def _task(
    task_id: str, draft: TaskDraft, prerequisites: Sequence[str], people: Collection[str], claims: _Claims
) -> Task:
    sources = claims.sources([*draft.sources, *without_ids(draft.title, claims.language)[1]])
    named, outside = named_alias(draft.assignee), claims.words(draft.outside)
    if named not in people:
        away = named.casefold() == OUTSIDE or (named.casefold() in ("", NOBODY) and bool(outside))
        named = OUTSIDE if away else NOBODY
    said_by = speakers(sources)
    title = claims.words(draft.title)
    question = draft.question or bool(_QUESTION.match(title))
    return Task(
        id=task_id,
        title=title,
        assignee=named,
        outside=outside if named == OUTSIDE else "",
        when=claims.words(draft.when),
        prerequisites=tuple(prerequisites),
        sources=sources,
        agreed=draft.agreed and not question and named in said_by and len(said_by) > 1,
        question=question,
    )


def _without_cycles(wanted: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the prerequisites of each task without those that close a cycle. A depth-first search in linear time."""
    kept: dict[str, list[str]] = {}
    for start in wanted:
        way = {} if start in kept else {start: iter(wanted[start])}
        while way:
            task = next(reversed(way))
            before = kept.setdefault(task, [])
            waits_for = next((other for other in way[task] if other not in way), None)
            if waits_for is None:
                del way[task]
                continue
            before.append(waits_for)
            if waits_for not in kept:
                way[waits_for] = iter(wanted[waits_for])
    return kept


def _residual(draft: ResidualDraft, residual_id: str, claims: _Claims, lineage: Lineage | None) -> Residual:
    """Return the residual. Its tension is shortened in proportion only if it exceeds the limits of a tension."""
    words = TensionDraft(
        transition=claims.words(draft.transition),
        initial_state=claims.words(draft.initial_state),
        barriers=[claims.words(barrier) for barrier in draft.barriers],
        exchange=claims.words(draft.exchange),
    )
    tension = from_draft(within_limits(words), language=claims.language)
    where = None if lineage is None else lineage.model_copy(update={"residual": residual_id})
    return Residual(
        id=residual_id,
        title=claims.words(draft.title) or cut(words.transition, _TITLE_UNITS),
        tension=tension.model_copy(update={"lineage": where}),
        sources=claims.sources(draft.sources),
    )


def _unused(state: Standing, people: Collection[str], cited: Collection[str]) -> tuple[Source, ...]:
    """Return the uncited valid items of `people` that are not inferred, then the uncited open gaps. Of several items
    with the same text, only the first is returned."""
    told = {state.items[id].text for id in cited if id in state.items}
    found: dict[str, Source] = {}
    for item in state.valid_items:
        if speaker_of(item.id) in people and not item.inferred and item.text not in told:
            found.setdefault(item.text, Source(id=item.id, text=item.text))
    gaps = (Source(id=gap.id, text=gap.text) for gap in state.open_gaps if gap.id not in cited)
    return (*found.values(), *gaps)


def settle_delivery(draft: DeliveryDraft, *, alias: str, plan: Plan, language: Language) -> Delivery:
    """Return the delivery in `draft`, with its Markdown.

    - Ids in sentences become sources. Sources that the plan does not cite are struck; claims without one are marked.
    - Parts of the plan about this person that the draft omits are added in the plan's words: their tasks, the claims of
      their role, and the offsets that name them, if no claim of the draft has one of the same sources. An empty draft
      becomes the plan's own words.
    """
    known = {source.id: source.text for source in plan.references}

    def claims(drafts: Iterable[ClaimDraft]) -> tuple[Claim, ...]:
        made = (claim_of(entry, known, language, compared=language == plan.language) for entry in drafts)
        return tuple(claim for claim in made if claim.text)

    delivery = Delivery(
        alias=alias,
        plan_revision=plan.revision,
        language=language,
        about=claims(draft.about) or plan.possible,
        asked=claims(draft.asked),
        gains=claims(draft.gains),
        conditions=claims(draft.conditions),
        open=claims(draft.open),
        remarks=tuple(draft.remarks),
    )
    whole = _completed(delivery, plan)
    return whole.model_copy(update={"markdown": delivery_markdown(whole, plan)})


def _completed(delivery: Delivery, plan: Plan) -> Delivery:
    told = {source for claim in delivery.claims() for source in claim.sources}
    asked = {source for claim in delivery.asked for source in claim.sources}

    def missing(claims: Sequence[Claim]) -> tuple[Claim, ...]:
        return tuple(claim for claim in claims if not told & set(claim.sources))

    tasks = tuple(
        Claim(text=task.title, sources=task.sources, supported=bool(task.sources))
        for task in plan.tasks
        if task.assignee == delivery.alias and not asked & set(task.sources)
    )
    role = next((role for role in plan.roles if role.alias == delivery.alias), PlanRole(alias=delivery.alias, role=""))
    return delivery.model_copy(
        update={
            "asked": (*delivery.asked, *tasks),
            "conditions": (*delivery.conditions, *missing(role.conditions)),
            "open": (*delivery.open, *missing([claim for claim in plan.offsets if delivery.alias in claim.text])),
        }
    )
