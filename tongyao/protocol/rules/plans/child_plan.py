"""A child's plan as its parent reads it: every source names the process it comes from (docs/protocol.md §7.7). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tongyao.protocol.model.plan import Claim, Plan, Role
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import ChildPlan
from tongyao.protocol.rules.read_access import anonymizer


def child_plan(child: Record, title: str) -> ChildPlan:
    """The last plan of `child` under aliases, its sources as `<child process>/R1/P02/2`. Raises `ValueError` without a plan."""
    if not child.plans:
        raise ValueError(f"{child.process_id} has no plan")
    plan = anonymizer(child).model(child.plans[-1])
    return ChildPlan(process=child.process_id, title=title, plan=_named(plan, child.process_id))


def child_sources(child: Record) -> Mapping[str, str]:
    """Every id of `child` that the parent's plan may name, with its text."""
    names = anonymizer(child)
    return {
        f"{child.process_id}/{name}": names.text(text, author=_author(name)) for name, text in child.item_ids().items()
    }


def _author(item: str) -> str:
    """`P02` of `R1/P02/3`, the demander for a part of the tension, nobody for what the catalyst saw."""
    middle = item.split("/")[1] if "/" in item else ""
    return DEMANDER if item.startswith("T/") else middle if middle.startswith("P") else ""


def _named(plan: Plan, process: str) -> Plan:
    def sources(named: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(one if one.startswith(f"{process}/") else f"{process}/{one}" for one in named)

    def claims(said: tuple[Claim, ...]) -> tuple[Claim, ...]:
        return tuple(claim.model_copy(update={"sources": sources(claim.sources)}) for claim in said)

    def role(one: Role) -> Role:
        groups = ("contributions", "benefits", "costs", "dependencies")
        return one.model_copy(update={group: claims(getattr(one, group)) for group in groups})

    return plan.model_copy(
        update={
            "about": claims(plan.about),
            "panorama": claims(plan.panorama),
            "roles": tuple(role(one) for one in plan.roles),
            "order": claims(plan.order),
            "offsets": claims(plan.offsets),
            "tasks": tuple(task.model_copy(update={"sources": sources(task.sources)}) for task in plan.tasks),
            "references": tuple(one.model_copy(update={"id": sources((one.id,))[0]}) for one in plan.references),
            "residuals": tuple(one.model_copy(update={"sources": sources(one.sources)}) for one in plan.residuals),
        }
    )
