"""A plan as a workflow machine (docs/plans.md): nodes, forwards between them, their guards, permissions by alias. Pure.

It depends on no chain and no product. It can be mapped to a smart-contract workflow such as WOWOK's Machine: nodes to
nodes, forwards to forwards, guards to conditions, aliases to addresses.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from tongyao.protocol.model.plan import Plan, Task
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value

FORMAT: Final = "tongyao-machine/1"
START: Final = "start"
END: Final = "end"


class Guard(Value):
    """A condition of a forward.

    `committed`: all `aliases` have committed to the plan. `done`: all `nodes` were left. `confirmed`: a person in
    `aliases` confirms that the task was done.
    """

    kind: Literal["committed", "done", "confirmed"]
    aliases: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


class Forward(Value):
    """A transition from a node to the next. Somebody with the permission makes it when all its conditions are true."""

    name: str
    to: str
    permission: str = Field(description="Name of a permission of this machine.")
    guards: tuple[Guard, ...] = ()


class Node(Value):
    """A state of the work. `task`: the plan's task that is in progress there; empty at the start and the end."""

    name: str
    title: str = ""
    task: str = ""
    sources: tuple[str, ...] = Field(default=(), description="Item ids of the record that the task stands on.")
    forwards: tuple[Forward, ...] = ()


class Permission(Value):
    """The people who may take a forward. Empty `aliases`: the task has no assignee, and the machine stops there."""

    name: str
    aliases: tuple[str, ...]


class Machine(Value):
    """A draft that describes a workflow and runs nothing. It contains no identities, amounts or addresses."""

    format: Literal["tongyao-machine/1"] = FORMAT
    process: str
    revision: int = Field(ge=1, description="Of the plan it was made of.")
    language: str
    draft: Literal[True] = True
    nodes: tuple[Node, ...]
    permissions: tuple[Permission, ...]
    missing: tuple[str, ...] = Field(default=(), description="Nodes that nobody may leave yet.")


def machine_of(plan: Plan, process_id: str) -> Machine:
    """Return the machine of a plan. Tasks without prerequisites begin together. It ends when all last tasks are done.

    The assignee of a task takes the forwards from its node. The next assignee confirms that the task was done; the
    demander confirms the last tasks. A task that was only offered needs its assignee's commitment.
    """
    names = {task.id: f"task-{at}" for at, task in enumerate(plan.tasks, 1)}
    begin = Permission(name="begin", aliases=(DEMANDER,))
    starts = tuple(
        Forward(name=f"begin {names[task.id]}", to=names[task.id], permission=begin.name, guards=_agreed(task))
        for task in plan.tasks
        if not task.prerequisites
    )
    nothing = Forward(name="nothing to do", to=END, permission=begin.name)
    title = plan.possible[0].text if plan.possible else ""
    return Machine(
        process=process_id,
        revision=plan.revision,
        language=plan.language,
        nodes=(
            Node(name=START, title=title, forwards=starts or (nothing,)),
            *(_node(task, plan, names) for task in plan.tasks),
            Node(name=END),
        ),
        permissions=(
            begin,
            *(
                Permission(name=f"do {names[task.id]}", aliases=(task.assignee,) if task.has_doer else ())
                for task in plan.tasks
            ),
        ),
        missing=tuple(names[task.id] for task in plan.tasks if not task.has_doer),
    )


def _node(task: Task, plan: Plan, names: dict[str, str]) -> Node:
    """Return the node of a task, with a forward to each task that waits for it, or to the end."""
    permission = f"do {names[task.id]}"
    forwards = tuple(
        Forward(
            name=f"hand over to {names[after.id]}",
            to=names[after.id],
            permission=permission,
            guards=(*_others_done(after, task, names), *_agreed(after), *_confirmed(task, after)),
        )
        for after in plan.tasks
        if task.id in after.prerequisites
    )
    confirmed = (Guard(kind="confirmed", aliases=(DEMANDER,)),) if task.assignee != DEMANDER else ()
    finish = Forward(name="finish", to=END, permission=permission, guards=confirmed)
    return Node(
        name=names[task.id], title=task.title, task=task.id, sources=task.sources, forwards=forwards or (finish,)
    )


def machine_schema() -> dict[str, Any]:
    """Return the published JSON Schema (2020-12) of a machine."""
    schema = Machine.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:{FORMAT}", **schema}


def _agreed(task: Task) -> tuple[Guard, ...]:
    """Return the guards before a task. A task that only its assignee offered needs their commitment."""
    offered = task.has_doer and task.assignee != DEMANDER and not task.agreed
    return (Guard(kind="committed", aliases=(task.assignee,)),) if offered else ()


def _others_done(task: Task, coming_from: Task, names: dict[str, str]) -> tuple[Guard, ...]:
    others = tuple(
        names[prerequisite]
        for prerequisite in task.prerequisites
        if prerequisite != coming_from.id and prerequisite in names
    )
    return (Guard(kind="done", nodes=others),) if others else ()


def _confirmed(task: Task, after: Task) -> tuple[Guard, ...]:
    """Return the guard by which the next task's assignee confirms `task`. Empty if both tasks have one assignee."""
    if not after.has_doer or after.assignee == task.assignee:
        return ()
    return (Guard(kind="confirmed", aliases=(after.assignee,)),)
