"""A child's plan as its parent reads it: every source names the process it comes from (docs/protocol.md §7.7). Pure."""

from __future__ import annotations

from typing import TypeVar

from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import ChildPlan
from tongyao.protocol.model.value import Value

ValueT = TypeVar("ValueT", bound=Value)


def child_plan(child: Record, title: str) -> ChildPlan:
    """The last plan of `child` under aliases, its sources as `<child process>/R1/P02/2`. Raises `ValueError` without a plan."""
    if not child.plans:
        raise ValueError(f"{child.process_id} has no plan")
    plan = child.plans[-1]
    references = tuple(
        source.model_copy(update={"id": _prefixed(source.id, child.process_id)}) for source in plan.references
    )
    named = _with_process(plan, child.process_id).model_copy(update={"references": references, "unused": ()})
    return ChildPlan(process=child.process_id, title=title, plan=named)


def _with_process(part: ValueT, process: str) -> ValueT:
    """`part` and all parts in it, `process` before every id in `sources`."""
    changes: dict[str, object] = {}
    for name in type(part).model_fields:
        value = getattr(part, name)
        if name == "sources":
            changes[name] = tuple(_prefixed(source, process) for source in value)
        elif isinstance(value, Value):
            changes[name] = _with_process(value, process)
        elif isinstance(value, tuple) and any(isinstance(entry, Value) for entry in value):
            changes[name] = tuple(_with_process(entry, process) for entry in value)
    return part.model_copy(update=changes)


def _prefixed(source: str, process: str) -> str:
    return source if source.startswith(f"{process}/") else f"{process}/{source}"
