"""What the demo prints of a process: a line for each round as it closes, and at the end one screenful."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from rich.cells import chop_cells
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tongyao.commands.words import say_in
from tongyao.gateway.console.reading import matrix
from tongyao.protocol.documents.plan_page import plan_page
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.audit import Finding, Result
from tongyao.protocol.rules.read_access import PartyView
from tongyao.records.repositories import Repositories
from tongyao.texts.catalogue import Language

_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")
_STYLES: Final = {"complementary": "green", "aligned": "blue", "offsetting": "yellow"}
_MARKS: Final = {Outcome.NOTHING_NEW: "○", Outcome.LAPSED: "–", Outcome.FAILED: "×", Outcome.LEFT: "left"}


async def follow_rounds(console: Console, repositories: Repositories, process_id: str, language: Language) -> Phase:
    """Print a line for each phase as it begins and each round as it closes, until the process ends or somebody is asked; returns its phase."""
    shown, closed = "", 0
    while True:
        asked = await repositories.inbox.of_process(process_id, open_only=True)
        row = await repositories.processes.get(process_id)
        ready = await repositories.events.of_kind(process_id, EventKind.OBSERVATION_READY)
        for event in ready[closed:]:
            console.print(await _round(repositories, process_id, event.data, language))
        closed = len(ready)
        if row.phase not in (shown, Phase.CRYSTALLIZING):
            console.print(Text(say_in(language, f"phase.{row.phase}"), style="dim"))
            shown = row.phase
        phase = Phase(row.phase)
        if phase.ended or asked:
            return phase
        await asyncio.sleep(0.2)


async def _round(repositories: Repositories, process_id: str, data: Mapping[str, object], language: Language) -> Text:
    number = data.get("round")
    said = [row for row in await repositories.rounds.projections(process_id) if row.round == number]
    turns = "  ".join(
        f"{row.alias} {_MARKS.get(row.outcome, row.items)}" for row in sorted(said, key=lambda row: row.alias)
    )
    return Text.assemble(
        (say_in(language, "demo.round", number=number), "bold"), f"  {turns}  ",
        (say_in(language, "demo.relations", relations=data.get("relations", 0), gaps=data.get("gaps", 0)), "dim"),
    )  # fmt: skip


def screenful(view: PartyView, findings: Sequence[Finding], *, language: Language, width: int) -> RenderableType:
    """Tension in five lines, the matrix, what is possible, two traced claims, the audit in a line, the heading of what to do next."""
    words = partial(say_in, language)
    parts: list[RenderableType] = []
    if view.tension is not None:
        parts += [_heading(words("demo.tension")), *_tension(view.tension, words, width)]
    if view.stands is not None:
        parts += [_heading(words("demo.pairs")), _matrix(view, words)]
    if view.plan is not None:
        possible = [_line(f"• {claim.text}", width, rows=4) for claim in view.plan.possible[:3]]
        parts += [_heading(words("demo.possible")), *possible]
        parts += [_heading(words("demo.traced")), *_traced(view.plan, width)]
    counts = Counter(finding.result for finding in findings)
    told = words("demo.apart").join(
        f"{counts[result]} {words(f'demo.{result.name.lower()}')}" for result in Result if counts[result]
    )
    parts += [Text.assemble("\n", (words("demo.audit"), "bold"), f"  {told}"), _heading(words("demo.next"))]
    return Group(*parts)


def _tension(tension: Tension, words: Callable[..., str], width: int) -> list[Text]:
    barriers = " ".join(f"B{number} {text}" for number, text in enumerate(tension.barriers, 1))
    lines = [("T", tension.transition), ("I", tension.initial_state), ("B", barriers), ("E", tension.exchange)]
    return [
        *(_line(text, width, before=f"  {lens}  ") for lens, text in lines),
        Text(f"  {words('demo.grade')} {tension.grade.value}"),
    ]


def _matrix(view: PartyView, words: Callable[..., str]) -> Table:
    rows = matrix(view)
    table = Table("", *(cell.a for cell in rows[-1]) if rows else (), box=None, padding=(0, 2))
    for row in rows:
        cells = [
            Text(" + ".join(words(f"demo.{kind}") for kind in cell.kinds), style=_STYLES.get(cell.kinds[0], "dim"))
            for cell in row
        ]
        table.add_row(f"[bold]{row[0].b}[/]", *cells)
    return table


def _traced(plan: Plan, width: int) -> list[Text]:
    """Two claims that rest on what participants said, each with the first sentence behind it."""
    laid_out = plan_page(plan)
    notes = {note.number: note for note in laid_out.notes}
    found: list[Text] = []
    for section in laid_out.sections:
        if section.kind not in ("possible", "roles"):
            continue
        for entry in (entry for group in section.groups for entry in group.entries):
            lines = notes[entry.note].lines if entry.note else ()
            said = next((line for line in lines if line.text and line.id.startswith("R") and "/P" in line.id), None)
            if said is not None and len(found) < 4:
                found += [
                    _line(f"• {entry.text}", width, rows=4),
                    _line(f"“{said.text}”", width, before=f"    ← {said.label}: ", rows=3),
                ]
                break
    return found


def _heading(words: str) -> Text:
    return Text(f"\n{words}", style="bold")


def _line(text: str, width: int, *, before: str = "", rows: int = 1) -> Text:
    """At most `rows` lines of a terminal that is `width` wide."""
    whole = " ".join(text.split())
    line = Text.assemble((before, "dim"), whole)
    line.truncate(width * rows - 4 * (rows - 1), overflow="ellipsis")
    if rows > 1 and _CHINESE.search(whole):  # rich breaks lines at spaces alone, and Chinese has hardly any
        return Text("\n  ".join(chop_cells(line.plain, width - 2)))
    return line
