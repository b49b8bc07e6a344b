"""A child's plan as its parent reads it: every source names the process it comes from (docs/protocol.md §7.7). Pure."""

from __future__ import annotations

from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import ChildPlan
from tongyao.protocol.model.rewrite import map_ids


def child_plan(child: Record, title: str) -> ChildPlan:
    """The last plan of `child` under aliases, its sources as `<child process>/R1/P02/2`. Raises `ValueError` without a plan."""
    if not child.plans:
        raise ValueError(f"{child.process_id} has no plan")

    def of_child(source: str) -> str:
        return source if source.startswith(f"{child.process_id}/") else f"{child.process_id}/{source}"

    plan = map_ids(child.plans[-1], of_child)
    references = tuple(source.model_copy(update={"id": of_child(source.id)}) for source in plan.references)
    named = plan.model_copy(update={"references": references, "unused": ()})
    return ChildPlan(process=child.process_id, title=title, plan=named)
