"""Sources of a formulated tension: quoted spans of the intent and the profile, and sentences that are not quoted
(docs/protocol.md §2.3). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from tongyao.protocol.guards.checks import Complaint, complaint
from tongyao.protocol.guards.naming import named_targets
from tongyao.protocol.guards.quoting import REPLACED, Shown, find_pieces, find_quote
from tongyao.protocol.model.requests import FormulationRequest
from tongyao.protocol.model.sizes import units
from tongyao.protocol.model.tension import (
    MAX_BARRIERS,
    TENSION_UNITS,
    LineSpan,
    Source,
    TensionDraft,
)

SENTENCE: Final = re.compile(r"[^\n。！？!?；;.]*(?:\.(?=\S)[^\n。！？!?；;.]*)*[。！？!?；;.]*")
_LEAST: Final = 3
"""Least length of a sentence that counts, in units. A shorter sentence has no content that could be lost."""


def faults(draft: TensionDraft, request: FormulationRequest) -> Iterable[Complaint]:
    """Yield the faults of a draft: too long, lines without quotes, quotes that are not in the texts. The function is
    one of the checks of `guards.checks`."""

    def fault(name: str, **named: object) -> Complaint:
        return Complaint(text=complaint(request.language, name, **named), reason=name)

    lines = _lines(draft)
    if not draft.transition.strip():
        yield fault("no_transition")
    count = sum(name.startswith("B") for name in lines)
    if count > MAX_BARRIERS:
        yield fault("too_many_barriers", count=count, limit=MAX_BARRIERS)
    sizes = {name: units(text) for name, text in lines.items()}
    if (total := sum(sizes.values())) > TENSION_UNITS:
        by_part = ", ".join(f"{name} {size}" for name, size in sizes.items())
        yield fault("too_long", units=total, limit=TENSION_UNITS, parts=by_part)
    shown = (request.intent, request.material.text if request.material else "")
    quoted: set[str] = set()
    for said in draft.quotes:
        named = named_targets([said.line], lines)
        quoted.update(named)
        if named and not any(find_pieces(text, said.quote) for text in shown):
            yield fault("line_quote_not_found", line=named[0], quote=said.quote.strip())
    for name in lines:
        if name not in quoted:
            yield fault("line_without_quote", line=name)


def spans_of(
    draft: TensionDraft, *, intent: str, profile: str = "", shown: Sequence[tuple[int, int]] = ()
) -> tuple[LineSpan, ...]:
    """Return the spans of a draft's quotes in the unchanged texts of the demander. Quotes not found are left out.

    The model read the texts with marks in place of names. A quote that contains a mark is found by the words before and
    after the mark. `shown`: the spans of the profile that the model read; empty if it read the whole profile.
    """
    texts: Mapping[Source, Shown] = {"intent": Shown(intent), "profile": Shown(profile, shown)}
    lines = _lines(draft)
    found: dict[LineSpan, None] = {}
    for said in draft.quotes:
        for name in named_targets([said.line], lines):
            for source, text in texts.items():
                if spans := text.in_source(_in_original(text.text, said.quote)):
                    found |= {LineSpan(line=name, source=source, start=start, end=end): None for start, end in spans}
                    break
    return tuple(found)


def not_taken_up(intent: str, spans: Sequence[LineSpan]) -> tuple[str, ...]:
    """Return the sentences of the intent that no line of the tension quotes; none if the tension has no quotes."""
    if not spans:
        return ()
    taken = [(span.start, span.end) for span in spans if span.source == "intent"]
    return tuple(
        sentence
        for found in SENTENCE.finditer(intent)
        if units(sentence := found.group().strip()) >= _LEAST
        and not any(start < found.end() and found.start() < end for start, end in taken)
    )


def _in_original(text: str, quote: str) -> tuple[tuple[int, int], ...]:
    if spans := find_pieces(text, quote):
        return spans
    parts = [part.strip() for part in REPLACED.split(quote)]
    kept = [span for part in parts if units(part) > 1 and (span := find_quote(text, part)) is not None]
    if len(parts) < 2 or not kept or any(first[1] > second[0] for first, second in pairwise(kept)):
        return ()
    return ((kept[0][0], kept[-1][1]),)


def _lines(draft: TensionDraft) -> dict[str, str]:
    """Return the lines that have text, by label. Blank barriers get no number, as in the resulting tension."""
    barriers = [barrier for barrier in draft.barriers if barrier.strip()]
    every = {"T": draft.transition, "I": draft.initial_state}
    every |= {f"B{number}": barrier for number, barrier in enumerate(barriers, 1)}
    every["E"] = draft.exchange
    return {name: text for name, text in every.items() if text.strip()}
