"""Every claim of a plan has its source, tasks form no cycle, no contributor is forgotten (docs/protocol.md §7). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tongyao.protocol.guards.ids_in_text import without_ids
from tongyao.protocol.guards.naming import named_alias, named_ids
from tongyao.protocol.guards.support import doubt
from tongyao.protocol.model.plan import (
    NOBODY,
    OUTSIDE,
    Absence,
    Claim,
    ClaimDraft,
    Plan,
    PlanDraft,
    Residual,
    ResidualDraft,
    Role,
    RoleDraft,
    Source,
    Task,
    TaskDraft,
    speakers,
)
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.projection import Item
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.sizes import cut
from tongyao.protocol.model.tension import MISSING, Lineage, Tension
from tongyao.protocol.rules.plans.lineage import LENS_UNITS, NEAR, cosine, grams
from tongyao.protocol.rules.plans.unused import unused_facts

_QUESTION = re.compile(
    r"(?:say|tell|state|name|answer) (?:whether|if|who|whom|what|which|when|where|how)\b|(?:说明|回答|答复|说清)(?:是否|能否|可否|愿不愿|能不能|会不会|要不要|行不行|谁|多少|几|哪)",
    re.IGNORECASE,
)
"""A task's title that is a question to its assignee, in the wording that the plan's prompt asks for."""
MOST_RESIDUALS: Final = 40
"""Of an answer, besides what is absent: each is compared with those before it."""
_FIRST_CLAUSE = re.compile(r"[:：。;；]|\.\s")

TITLE_UNITS = 20
"""Of a residual that was given no title: so much of its transition."""


def settle_plan(
    draft: PlanDraft,
    *,
    revision: int,
    language: Language,
    contributors: Collection[str],
    known: Mapping[str, str],
    lineage: Lineage,
    tension: Tension | None = None,
    absent: Sequence[Absence] = (),
    open_points: Sequence[str] = (),
    reduced: bool = False,
    hidden: bool = False,
    said: Sequence[Item] = (),
) -> Plan:
    """The plan in `draft`, as far as the record bears it out.

    - Ids in sentences become sources. Sources that do not exist are struck; a claim left without one is kept and marked
      unsupported.
    - Roles of unknown aliases are dropped; a contributor without one gets an empty one, so that nobody is forgotten.
    - Tasks are numbered. Those of unknown assignees belong to nobody; prerequisites that are unknown or would close a cycle are
      dropped. `agreed` needs the assignee's own word and somebody else's among the sources.
    - Residuals without a transition are dropped; too long ones are cut lens by lens; those that stand on one gap, or say the
      same, are one. What is `absent`, and no residual and no task of somebody here cites, becomes one, with I and E of
      `tension`.

    Args:
        known: every id a source may name, with its text (`Record.item_ids`, and those of children).
        said: all items of the record, oldest first. Facts of `contributors` that nothing cites are listed as `unused`.
        hidden: readers may not see what others said (`open_record` off): the plan repeats the tension only.
    """
    claims = _Claims(known, language)
    wanted = _unique(draft.tasks, claims)
    tasks = _tasks(wanted, {*contributors, DEMANDER}, claims)
    claims.steps = {draft_id: number for number, draft_id in enumerate(wanted, 1)}
    roles = {
        named_alias(role.alias): claims.role(role) for role in draft.roles if named_alias(role.alias) in contributors
    }
    taken_up = {source for task in tasks if task.has_doer for source in task.sources}
    plan = Plan(
        revision=revision,
        language=language,
        about=claims.all(draft.about),
        panorama=claims.all(draft.panorama),
        roles=tuple(roles.get(alias, Role(alias=alias, role="")) for alias in sorted(contributors)),
        tasks=tasks,
        order=claims.all(draft.order),
        offsets=claims.all(draft.offsets),
        residuals=_residuals(draft.residuals, absent, tension, claims, lineage, revision, taken_up),
        open_points=tuple(dict.fromkeys(claims.words(point) for point in open_points)),
        remarks=tuple(draft.remarks),
        reduced=reduced,
    )
    parts = [name for name in known if name.startswith("T/")]
    premises = {item.id: item.premise for item in said if item.premise}
    references = (
        Source(id=name)
        if hidden and name not in parts
        else Source(id=name, text=known[name], premise=premises.get(name, ""))
        for name in dict.fromkeys((*parts, *plan.cited()))
    )
    theirs = [item for item in said if not speakers([item.id]).isdisjoint(contributors)]
    unused = () if hidden else unused_facts(theirs, plan.cited())
    return plan.model_copy(update={"references": tuple(references), "unused": unused})


class _Claims:
    def __init__(self, known: Mapping[str, str], language: Language) -> None:
        self._known, self.language = known, language
        self.steps: Mapping[str, int] = {}

    def sources(self, named: Sequence[str]) -> tuple[str, ...]:
        return named_ids(named, self._known)

    def words(self, text: str) -> str:
        """`text` without ids."""
        return without_ids(text, self.language, self.steps)[0]

    def one(self, draft: ClaimDraft) -> Claim:
        text, found = without_ids(draft.text, self.language, self.steps)
        sources = self.sources([*draft.sources, *found])
        return Claim(
            text=text,
            sources=sources,
            supported=bool(sources),
            concluded=draft.concluded and bool(sources),
            doubt=doubt(text, [self._known[source] for source in sources], self.language) if sources else "",
        )

    def all(self, drafts: Sequence[ClaimDraft]) -> tuple[Claim, ...]:
        return tuple(claim for draft in drafts if (claim := self.one(draft)).text)

    def role(self, draft: RoleDraft) -> Role:
        return Role(
            alias=named_alias(draft.alias),
            role=self.words(draft.role),
            tier=draft.tier.strip(),
            contributions=self.all(draft.contributions),
            benefits=self.all(draft.benefits),
            costs=self.all(draft.costs),
            dependencies=self.all(draft.dependencies),
        )


def _unique(drafts: Sequence[TaskDraft], claims: _Claims) -> dict[str, TaskDraft]:
    """Tasks with a title by the ids of the draft, of two with one id the first."""
    unique: dict[str, TaskDraft] = {}
    for draft in drafts:
        if draft.id.strip() and claims.words(draft.title):
            unique.setdefault(draft.id.strip(), draft)
    return unique


def _tasks(unique: Mapping[str, TaskDraft], assignable: Collection[str], claims: _Claims) -> tuple[Task, ...]:
    """The tasks under ids of their own: those of the draft may be any words, and nobody would anonymise them."""
    own = {draft_id: f"t{number}" for number, draft_id in enumerate(unique, 1)}
    wanted = {
        own[id]: [own[one.strip()] for one in draft.prerequisites if one.strip() in own] for id, draft in unique.items()
    }
    prerequisites = _without_cycles({task: list(dict.fromkeys(before)) for task, before in wanted.items()})
    return tuple(
        _task(task_id, draft, prerequisites[task_id], assignable, claims)
        for task_id, draft in zip(own.values(), unique.values(), strict=True)
    )


def _task(
    task_id: str, draft: TaskDraft, prerequisites: Sequence[str], assignable: Collection[str], claims: _Claims
) -> Task:
    sources = claims.sources([*draft.sources, *without_ids(draft.title, claims.language)[1]])
    named, outside = named_alias(draft.assignee), claims.words(draft.outside)
    if named not in assignable:
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
    """The prerequisites of each task without those that lead back to it. Linear: the way from each task is gone once."""
    kept: dict[str, list[str]] = {}
    for start in wanted:
        way = {} if start in kept else {start: iter(wanted[start])}
        while way:
            task = next(reversed(way))
            before = kept.setdefault(task, [])
            one = next((one for one in way[task] if one not in way), None)
            if one is None:
                del way[task]
                continue
            before.append(one)
            if one not in kept:
                way[one] = iter(wanted[one])
    return kept


def _residuals(
    drafts: Sequence[ResidualDraft],
    absent: Sequence[Absence],
    tension: Tension | None,
    claims: _Claims,
    lineage: Lineage,
    revision: int,
    taken_up: Collection[str],
) -> tuple[Residual, ...]:
    """What is said once of what stayed unresolved, numbered; then what is absent and neither there nor `taken_up`.

    Two drafts are the same residual if both stand on one absent thing and name nothing else absent, or have one wording.
    """
    kept: list[tuple[ResidualDraft, set[int], Counter[str]]] = []
    for draft in [one for one in drafts if one.transition.strip()][:MOST_RESIDUALS]:
        sources, wording = claims.sources(draft.sources), grams(draft.transition)
        stands_on = {at for at, gap in enumerate(absent) if not set(gap.gaps).isdisjoint(sources)}
        for other, others, words in kept:
            if (others and others == stands_on) or cosine(words, wording) >= NEAR:
                other.sources = list(dict.fromkeys([*other.sources, *sources]))
                others |= stands_on
                break
        else:
            kept.append((draft.model_copy(update={"sources": list(sources)}), stands_on, wording))
    said = [draft for draft, _, _ in kept]
    named = {source for one in said for source in one.sources} | set(taken_up)
    said += [_of_absence(one, tension) for one in absent if tension is not None and not named & set(one.gaps)]
    return tuple(_residual(one, number, claims, lineage, revision) for number, one in enumerate(said, 1))


def _of_absence(absence: Absence, tension: Tension) -> ResidualDraft:
    barrier = tension.targets().get(absence.target, "") if absence.target.startswith("B") else ""
    return ResidualDraft(
        title=_FIRST_CLAUSE.split(absence.text.strip(), maxsplit=1)[0],
        transition=absence.text,
        initial_state=tension.initial_state,
        barriers=[barrier or absence.text],
        exchange=tension.exchange,
        sources=[*absence.gaps, *([f"T/{absence.target}"] if absence.target in tension.targets() else [])],
    )


def _residual(draft: ResidualDraft, number: int, claims: _Claims, lineage: Lineage, revision: int) -> Residual:
    residual_id = f"plan/{revision}/residual/{number}"

    def lens(text: str) -> str:
        words = claims.words(text)
        short = cut(words, LENS_UNITS)
        return short if len(short) == len(words) else f"{short}…"

    barriers = tuple(said for barrier in draft.barriers if (said := lens(barrier)))[:2]
    return Residual(
        id=residual_id,
        title=claims.words(draft.title) or cut(claims.words(draft.transition), TITLE_UNITS),
        tension=Tension(
            transition=lens(draft.transition) or MISSING,
            initial_state=lens(draft.initial_state) or MISSING,
            barriers=barriers or (MISSING,),
            exchange=lens(draft.exchange) or MISSING,
            language=claims.language,
            lineage=lineage.model_copy(update={"residual": residual_id}),
        ),
        sources=claims.sources(draft.sources),
    )
