"""Finds what makes a plan invalid (docs/plans.md): broken rules, and sources that the record does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from tongyao.protocol.model.plan import NOBODY, OUTSIDE, Claim, Plan
from tongyao.protocol.model.process import DEMANDER


class Fault(NamedTuple):
    where: str
    what: str


def faults(plan: Plan, *, known: Collection[str], contributors: Collection[str]) -> list[Fault]:
    """All faults. `known`: ids of the record's items. `contributors`: aliases that must have a role."""
    return [*_roles(plan, contributors), *_tasks(plan), *_claims(plan), *_residuals(plan), *_sources(plan, known)]


def _roles(plan: Plan, contributors: Collection[str]) -> list[Fault]:
    count = Counter(role.alias for role in plan.roles)
    found = [
        Fault(where="roles", what=f"{alias} has {times} roles") for alias, times in sorted(count.items()) if times > 1
    ]
    missing = sorted(set(contributors) - set(count) - set(plan.removed))
    found += [Fault(where="roles", what=f"{alias} contributed and has no role") for alias in missing]
    strangers = sorted(set(count) - set(contributors))
    return found + [Fault(where="roles", what=f"{alias} contributed nothing") for alias in strangers]


def _tasks(plan: Plan) -> list[Fault]:
    known = [task.id for task in plan.tasks]
    people = {*(role.alias for role in plan.roles), DEMANDER, NOBODY, OUTSIDE}
    found = [
        Fault(where="tasks", what=f"{id} is the id of {times} tasks")
        for id, times in Counter(known).items()
        if times > 1
    ]
    for at, task in enumerate(plan.tasks):
        if task.assignee not in people:
            what = f"{task.assignee!r} has no role"
            found.append(Fault(where=f"tasks/{at}/assignee", what=what))
        for unknown in sorted(set(task.prerequisites) - set(known)):
            found.append(Fault(where=f"tasks/{at}/prerequisites", what=f"there is no task {unknown!r}"))
    try:
        TopologicalSorter({task.id: task.prerequisites for task in plan.tasks}).prepare()
    except CycleError as cycle:
        found.append(Fault(where="tasks", what=f"nobody could begin: {' → '.join(cycle.args[1])} wait for each other"))
    return found


def _claims(plan: Plan) -> list[Fault]:
    found = []
    for where, claim in _placed(plan):
        if not claim.text.strip():
            found.append(Fault(where=where, what="a claim without words"))
        if claim.supported != bool(claim.sources):
            what = "supported without a source" if claim.supported else "unsupported although it has sources"
            found.append(Fault(where=where, what=what))
    if not (plan.possible or plan.roles or plan.tasks):
        found.append(Fault(where="(document)", what="an empty plan: neither what is possible, nor roles, nor tasks"))
    return found


def _residuals(plan: Plan) -> list[Fault]:
    ids = Counter(residual.id for residual in plan.residuals)
    return [
        Fault(where="residuals", what=f"{id} is the id of {times} residuals") for id, times in ids.items() if times > 1
    ]


def _sources(plan: Plan, known: Collection[str]) -> list[Fault]:
    placed = [(where, claim.sources) for where, claim in _placed(plan)]
    placed += [(f"tasks/{at}/sources", task.sources) for at, task in enumerate(plan.tasks)]
    placed += [(f"residuals/{at}/sources", residual.sources) for at, residual in enumerate(plan.residuals)]
    return [
        Fault(where=where, what=f"there is no item {source!r} in the record")
        for where, sources in placed
        for source in sources
        if source not in known
    ]


def _placed(plan: Plan) -> list[tuple[str, Claim]]:
    """Return every claim with its place in the document."""
    found = [] if plan.date is None else [("date", plan.date)]
    for name in ("possible", "offsets"):
        found += [(f"{name}/{at}", claim) for at, claim in enumerate(getattr(plan, name))]
    for number, role in enumerate(plan.roles):
        found += [(f"roles/{number}/conditions/{at}", claim) for at, claim in enumerate(role.conditions)]
    return found
