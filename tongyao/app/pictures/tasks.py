"""What is to be done, by whom, after what: a picture of a plan's tasks."""

from __future__ import annotations

from typing import Final

import networkx as nx

from tongyao.app.pictures import svg
from tongyao.protocol.model.plan import OUTSIDE, Plan, Task

WIDTH, HEIGHT, ACROSS, DOWN, EDGE = 214.0, 96.0, 64.0, 22.0, 24.0
ROWS, EMS = 3, 14.6
_FILLS: Final = ("#ecfeff", "#fef9c3", "#f0fdf4", "#faf5ff", "#fff1f2", "#eff6ff", "#fff7ed", "#f7fee7")


def task_svg(plan: Plan) -> str:
    """Tasks from left to right in the order in which they can begin; a dashed frame: offered by one side only."""
    graph = _graph(plan)
    if not graph:
        words = "没有任务" if plan.language == "zh" else "no tasks"
        return svg.document(260, 60, words, [svg.text(20, 35, words, colour=svg.PALE)])
    places = _places(graph)
    fills = {role.alias: _FILLS[at % len(_FILLS)] for at, role in enumerate(plan.roles)}
    body = [
        svg.arrow(
            (places[before][0] + WIDTH, places[before][1] + HEIGHT / 2),
            (places[after][0], places[after][1] + HEIGHT / 2),
        )
        for before, after in graph.edges
    ]
    for task in plan.tasks:
        body += _card(task, places[task.id], fills.get(task.assignee, svg.PAPER), plan.language)
    width = max(x for x, _ in places.values()) + WIDTH + EDGE
    height = max(y for _, y in places.values()) + HEIGHT + EDGE
    return svg.document(width, height, "任务" if plan.language == "zh" else "Tasks", body)


def task_mermaid(plan: Plan) -> str:
    """The same as a Mermaid flowchart."""
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


def _graph(plan: Plan) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(task.id for task in plan.tasks)
    graph.add_edges_from((before, task.id) for task in plan.tasks for before in task.prerequisites if before in graph)
    return graph


def _places(graph: nx.DiGraph[str]) -> dict[str, tuple[float, float]]:
    """The library's generations as columns of cards, each card level with what it waits for: top left corners, in pixels."""
    rows: dict[str, float] = {}
    columns: list[list[str]] = []
    for generation in nx.topological_generations(graph):
        ids = list(generation)
        before = {id: [rows[one] for one in graph.predecessors(id)] for id in ids}
        ids.sort(key=lambda id: sum(before[id]) / len(before[id]) if before[id] else len(ids))
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
    nobody, outside = ("尚无人", "在场以外") if language == "zh" else ("nobody yet", "outside")
    return outside if task.assignee == OUTSIDE else nobody


def _plain(words: str) -> str:
    """Words that Mermaid takes for nothing else."""
    for char, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;")):
        words = words.replace(char, code)
    return " ".join(svg.shown(words).split())
