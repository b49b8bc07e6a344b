"""The outbox of a process: events that are not yet in the records (docs/protocol.md §11)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pydantic import JsonValue

from tongyao.protocol.contracts.process import DiscoverOutput
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import Event, EventKind


def note(state: State, kind: EventKind, now: datetime, /, **data: JsonValue) -> None:
    """Add an event to the outbox."""
    state.seq += 1
    state.outbox.append(Event(seq=state.seq, kind=kind, at=now, data=data))
    if kind.urgent:
        state.urgent = state.seq


def note_found(state: State, found: DiscoverOutput, now: datetime) -> None:
    """Add the event of people whom the field found, before the rounds or as possible additions to them."""
    candidates: list[JsonValue] = [[one.profile_id, one.perspective, round(one.score, 4)] for one in found.candidates]
    later: dict[str, JsonValue] = {"round": state.round} if state.round else {}
    note(state, EventKind.FIELD_ACTIVATED, now, **{"candidates": candidates, **later})


def written(state: State, events: Iterable[int], texts: Iterable[str]) -> None:
    """Remove events (by number) and signalled texts (by id) that are now in the records."""
    gone, stored = set(events), set(texts)
    state.outbox = [event for event in state.outbox if event.seq not in gone]
    state.signalled = [text for text in state.signalled if text.text_id not in stored]


def urgent(state: State) -> bool:
    """Whether the outbox must be written without waiting for another step."""
    return bool(state.signalled) or any(event.seq <= state.urgent for event in state.outbox)
