"""The result of a query: 9 short sentences, 6 long ones, 3 paragraphs, 1 source text and 2 related ones (docs/highway.md).

Each level is sorted by its own score. The same text appears only once, at the lowest level where it is found. `fitted`
is a selection within a number of characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.recite.segments import Level
from crystalline_highway.seek.seeking import Session

POLICY = {Level.SHORT: 9, Level.LONG: 6, Level.PARAGRAPH: 3, Level.TEXT: 3}
UNKNOWN = 0.5
"""More passes are requested if a query has no result, or a larger share of unknown base units than this."""


@dataclass(frozen=True)
class Excerpt:
    """A piece of text with a score above 0.

    `start`, `end`: characters of its source text. `source`: index of the source text. `labels`: the queries that
    matched it, highest score first. `place`: its number on its level (for `explain`).
    """

    level: Level
    place: int
    source: int
    start: int
    end: int
    score: float
    labels: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class SeekResult:
    """The result of one query.

    At most 9 `short`, 6 `long`, 3 `paragraphs` and 2 `related` pieces. `memory`: the source text with the highest
    score. `fitted`: pieces without overlap, in total within the budget. `unknown`: by label, the share of the query's
    base units that are not in the memory. `recite_more`: too little was found (see `Highway.due`).
    """

    short: tuple[Excerpt, ...]
    long: tuple[Excerpt, ...]
    paragraphs: tuple[Excerpt, ...]
    memory: Excerpt | None
    related: tuple[Excerpt, ...]
    fitted: tuple[Excerpt, ...]
    unknown: dict[str, float]
    recite_more: bool


def select_output(session: Session, texts: Sequence[str], budget: int = 0) -> SeekResult:
    """Select the pieces of a session's result. `texts`: the recited source texts. `budget`: characters of `fitted`.

    Raises ValueError if the lengths of the texts differ from those of the recited texts, or if the budget is negative.
    """
    memory = session.memory
    lengths = np.diff(memory.sources) - 1
    if [len(text) for text in texts] != lengths.tolist():
        raise ValueError("these are not the texts that were recited (their lengths differ): recite these texts first")
    if budget < 0:
        raise ValueError(f"budget must not be negative, got {budget}")
    seen: set[int] = set()
    by_level = {level: _best(session, texts, level, count, seen) for level, count in POLICY.items()}
    whole = by_level[Level.TEXT]
    lost = [label for label, share in session.unknown.items() if share > UNKNOWN]
    return SeekResult(
        short=tuple(by_level[Level.SHORT]),
        long=tuple(by_level[Level.LONG]),
        paragraphs=tuple(by_level[Level.PARAGRAPH]),
        memory=whole[0] if whole else None,
        related=tuple(whole[1:]),
        fitted=tuple(fill_budget(session, texts, budget)),
        unknown=dict(session.unknown),
        recite_more=bool(lost) or not by_level[Level.SHORT],
    )


def ranked(glow: NDArray[np.float32]) -> Iterator[int]:
    """Yield places with a score above 0, best first, with equal scores in text order. Sorts lazily, in parts."""
    lit = np.flatnonzero(glow > 0)
    while len(lit):
        bright = glow[lit]
        least = np.partition(bright, -_AT_ONCE)[-_AT_ONCE] if len(lit) > _AT_ONCE else 0
        now = lit[bright >= least]
        yield from now[np.argsort(-glow[now], kind="stable")].tolist()
        lit = lit[bright < least]


_AT_ONCE = 128


def _best(session: Session, texts: Sequence[str], level: Level, count: int, seen: set[int]) -> list[Excerpt]:
    table, glow = session.memory.tables[level], session.glow(level)
    best: list[Excerpt] = []
    for place in ranked(glow):
        unit = int(table.units[table.places[place]])
        if unit in seen:
            continue
        seen.add(unit)
        best.append(piece_at(session, texts, level, place, float(glow[place])))
        if len(best) == count:
            break
    return best


def piece_at(session: Session, texts: Sequence[str], level: Level, place: int, score: float) -> Excerpt:
    """The piece at one place, with its source span and the labels of the queries that matched it."""
    memory = session.memory
    source = int(memory.text_of(level)[place])
    start, end = (memory.spans[level][place] - memory.sources[source]).tolist()
    lights = [(float(by_level[level].glow[place]), label) for label, by_level in session.lit]
    labels = dict.fromkeys(label for light, label in sorted(lights, key=lambda x: -x[0]) if light > 0)
    return Excerpt(level, place, source, start, end, score, tuple(labels), texts[source][start:end])


def fill_budget(session: Session, texts: Sequence[str], budget: int) -> list[Excerpt]:
    """Select long sentences by score until the budget is used up. A sentence that does not fit is replaced by its best
    short sentence.

    No text is selected twice, and no pieces overlap. The best come first. The total is at most `budget` characters.
    """
    chosen: list[Excerpt] = []
    seen: set[int] = set()
    left, memory = budget, session.memory
    long, short = memory.tables[Level.LONG], memory.tables[Level.SHORT]
    long_glow, short_glow = session.glow(Level.LONG), session.glow(Level.SHORT)
    misses = 0
    for place in ranked(long_glow):
        # stop after 32 misses: later segments have low scores and do not justify a walk over all matched segments
        if left <= 0 or misses >= 32:
            break
        misses += 1
        level, score = Level.LONG, float(long_glow[place])
        unit = int(long.units[long.places[place]])
        span = memory.spans[level][place]
        if span[1] - span[0] > left:
            inside = np.arange(*np.searchsorted(short.above, [place, place + 1]))
            fitting = inside[np.diff(memory.spans[Level.SHORT][inside], axis=1).ravel() <= left]
            if not len(fitting) or short_glow[fitting].max() <= 0:
                continue
            place, level = int(fitting[np.argmax(short_glow[fitting])]), Level.SHORT
            unit = int(short.units[short.places[place]])
        if unit in seen:
            continue
        seen.add(unit)
        misses = 0
        chosen.append(piece_at(session, texts, level, place, score))
        left -= chosen[-1].end - chosen[-1].start
    return chosen
