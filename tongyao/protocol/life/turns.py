"""One participant's turn in a round: waiting for it, adding words, ending it (docs/protocol.md §3.3)."""

from __future__ import annotations

from datetime import datetime, timedelta

from pydantic import JsonValue

from tongyao.protocol.life.clock import ask_until, process_time, wall_time
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import State, Turn, Words
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import SwitchEndpoint, is_own
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.settings import Fallback, to_proxy


def wait_for(state: State, turn: Turn, now: datetime) -> None:
    """Ask a person or their agent, and set the deadline."""
    turn.deadline = ask_until(state, state.start.settings.turn_seconds, now, whose=turn.alias)
    due = wall_time(state, turn.deadline.due).isoformat()
    note(state, EventKind.TURN_WAITING, now, alias=turn.alias, round=state.round, due=due)


def hear_words(state: State, alias: str, said: Words, now: datetime) -> None:
    """Add words of a person or their agent to the open round. Words without a text mean that there is nothing new.

    A lane's words for the open round replace its earlier ones; others are added. The time for corrections starts again.
    """
    turn = state.turns.setdefault(alias, Turn(alias=alias))
    corrected = [words for words in turn.words if words.lane == said.lane and words.round == said.round == state.round]
    turn.words = [words for words in turn.words if words not in corrected] + [said] * bool(said.text_id)
    turn.nothing_new = not turn.words
    endpoint = state.endpoint_of(alias)
    turn.author = EndpointKind.HUMAN if endpoint is EndpointKind.PROXY else endpoint  # sent before the proxy took over
    turn.revision += 1
    turn.batch = 0
    turn.outcome = None
    turn.reason = ""
    if seconds := state.start.settings.correcting_seconds:
        state.correcting_until = process_time(state, now) + timedelta(seconds=seconds)


def counts_in(state: State) -> int:
    """Return the round in which words count that arrive now: the open round, or else the next one."""
    return state.round + (state.phase is not Phase.CRYSTALLIZING or not state.gate_open)


def end(state: State, turn: Turn, outcome: Outcome, now: datetime, *, items: int = 0, struck: int = 0) -> None:
    """Close a turn with its outcome."""
    turn.outcome = outcome
    turn.deadline = None
    data: dict[str, JsonValue] = {"outcome": outcome.value, "items": items, "struck": struck}
    if turn.author is not None:
        data["author"] = turn.author.value
    note(state, EventKind.PROJECTION_RECEIVED, now, alias=turn.alias, round=state.round, **data)


def fall_back(state: State, turn: Turn, now: datetime) -> None:
    """Apply the fallback of a person whose deadline has passed."""
    note(state, EventKind.ESCALATED, now, alias=turn.alias, round=state.round)
    seat = state.seats[turn.alias]
    turn.deadline = None
    if seat.fallback is Fallback.PROXY and seat.consented:
        seat.endpoint = EndpointKind.PROXY
        _note_switch(state, turn.alias, now)
    elif seat.fallback is Fallback.LEAVE:
        leave(state, turn.alias, now)
    else:
        end(state, turn, Outcome.LAPSED, now)


def leave(state: State, alias: str, now: datetime) -> None:
    """Let a participant leave the room. Words of this and earlier rounds are kept. A turn without words is `left`."""
    state.seats[alias].active = False
    note(state, EventKind.PARTICIPANT_LEFT, now, alias=alias, round=state.round)
    if state.late_words.pop(alias, None):
        note(state, EventKind.WORDS_UNUSED, now, alias=alias, round=state.round)
    turn = state.turns.get(alias)
    if turn is not None and turn.open and not turn.answered:
        end(state, turn, Outcome.LEFT, now)


def switch(state: State, message: SwitchEndpoint, now: datetime) -> None:
    """Change the endpoint of a seat. It applies in this round if nobody has spoken yet.

    A person's own switch to a proxy, now or as fallback, is consent to the proxy.
    """
    alias, endpoint, fallback = message.alias, message.endpoint, message.fallback
    seat = state.seats[alias]
    if is_own(message) and to_proxy(endpoint, fallback):
        seat.consented = True
    before, seat.endpoint = seat.endpoint, endpoint
    seat.fallback = fallback or seat.fallback
    _note_switch(state, alias, now)
    turn = state.turns.get(alias)
    if state.phase is not Phase.CRYSTALLIZING or turn is None or not turn.open or turn.answered or before is endpoint:
        return
    if endpoint is EndpointKind.PROXY:
        turn.deadline = None
    elif before is EndpointKind.PROXY:
        turn.taken_back += turn.batch != 0
        turn.batch = 0
        wait_for(state, turn, now)


def _note_switch(state: State, alias: str, now: datetime) -> None:
    seat = state.seats[alias]
    note(state, EventKind.ENDPOINT_SWITCHED, now, alias=alias, to=seat.endpoint.value, fallback=seat.fallback.value)
