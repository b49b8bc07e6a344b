"""Who stands how to whom, as it was seen last: a picture of the relations between participants."""

from __future__ import annotations

from typing import Final

import networkx as nx

from tongyao.app.pictures import svg
from tongyao.protocol.model.observation import Observation, Pair, Relation

_STYLES: Final = {
    Relation.COMPLEMENTARY: ("#0f766e", "", "互补", "---|{}|"),
    Relation.ALIGNED: ("#1d4ed8", "10 4", "同向", "-.-|{}|"),
    Relation.OFFSETTING: ("#b45309", "2 5", "对冲", "===|{}|"),
}
"""Colour, dashes (so that no colour need be told from another), the Chinese word, and Mermaid's link."""

SIZE, RADIUS, NODE = 460.0, 150.0, 24


def seen_last(observations: list[Observation]) -> list[Pair]:
    """For each pair the relation of the last round in which one was found, in order."""
    found: dict[tuple[str, str], Pair] = {}
    for seen in sorted(observations, key=lambda one: one.round):
        found |= {(pair.a, pair.b): pair for pair in seen.pairs if pair.relation.related}
    return [pair for _, pair in sorted(found.items())]


def relation_svg(aliases: list[str], observations: list[Observation], *, language: str = "en") -> str:
    """The participants in a circle, joined by how they relate. Which items a relation stands on is each line's title."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(aliases)
    pairs = [pair for pair in seen_last(observations) if pair.a in graph and pair.b in graph]
    places = {
        alias: (SIZE / 2 + RADIUS * x, SIZE / 2 + RADIUS * y)
        for alias, (x, y) in ((name, map(float, at)) for name, at in nx.circular_layout(graph).items())
    }
    body = [
        svg.line(
            places[pair.a], places[pair.b], colour=_STYLES[pair.relation][0], dash=_STYLES[pair.relation][1], width=2.5,
            title=f"{pair.a} – {pair.b}: {words(pair, language)} ({', '.join(pair.cited)})",
        )
        for pair in pairs
    ]  # fmt: skip
    for alias, (x, y) in places.items():
        body += [
            svg.circle(x, y, NODE, fill="#f1f5f9", stroke=svg.INK),
            svg.text(x, y + 5, alias, anchor="middle", bold=True),
        ]
    for row, relation in enumerate(_STYLES):
        colour, dash, *_ = _STYLES[relation]
        y = SIZE + 8 + row * 22
        body += [svg.line((20, y - 4), (64, y - 4), colour=colour, dash=dash, width=2.5)]
        count = sum(relation in pair.relations for pair in pairs)
        body += [svg.text(74, y, f"{word(relation, language)} · {count}")]
    return svg.document(SIZE, SIZE + 70, "关系" if language == "zh" else "Relations", body)


def relation_mermaid(aliases: list[str], observations: list[Observation], *, language: str = "en") -> str:
    """The same as a Mermaid flowchart."""
    rows = ["flowchart LR", *(f"    {alias}(({alias}))" for alias in aliases)]
    for pair in seen_last(observations):
        link = _STYLES[pair.relation][3].format(words(pair, language))
        rows.append(f"    {pair.a} {link} {pair.b}")
    return "\n".join(rows) + "\n"


def words(pair: Pair, language: str) -> str:
    """The names of its one or two relations."""
    return " + ".join(word(one, language) for one in pair.relations)


def word(relation: Relation, language: str) -> str:
    return _STYLES[relation][2] if language == "zh" else relation.value
