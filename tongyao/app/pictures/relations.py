"""A picture of the valid relations between participants."""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, hypot, sin, tau
from typing import Final

from tongyao.app.pictures import svg
from tongyao.protocol.model.ids import Pair
from tongyao.protocol.model.observation import Relation, RelationKind

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
    """Return the relations as a Mermaid flowchart."""
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
