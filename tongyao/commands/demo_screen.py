"""The output of the demo: the start of the servers, three of the people, a line for each round, and the findings."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from rich.cells import cell_len, chop_cells
from rich.console import Console, RenderableType
from rich.text import Text

from tongyao.commands.words import say
from tongyao.protocol.documents.plan_page import plan_page
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.observation import RelationKind
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Item
from tongyao.protocol.rules.read_access import PartyView
from tongyao.records.repositories import Repositories

TOLD_SECONDS: Final = 20.0
"""Interval of the lines that name the part that is still starting."""
_SENTENCE: Final = re.compile(r"(?<=[。！？.!?])\s*")
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")
PHASES_SHOWN: Final = (Phase.PLANNING, Phase.COMPLETED)


@asynccontextmanager
async def progress(console: Console) -> AsyncIterator[Callable[[str], None]]:
    """Yields a callback that takes the name of each part when it starts; an empty name means that all have started.

    Every `TOLD_SECONDS` a line names the part that is still starting.
    """
    waiting = [""]
    began = time.monotonic()

    def starts(part: str) -> None:
        waiting[0] = part
        if part:
            console.print(say("demo.starts", what=say(f"demo.part_{part}")), style="dim")

    async def repeat() -> None:
        while True:
            await asyncio.sleep(TOLD_SECONDS)
            if waiting[0]:
                what, seconds = say(f"demo.part_{waiting[0]}"), round(time.monotonic() - began)
                console.print(say("demo.still_waiting", what=what, seconds=seconds), style="dim")

    repeated = asyncio.create_task(repeat())
    try:
        yield starts
    finally:
        repeated.cancel()


async def follow_rounds(
    console: Console, repositories: Repositories, process_id: str, starts: Callable[[str], None]
) -> Phase:
    """Print a line for each round as it closes, until the process ends or has an open ask. Returns its phase.

    Calls `starts` with an empty name when a round has closed.
    """
    shown, closed = "", 0
    while True:
        asked = await repositories.inbox.of_process(process_id, open_only=True)
        row = await repositories.processes.get(process_id)
        ready = await repositories.events.of_kind(process_id, EventKind.OBSERVATION_READY)
        for event in ready[closed:]:
            starts("")
            said = [
                turn for turn in await repositories.rounds.projections(process_id) if turn.round == event.data["round"]
            ]
            counts = {"said": sum(turn.items for turn in said), "people": sum(1 for turn in said if turn.items)}
            relations, gaps = event.data.get("relations", 0), event.data.get("gaps", 0)
            told = say(
                "demo.round" if counts["said"] else "demo.round_silent",
                round=event.data["round"],
                relations=relations,
                gaps=gaps,
                **counts,
            )
            console.print(told, highlight=False)
        closed = len(ready)
        phase = Phase(row.phase)
        if phase != shown and phase in PHASES_SHOWN:
            console.print(say(f"phase.{phase.value}"), style="dim")
        shown = phase
        if phase.ended or asked:
            return phase
        await asyncio.sleep(0.2)


def introduction(intent: str, people: Mapping[str, Path], width: int) -> list[RenderableType]:
    """Return three lines of the intent, and the first words of three profiles. `people`: their files by alias."""
    shown: list[RenderableType] = [_heading(say("demo.wish")), _lines(intent, width, before="  ", rows=3)]
    shown.append(_heading(say("demo.people", n=len(people))))
    profiles = {alias: _first_words(file.read_text(encoding="utf-8")) for alias, file in people.items()}
    for alias in sorted(profiles, key=lambda alias: (profiles[alias][1], alias))[:3]:
        shown.append(_lines(profiles[alias][0], width, before=f"  {alias}  ", rows=2))
    return shown


def _first_words(profile: str) -> tuple[str, bool]:
    """Return the first sentences of a profile below its headings, and whether it begins with a heading."""
    paragraphs = [line.strip() for line in profile.splitlines() if line.strip()]
    prose = [line for line in paragraphs if line[-1] in "。！？.!?" and not line.startswith("#")] or paragraphs[:1]
    return " ".join(_SENTENCE.split(prose[0])[:3]), paragraphs[0].startswith(("#", "**"))


def found(view: PartyView, width: int) -> list[RenderableType]:
    """Return two possible results of the plan with the words on which they rest, and one offsetting relation."""
    shown: list[RenderableType] = []
    items = {item.id: item for turn in view.projections or () for item in turn.items}
    for claim in view.plan.possible if view.plan is not None else ():
        words = _words_behind(claim.sources, items)
        if len(words) > 1 and len(shown) < 6:
            shown += [
                _lines(f"• {claim.text}", width, rows=2),
                *(_lines(line, width, before="    ", rows=1) for line in words),
            ]
    relations = view.stands.relations if view.stands is not None else ()
    collision = next(
        (seen for seen in relations if seen.kind is RelationKind.OFFSETTING and seen.between[1].startswith("P")), None
    )
    if collision is not None:
        between = say("demo.and").join(collision.between)
        shown.append(_lines(collision.text, width, before=f"• {say('demo.collides', between=between)} ", rows=3))
    return [_heading(say("demo.found")), *shown, Text()] if shown else []


def _words_behind(sources: tuple[str, ...], items: Mapping[str, Item]) -> list[str]:
    """Return one verbatim quote of each of the first two people on whose words a claim rests."""
    words: dict[str, str] = {}
    for source in sources:
        item = items.get(source)
        if item is not None and item.quotes:
            alias = source.split("/")[1]
            words.setdefault(alias, say("demo.said", alias=alias, words=item.quotes[0]))
    return list(words.values())[:2]


def sources_of(view: PartyView) -> int:
    """Return the number of sources that the plan lists."""
    return len(plan_page(view.plan).notes) if view.plan is not None else 0


def _heading(words: str) -> Text:
    return Text(f"\n{words}", style="bold")


def _lines(text: str, width: int, *, before: str = "", rows: int) -> Text:
    """Return at most `rows` lines of a terminal that is `width` wide, indented like their first line."""
    indent = " " * min(cell_len(before) or 2, 4)
    line = Text.assemble((before, "dim"), " ".join(text.split()))
    line.truncate((width - len(indent)) * rows - 6 * (rows - 1), overflow="ellipsis")
    if rows > 1 and _CHINESE.search(line.plain):  # rich breaks lines only at spaces, which are rare in Chinese
        return Text(f"\n{indent}".join(chop_cells(line.plain, width - len(indent) - 2)))
    return line
