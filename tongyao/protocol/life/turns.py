"""Functions on one participant's turn in a round: ask, add words, end the turn (docs/protocol.md §3.3).

A function `refuse_…` returns the reason why a message cannot be applied now, or None.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pydantic import JsonValue

from tongyao.protocol.life.clock import ask_until, process_time, wall_time
from tongyao.protocol.life.state import State, Turn, Words, note
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import (
    MAX_SAID,
    MAX_TAKEN_BACK,
    ExtendDeadline,
    Leave,
    SetMandate,
    SubmitProjection,
    SwitchEndpoint,
    is_own,
)
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.process_settings import Fallback, to_proxy
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.rules.refusals import Refusal


def wait_for(state: State, turn: Turn, now: datetime) -> None:
    """Ask a person or their agent, and set the deadline."""
    turn.deadline = ask_until(state, state.start.settings.turn_seconds, now, whose=turn.alias)
    due = wall_time(state, turn.deadline.due).isoformat()
    note(state, EventKind.TURN_WAITING, now, alias=turn.alias, round=state.round, due=due)


def refuse_words(state: State, message: SubmitProjection) -> Refusal | None:
    answers_gaps = message.alias == DEMANDER and DEMANDER not in state.seats
    if answers_gaps and not (state.demander_asked or DEMANDER in state.turns):
        return Refusal.DEMANDER_APART if state.seats else Refusal.NO_SEATS_YET
    if not answers_gaps and (refusal := refuse_without_seat(state, message.alias)) is not None:
        return refusal
    if message.nothing_new and message.text_id:
        return Refusal.TWO_ANSWERS
    if not message.nothing_new and not message.text_id:
        return Refusal.NOTHING_SAID
    if message.round > state.round:
        return Refusal.WRONG_ROUND
    if state.phase not in (Phase.CRYSTALLIZING, Phase.DECIDING, Phase.CONSENTING):
        return Refusal.ROUND_OVER
    entered = counts_in(state)
    if message.nothing_new and message.round < entered and not answers_gaps:
        return Refusal.ROUND_OVER
    if state.endpoint_of(message.alias) is EndpointKind.PROXY:
        return Refusal.PROXY_SPEAKS
    turn = state.turns.get(message.alias) if entered == state.round else None
    if turn is not None and turn.author is EndpointKind.PROXY and turn.outcome is not None and turn.outcome.spoken:
        return Refusal.TURN_OVER  # the words of a proxy are not corrected
    often = turn.revision if turn is not None else len(state.late_words.get(message.alias, ()))
    return Refusal.CORRECTED_ENOUGH if message.text_id and often >= MAX_SAID else None


def submit(state: State, message: SubmitProjection, now: datetime) -> None:
    """Add words to the open round, or keep them for the next round if the gate is closed. The event has the round."""
    said = Words(lane=message.lane, round=message.round, text_id=message.text_id)
    if message.alias == DEMANDER:
        state.demander_asked = 0
    entered = counts_in(state)
    note(state, EventKind.WORDS_ARRIVED, now, alias=message.alias, round=entered)
    if entered == state.round:
        hear_words(state, message.alias, said, now)
    else:
        state.late_words.setdefault(message.alias, []).append(said)


def hear_words(state: State, alias: str, said: Words, now: datetime) -> None:
    """Add words of a person or their agent to the open round. Words without a text mean `nothing_new`.

    Words for the open round replace the lane's earlier words for it. Late words are added. The time for corrections
    starts again.
    """
    turn = state.turns.setdefault(alias, Turn(alias=alias))
    corrected = [words for words in turn.words if words.lane == said.lane and words.round == said.round == state.round]
    turn.words = [words for words in turn.words if words not in corrected] + [said] * bool(said.text_id)
    turn.nothing_new = not turn.words
    endpoint = state.endpoint_of(alias)
    turn.author = EndpointKind.HUMAN if endpoint is EndpointKind.PROXY else endpoint  # words sent before the switch
    turn.revision += 1
    turn.batch = 0
    turn.outcome = None
    turn.reason = ""
    if seconds := state.start.settings.correcting_seconds:
        state.correcting_until = process_time(state, now) + timedelta(seconds=seconds)


def counts_in(state: State) -> int:
    """Return the round to which words are added if they arrive now: the open round, or else the next round."""
    return state.round + (state.phase is not Phase.CRYSTALLIZING or not state.gate_open)


def end_turn(state: State, turn: Turn, outcome: Outcome, now: datetime, *, items: int = 0, struck: int = 0) -> None:
    turn.outcome = outcome
    turn.deadline = None
    data: dict[str, JsonValue] = {"outcome": outcome.value, "items": items, "struck": struck}
    if turn.author is not None:
        data["author"] = turn.author.value
    note(state, EventKind.PROJECTION_RECEIVED, now, alias=turn.alias, round=state.round, **data)


def fall_back(state: State, turn: Turn, now: datetime) -> None:
    """Apply the fallback of the seat after the deadline of the turn has passed. A proxy without consent does not
    speak."""
    note(state, EventKind.ESCALATED, now, alias=turn.alias, round=state.round)
    seat = state.seats[turn.alias]
    turn.deadline = None
    if seat.fallback is Fallback.PROXY and seat.consented:
        seat.endpoint = EndpointKind.PROXY
        _note_switch(state, turn.alias, now)
    elif seat.fallback is Fallback.LEAVE:
        leave(state, turn.alias, now)
    else:
        end_turn(state, turn, Outcome.LAPSED, now)


def refuse_leaving(state: State, message: Leave) -> Refusal | None:
    alone = message.alias == DEMANDER and not state.others
    return refuse_without_seat(state, message.alias) or (Refusal.DEMANDER_ALONE if alone else None)


def leave(state: State, alias: str, now: datetime) -> None:
    """Let a participant leave the room. Their words are kept. If their turn has no words, its outcome is `left`."""
    state.seats[alias].active = False
    note(state, EventKind.PARTICIPANT_LEFT, now, alias=alias, round=state.round)
    if state.late_words.pop(alias, None):
        note(state, EventKind.WORDS_UNUSED, now, alias=alias, round=state.round)
    turn = state.turns.get(alias)
    if turn is not None and turn.open and not turn.answered:
        end_turn(state, turn, Outcome.LEFT, now)


def refuse_switch(state: State, message: SwitchEndpoint) -> Refusal | None:
    if (refusal := refuse_without_seat(state, message.alias)) is not None:
        return refusal
    seat = state.seats[message.alias]
    proxy = to_proxy(message.endpoint, message.fallback)
    if proxy and seat.profile is None:
        return Refusal.NO_PROFILE
    if proxy and not seat.consented:
        return None if is_own(message) else Refusal.NO_CONSENT
    same = message.endpoint is seat.endpoint and message.fallback in (None, seat.fallback)
    if same:
        return Refusal.NO_CHANGE
    turn = state.turns.get(message.alias)
    takes_over = seat.endpoint is EndpointKind.PROXY and message.endpoint is not EndpointKind.PROXY
    if takes_over and is_own(message) and turn is not None and turn.open and turn.batch:
        return Refusal.TAKEN_OVER_OFTEN if turn.taken_back >= MAX_TAKEN_BACK else None
    return None


def switch(state: State, message: SwitchEndpoint, now: datetime) -> None:
    """Change the endpoint of a seat. The change applies in this round if the turn has no words or outcome yet.

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


def refuse_extension(state: State, message: ExtendDeadline) -> Refusal | None:
    """Return why an extension is refused. It does not reveal for whom the process waits (docs/protocol.md §3.3)."""
    turn = state.turns.get(message.alias)
    if message.author.role == "participant":
        if turn is None or not turn.waits:
            return Refusal.NOTHING_TO_EXTEND
        if turn.extended_by_self:
            return Refusal.EXTENDED_ALREADY
        return Refusal.TOO_LONG if message.seconds > state.start.settings.turn_seconds else None
    if message.alias == DEMANDER and (state.deadline is not None or DEMANDER not in state.seats):
        return None if state.deadline is not None else Refusal.NOTHING_TO_EXTEND
    if (refusal := refuse_without_seat(state, message.alias)) is not None:
        return refusal
    return None if state.phase is Phase.CRYSTALLIZING and state.gate_open else Refusal.NOTHING_TO_EXTEND


def extend(state: State, message: ExtendDeadline, now: datetime) -> None:
    """Extend the deadline of a participant's turn, or of the demander in a phase that waits for the demander.

    Without such a deadline nothing changes and the message is still accepted, so that it does not reveal proxies.
    """
    turn = state.turns.get(message.alias)
    deadline = turn.deadline if turn is not None and turn.waits else None
    if deadline is None and message.alias == DEMANDER:
        deadline = state.deadline
    if deadline is None:
        return
    late = max(timedelta(0), process_time(state, now) - deadline.due)
    deadline.extended += late + timedelta(seconds=message.seconds)
    deadline.passed, deadline.check_at = False, None
    if turn is not None and message.author.role == "participant":
        turn.extended_by_self = True
    due = wall_time(state, deadline.due).isoformat()
    note(state, EventKind.DEADLINE_EXTENDED, now, alias=message.alias, due=due)


def refuse_mandate(state: State, message: SetMandate) -> Refusal | None:
    return None if message.alias in state.seats else _nobody(state, message.alias)


def refuse_without_seat(state: State, alias: str) -> Refusal | None:
    seat = state.seats.get(alias)
    if seat is None:
        return _nobody(state, alias)
    return None if seat.active else Refusal.HAS_LEFT


def _nobody(state: State, alias: str) -> Refusal:
    if not state.seats:
        return Refusal.NO_SEATS_YET
    return Refusal.DEMANDER_APART if alias == DEMANDER else Refusal.UNKNOWN_ALIAS
