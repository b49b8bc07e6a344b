"""The outbox of one process: events that are not yet in the records (docs/protocol.md §11)."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue
from temporalio import workflow

from tongyao.protocol.life.snapshot import snapshot
from tongyao.protocol.model.events import Event, EventKind, Outbox, SignalledText
from tongyao.protocol.model.process import State


class Journal:
    """Notes transitions; every activity takes along what is not yet written, and gives it back if it fails."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._events: list[Event] = []
        self._texts: list[SignalledText] = []
        self._kept = False
        self._sent = 0
        self._urgent = 0
        self._known_tension = ""

    def note(self, kind: EventKind, data: Mapping[str, JsonValue] | None = None, *, urgent: bool = True) -> None:
        """Note that something happened. What is not urgent waits for the next activity, whichever that is."""
        self._state.seq += 1
        self._events.append(Event(seq=self._state.seq, kind=kind, at=workflow.now(), data=dict(data or {})))
        if urgent:
            self._urgent = self._state.seq

    def keep(self, text: SignalledText) -> None:
        self._texts.append(text)
        self._kept = True

    @property
    def urgent(self) -> bool:
        """Whether something should be written that no activity has taken along."""
        return self._urgent > self._sent

    def take(self) -> Outbox | None:
        """What has not been sent yet; None when there is nothing."""
        events = tuple(event for event in self._events if event.seq > self._sent)
        self._sent = self._state.seq
        if not events and not self._kept:
            return None
        self._kept = False
        row = snapshot(self._state)
        if row.tension_text_id == self._known_tension:  # the row keeps what it is not told again
            row = row.model_copy(update={"tension_text_id": "", "grade": ""})
        return Outbox(snapshot=row, events=events, texts=tuple(self._texts))

    def written(self, outbox: Outbox | None) -> None:
        if outbox is not None:
            gone = {event.seq for event in outbox.events}
            self._events = [event for event in self._events if event.seq not in gone]
            self._texts = [text for text in self._texts if text not in outbox.texts]
            self._known_tension = outbox.snapshot.tension_text_id or self._known_tension

    def lost(self, outbox: Outbox | None) -> None:
        """The activity that carried `outbox` failed: it may not have been written, so it goes along again."""
        if outbox is not None:
            if outbox.events:
                self._sent = min(self._sent, outbox.events[0].seq - 1)
            self._kept = self._kept or bool(outbox.texts)
