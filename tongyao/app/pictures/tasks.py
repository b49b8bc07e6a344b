"""A picture of a plan's tasks with their assignees and their order."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Final

from tongyao.app.pictures import svg
from tongyao.protocol.model.plan import OUTSIDE, Plan, Task

WIDTH, HEIGHT, ACROSS, DOWN, EDGE = 214.0, 96.0, 64.0, 22.0, 24.0
ROWS, EMS = 3, 14.6
_FILLS: Final = ("#ecfeff", "#fef9c3", "#f0fdf4", "#faf5ff", "#fff1f2", "#eff6ff", "#fff7ed", "#f7fee7")


def task_svg(plan: Plan) -> str:
    """Draw tasks from left to right in the order in which they can begin. A dashed frame: offered by one side only."""
    before = _prerequisites(plan)
    if not before:
        words = svg.word(plan.language, "no_tasks")
        return svg.document(260, 60, words, [svg.text(20, 35, words, colour=svg.PALE)])
    places = _places(before)
    fills = {role.alias: _FILLS[at % len(_FILLS)] for at, role in enumerate(plan.roles)}
    body = [
        svg.arrow((places[id][0] + WIDTH, places[id][1] + HEIGHT / 2), (places[task][0], places[task][1] + HEIGHT / 2))
        for task, ids in before.items()
        for id in ids
    ]
    for task in plan.tasks:
        body += _card(task, places[task.id], fills.get(task.assignee, svg.PAPER), plan.language)
    width = max(x for x, _ in places.values()) + WIDTH + EDGE
    height = max(y for _, y in places.values()) + HEIGHT + EDGE
    return svg.document(width, height, svg.word(plan.language, "tasks"), body)


def task_mermaid(plan: Plan) -> str:
    """Return the tasks as a Mermaid flowchart."""
    names = {task.id: f"t{at}" for at, task in enumerate(plan.tasks, 1)}
    rows = ["flowchart LR"]
    for task in plan.tasks:
        label = f"<b>{_plain(task.id)} · {_whose(task, plan.language)}</b><br>{_plain(task.title)}"
        rows.append(f'    {names[task.id]}["{label}"]')
    rows += [
        f"    {names[before]} --> {names[task.id]}"
        for task in plan.tasks
        for before in task.prerequisites
        if before in names
    ]
    offers = [names[task.id] for task in plan.tasks if not task.agreed]
    if offers:
        rows += ["    classDef offer stroke-dasharray: 6 4", f"    class {','.join(offers)} offer"]
    return "\n".join(rows) + "\n"


def _prerequisites(plan: Plan) -> dict[str, list[str]]:
    """Return the prerequisites of each task."""
    ids = {task.id for task in plan.tasks}
    return {task.id: [id for id in dict.fromkeys(task.prerequisites) if id in ids] for task in plan.tasks}


def _places(before: Mapping[str, list[str]]) -> dict[str, tuple[float, float]]:
    """Return the top left corner of each card, in pixels. A column has tasks that can begin together.

    Raises `graphlib.CycleError` if tasks wait for each other.
    """
    rows: dict[str, float] = {}
    columns: list[list[str]] = []
    order = TopologicalSorter(before)
    order.prepare()
    while order.is_active():
        ids = list(order.get_ready())
        order.done(*ids)
        waits: dict[str, list[float]] = {id: [rows[earlier] for earlier in before[id]] for id in ids}
        level = {id: sum(above) / len(above) if above else len(ids) for id, above in waits.items()}
        ids.sort(key=level.__getitem__)
        rows |= {id: at - len(ids) / 2 for at, id in enumerate(ids)}
        columns.append(ids)
    top = min(rows.values())
    return {
        id: (EDGE + column * (WIDTH + ACROSS), EDGE + (rows[id] - top) * (HEIGHT + DOWN))
        for column, ids in enumerate(columns)
        for id in ids
    }


def _card(task: Task, place: tuple[float, float], fill: str, language: str) -> list[str]:
    x, y = place
    drawn = [
        svg.box(x, y, WIDTH, HEIGHT, stroke=svg.INK, dash="" if task.agreed else "6 4", fill=fill),
        svg.text(x + 10, y + 20, task.id, bold=True),
        svg.text(x + WIDTH - 10, y + 20, _whose(task, language), anchor="end", colour=svg.PALE),
    ]
    rows = svg.wrapped(task.title, EMS, ROWS)
    return [*drawn, *(svg.text(x + 10, y + 42 + at * 18, row) for at, row in enumerate(rows))]


def _whose(task: Task, language: str) -> str:
    if task.has_doer:
        return task.assignee
    return svg.word(language, "outside" if task.assignee == OUTSIDE else "nobody_yet")


def _plain(words: str) -> str:
    """Escape `words` for a Mermaid label."""
    for char, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;")):
        words = words.replace(char, code)
    return " ".join(svg.shown(words).split())
