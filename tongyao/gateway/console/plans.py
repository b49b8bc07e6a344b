"""What the plan's page and the report print of a plan, besides its own layout: task graph, inferences, residuals. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Final

from tongyao.protocol.documents.delivery_page import delivery_page
from tongyao.protocol.documents.plan_answers import GivenAnswer, decision_in_words
from tongyao.protocol.documents.plan_page import plan_page
from tongyao.protocol.model.plan import Delivery, Plan, Task
from tongyao.protocol.model.sizes import cut, language_of, quotes_closed
from tongyao.protocol.rules.plans.answered import given_answers
from tongyao.protocol.rules.read_access import PartyView

_ROW, _TOP, _RADIUS, _AT = 46, 24, 14, 96
"""Of the drawing: the distance of two steps, the place of the first, the size of a step, and its distance from the left edge."""
_NEAR, _FARTHER, _FARTHEST = 22, 7, 78
"""How far a line swings out to the left of the steps that it passes."""
_NAME_UNITS: Final = {"en": 6, "zh": 13}
_NAME_CHARS: Final = {"en": 32, "zh": 15}


@dataclass(frozen=True)
class Node:
    """A task in the drawing: its number in the list, its first words, whose it is, and its height."""

    number: int
    name: str
    who: str
    y: float


@dataclass(frozen=True)
class Drawing:
    """The tasks one below the other, each below all that must be done before it. `edges` are paths of an SVG, beside the tasks; `tips` where one
    ends.
    """

    x: int
    height: int
    nodes: tuple[Node, ...]
    edges: tuple[str, ...]
    tips: tuple[float, ...]


def task_graph(plan: Plan) -> Drawing | None:
    """None where no task waits for another: then the list says everything."""
    if not any(task.prerequisites for task in plan.tasks):
        return None
    layers = _layers(plan.tasks)
    order = sorted(range(len(plan.tasks)), key=lambda at: (layers[at], at))
    heights = {at: _TOP + row * _ROW for row, at in enumerate(order)}
    index = {task.id: at for at, task in enumerate(plan.tasks)}
    edges, tips = [], set[float]()
    for at, task in enumerate(plan.tasks):
        for before in task.prerequisites:
            if before in index:
                y1, y2 = heights[index[before]], heights[at]
                out = _AT - _RADIUS - min(_FARTHEST, _NEAR + _FARTHER * ((y2 - y1) // _ROW))
                edges.append(f"M{_AT - _RADIUS} {y1}C{out} {y1} {out} {y2} {_AT - _RADIUS - 6} {y2}")
                tips.add(y2)
    nodes = tuple(
        Node(at + 1, _name(plan.tasks[at]), plan.tasks[at].assignee if plan.tasks[at].has_doer else "", heights[at])
        for at in order
    )
    return Drawing(_AT, _TOP + (len(order) - 1) * _ROW + _RADIUS + 16, nodes, tuple(edges), tuple(sorted(tips)))


def _name(task: Task) -> str:
    """The first words of a task, as much as stands beside it."""
    title = task.title.strip()
    language = language_of(title)
    short = cut(title, _NAME_UNITS[language])
    while language == "en" and len(short) > _NAME_CHARS[language] and " " in short:
        short = short.rpartition(" ")[0]
    short = short[: _NAME_CHARS[language]].rstrip(" ,.;:，、；：。…")
    return short if len(short) >= len(title.rstrip(".。")) else quotes_closed(f"{short} …")


def _layers(tasks: Sequence[Task]) -> list[int]:
    """For each task the length of the longest chain of prerequisites before it."""
    ids = {task.id for task in tasks}
    before = {task.id: [one for one in task.prerequisites if one in ids] for task in tasks}
    layers: dict[str, int] = {}
    for id in TopologicalSorter(before).static_order():
        layers[id] = max((layers[one] + 1 for one in before[id]), default=0)
    return [layers[task.id] for task in tasks]


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


def inferred_in(view: PartyView) -> frozenset[str]:
    """The ids of items that are inferences, as far as the reader sees items."""
    said = (*(view.projections or ()), *(view.own or ()))
    return frozenset(item.id for one in said for item in one.items if item.inferred)
