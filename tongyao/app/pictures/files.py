"""The pictures of a process, by file name: its relations and its tasks, as SVG and Mermaid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter
from math import cos, hypot, sin, tau
from typing import Final

from tongyao.app.pictures import svg
from tongyao.protocol.model.ids import Pair
from tongyao.protocol.model.observation import Relation, RelationKind
from tongyao.protocol.model.plan import OUTSIDE, Plan, Task
from tongyao.protocol.rules.read_access import Stands

NAMES = ("relations.svg", "relations.mmd", "tasks.svg", "tasks.mmd")


def pictures(aliases: list[str], stands: Stands | None, plan: Plan | None, *, language: str) -> dict[str, str]:
    """Return pictures by file name: relations after the first observation, and tasks if there is a plan."""
    drawn = {}
    if stands is not None:
        drawn["relations.svg"] = relation_svg(aliases, stands.relations, language=language)
        drawn["relations.mmd"] = relation_mermaid(aliases, stands.relations, language=language)
    if plan is not None:
        drawn["tasks.svg"] = task_svg(plan)
        drawn["tasks.mmd"] = task_mermaid(plan)
    return drawn


_STYLES: Final = {
    RelationKind.COMPLEMENTARY: ("#0f766e", "", "---|{}|"),
    RelationKind.ALIGNED: ("#1d4ed8", "10 4", "-.-|{}|"),
    RelationKind.OFFSETTING: ("#b45309", "2 5", "===|{}|"),
}
"""Colour, dash pattern (so that colours need not be distinguished), and Mermaid link."""

SIZE, RADIUS, NODE = 460.0, 150.0, 24
_APART = 8.0
"""Distance between the lines of one pair, in pixels."""
Place = tuple[float, float]


def relation_svg(aliases: list[str], relations: Iterable[Relation], *, language: str = "en") -> str:
    """Draw the participants in a circle. A line joins a pair for each kind of relation. Its title lists the sources."""
    held = {pair: kinds for pair, kinds in _kinds(relations).items() if set(pair) <= set(aliases)}
    places = _circle(aliases)
    body = []
    for (a, b), kinds in held.items():
        for at, (kind, cited) in enumerate(kinds.items()):
            aside = (at - (len(kinds) - 1) / 2) * _APART
            title = f"{a} – {b}: {word(kind, language)} ({', '.join(cited)})"
            colour, dash, *_ = _STYLES[kind]
            start, end = _beside(places[a], places[b], aside)
            body.append(svg.line(start, end, colour=colour, dash=dash, width=2.5, title=title))
    for alias, (x, y) in places.items():
        body += [
            svg.circle(x, y, NODE, fill="#f1f5f9", stroke=svg.INK),
            svg.text(x, y + 5, alias, anchor="middle", bold=True),
        ]
    for row, (kind, (colour, dash, *_)) in enumerate(_STYLES.items()):
        y = SIZE + 8 + row * 22
        count = sum(kind in kinds for kinds in held.values())
        body += [svg.line((20, y - 4), (64, y - 4), colour=colour, dash=dash, width=2.5)]
        body += [svg.text(74, y, f"{word(kind, language)} · {count}")]
    return svg.document(SIZE, SIZE + 70, svg.word(language, "relations"), body)


def relation_mermaid(aliases: list[str], relations: Iterable[Relation], *, language: str = "en") -> str:
    rows = ["flowchart LR", *(f"    {alias}(({alias}))" for alias in aliases)]
    for (a, b), kinds in _kinds(relations).items():
        rows += [f"    {a} {_STYLES[kind][2].format(word(kind, language))} {b}" for kind in kinds]
    return "\n".join(rows) + "\n"


def _circle(aliases: list[str]) -> dict[str, Place]:
    """Return pixel positions at equal distances on a circle, from its right. A single participant is in the middle."""
    radius = RADIUS if len(aliases) > 1 else 0.0
    angles = [tau * at / len(aliases) for at in range(len(aliases))]
    return {
        alias: (SIZE / 2 + radius * cos(angle), SIZE / 2 + radius * sin(angle))
        for alias, angle in zip(aliases, angles, strict=True)
    }


def _kinds(relations: Iterable[Relation]) -> dict[Pair, dict[RelationKind, list[str]]]:
    """Return for each pair of participants the kinds of its relations, with their sources."""
    found: dict[Pair, dict[RelationKind, list[str]]] = {}
    for relation in sorted((row for row in relations if row.of_participants), key=lambda row: (row.between, row.id)):
        found.setdefault(relation.between, {}).setdefault(relation.kind, []).extend(relation.sources)
    return found


def _beside(start: Place, end: Place, aside: float) -> tuple[Place, Place]:
    """Return the line, moved sideways by `aside` pixels."""
    (x1, y1), (x2, y2) = start, end
    length = hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (y1 - y2) / length * aside, (x2 - x1) / length * aside
    return (x1 + dx, y1 + dy), (x2 + dx, y2 + dy)


def word(kind: RelationKind, language: str) -> str:
    return svg.word(language, kind.value)


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
