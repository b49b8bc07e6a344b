"""What the plan's page and the report print of a plan, besides its own layout: task graph, inferences, residuals. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tongyao.protocol.documents.delivery_page import delivery_page
from tongyao.protocol.documents.plan_answers import GivenAnswer, decision_in_words
from tongyao.protocol.documents.plan_page import plan_page
from tongyao.protocol.model.plan import Delivery, Plan, Task
from tongyao.protocol.rules.plans.answered import given_answers
from tongyao.protocol.rules.read_access import PartyView

WIDTH: Final = 330
_LAYER, _TOP, _RADIUS = 72, 20, 15


@dataclass(frozen=True)
class Node:
    """A task in the drawing: its number in the list, whose it is, and its place."""

    number: int
    who: str
    x: float
    y: float


@dataclass(frozen=True)
class Drawing:
    """The tasks in layers, each below all that must be done before it. `edges` are paths of an SVG."""

    height: int
    nodes: tuple[Node, ...]
    edges: tuple[str, ...]


def task_graph(plan: Plan) -> Drawing | None:
    """None where no task waits for another: then the list says everything."""
    if not any(task.prerequisites for task in plan.tasks):
        return None
    layers = _layers(plan.tasks)
    rows = [[at for at, layer in enumerate(layers) if layer == depth] for depth in range(max(layers) + 1)]
    places: dict[int, tuple[float, float]] = {}
    for depth, row in enumerate(rows):
        gap = WIDTH / len(row)
        for at, number in enumerate(row):
            places[number] = (round(gap * (at + 0.5), 1), _TOP + depth * _LAYER)
    index = {task.id: at for at, task in enumerate(plan.tasks)}
    edges = []
    for at, task in enumerate(plan.tasks):
        for before in task.prerequisites:
            if before in index:
                (x1, y1), (x2, y2) = places[index[before]], places[at]
                down, up = y1 + _RADIUS + 18, y2 - _RADIUS
                middle = round((down + up) / 2, 1)
                edges.append(f"M{x1} {down}C{x1} {middle} {x2} {middle} {x2} {up}")
    nodes = tuple(
        Node(at + 1, task.assignee if task.has_doer else "?", *places[at]) for at, task in enumerate(plan.tasks)
    )
    return Drawing(_TOP + (len(rows) - 1) * _LAYER + _RADIUS + 24, nodes, tuple(edges))


def _layers(tasks: Sequence[Task]) -> list[int]:
    """For each task the length of the longest chain of prerequisites before it."""
    index = {task.id: at for at, task in enumerate(tasks)}
    layers = [0] * len(tasks)
    for _ in tasks:  # as many passes as the longest chain can have
        for at, task in enumerate(tasks):
            before = [layers[index[one]] + 1 for one in task.prerequisites if one in index]
            layers[at] = min(max(before, default=0), len(tasks) - 1)
    return layers


def answers_in(view: PartyView) -> tuple[GivenAnswer, ...]:
    """What everybody with a part of the plan answered, as far as the reader of the view may know it."""
    return given_answers(view.asked or (), view.answers or {}, view.answer_words or {}, view.identities or {})


def values_of(view: PartyView, plan: Plan) -> dict[str, Any]:
    """What `parts/plan.html` needs besides `view` and `plan`."""
    answers = answers_in(view)
    laid_out = plan_page(plan, answers, reader=view.you)
    return {
        "laid_out": laid_out,
        "notes": {note.number: note for note in laid_out.notes},
        "graph": task_graph(plan),
        "earlier": [
            (revision, [one for one in view.earlier_answers or () if one.revision == revision])
            for revision in sorted({one.revision for one in view.earlier_answers or ()}, reverse=True)
        ],
        "settled": settled(plan, answers),
        "decision_in_words": decision_in_words,
        "inferred": inferred_in(view),
    }


def delivery_values(view: PartyView, delivery: Delivery) -> dict[str, Any]:
    """What `plan_parts.html` needs to print a delivery; no page where the reader has no plan beside it."""
    laid_out = delivery_page(delivery, view.plan) if view.plan is not None else None
    return {
        "laid_out": laid_out,
        "notes": {note.number: note for note in laid_out.notes} if laid_out is not None else {},
        "inferred": inferred_in(view),
    }


def settled(plan: Plan, answers: Sequence[GivenAnswer]) -> list[bool]:
    """For each task whether its assignee committed to the plan, or offered it and has neither declined nor asked for a change."""
    decisions = {one.alias: one.decision for one in answers}
    return [
        decisions.get(task.assignee) == "commit" or ((task.agreed or task.offered) and not decisions.get(task.assignee))
        for task in plan.tasks
    ]


def inferred_in(view: PartyView) -> frozenset[str]:
    """The ids of items that are inferences, as far as the reader sees items."""
    said = (*(view.projections or ()), *(view.own or ()))
    return frozenset(item.id for one in said for item in one.items if item.inferred)
