"""A picture of the relations that hold between participants."""

from __future__ import annotations

from collections.abc import Iterable
from math import hypot
from typing import Final

import networkx as nx

from tongyao.app.pictures import svg
from tongyao.protocol.model.ids import Pair
from tongyao.protocol.model.observation import Relation, RelationKind

_STYLES: Final = {
    RelationKind.COMPLEMENTARY: ("#0f766e", "", "互补", "---|{}|"),
    RelationKind.ALIGNED: ("#1d4ed8", "10 4", "同向", "-.-|{}|"),
    RelationKind.OFFSETTING: ("#b45309", "2 5", "对冲", "===|{}|"),
}
"""Colour, dashes (so that no colour need be told from another), the Chinese word, and Mermaid's link."""

SIZE, RADIUS, NODE = 460.0, 150.0, 24
_APART = 8.0
"""Pixels between the lines of one pair."""
Place = tuple[float, float]


def relation_svg(aliases: list[str], relations: Iterable[Relation], *, language: str = "en") -> str:
    """The participants in a circle. Each pair is joined by one line for each kind of relation; what they rest on is its title."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(aliases)
    held = {pair: kinds for pair, kinds in _kinds(relations).items() if pair[0] in graph and pair[1] in graph}
    places = {
        alias: (SIZE / 2 + RADIUS * x, SIZE / 2 + RADIUS * y)
        for alias, (x, y) in ((name, map(float, at)) for name, at in nx.circular_layout(graph).items())
    }
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
    return svg.document(SIZE, SIZE + 70, "关系" if language == "zh" else "Relations", body)


def relation_mermaid(aliases: list[str], relations: Iterable[Relation], *, language: str = "en") -> str:
    """The same as a Mermaid flowchart."""
    rows = ["flowchart LR", *(f"    {alias}(({alias}))" for alias in aliases)]
    for (a, b), kinds in _kinds(relations).items():
        rows += [f"    {a} {_STYLES[kind][3].format(word(kind, language))} {b}" for kind in kinds]
    return "\n".join(rows) + "\n"


def _kinds(relations: Iterable[Relation]) -> dict[Pair, dict[RelationKind, list[str]]]:
    """By pair of participants the kinds of its relations, and the items that those of a kind rest on."""
    found: dict[Pair, dict[RelationKind, list[str]]] = {}
    for one in sorted((one for one in relations if one.of_participants), key=lambda one: (one.between, one.id)):
        found.setdefault(one.between, {}).setdefault(one.kind, []).extend(one.sources)
    return found


def _beside(start: Place, end: Place, aside: float) -> tuple[Place, Place]:
    """A line moved sideways by `aside` pixels."""
    (x1, y1), (x2, y2) = start, end
    length = hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (y1 - y2) / length * aside, (x2 - x1) / length * aside
    return (x1 + dx, y1 + dy), (x2 + dx, y2 + dy)


def word(kind: RelationKind, language: str) -> str:
    return _STYLES[kind][2] if language == "zh" else kind.value
