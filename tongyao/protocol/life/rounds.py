"""Rounds: participants answer without reading each other, a gate waits for all answers, then the catalyst observes
(docs/protocol.md §3.2). If rounds cannot continue, the demander decides (§3.8)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Final

from tongyao.protocol.contracts.process import (
    OBSERVE,
    PROJECT,
    PROPOSE,
    DiscoverOutput,
    ObserveInput,
    ObserveOutput,
    ProjectInput,
    ProjectOutput,
    ProposeInput,
    TurnInput,
)
from tongyao.protocol.life import turns
from tongyao.protocol.life.clock import process_time, suspend
from tongyao.protocol.life.state import Cause, State, Turn, WantedStep, note, note_found
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import Decide, Decision
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import DEMANDER, DecidingCause, Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.rules.convergence import MORE_ROUNDS, Course, RoundResult, asks_everybody, course

NOT_ANSWERED: Final = "not_answered"
"""The reason of a failed turn, and the code of a suspension, if nobody answered a model call in time."""

ENDPOINTS_FAILED = "endpoints_failed"
"""The code of a suspension if all turns of a round failed for the same reason."""


def open(state: State, now: datetime) -> None:
    """Open the first round, or the next round after a decision of the demander.

    A decision adds two rounds, unless it is `raise_budget`. After a decision about too few people, the quorum is 1.
    """
    if state.round:
        if state.deciding_cause is DecidingCause.QUORUM:
            state.quorum_waived = True
        if state.decision is not Decision.RAISE_BUDGET:
            state.round_limit = max(state.round_limit, state.round) + MORE_ROUNDS
        state.budget_refused = False
        state.deciding_cause = None
    _open_round(state, now)


def wanted(state: State) -> dict[str, WantedStep]:
    """Return the steps of turns while the gate is open, and then the catalyst's step. If the demander is to decide,
    return the search for further people."""
    if state.gate_open:
        return _projections(state)
    if state.deciding_cause is not None:
        return _proposals(state)
    observe = ObserveInput(process_id=state.process_id, round=state.round)
    summary = f"catalyst · round {state.round} · {len(state.seats)} people"
    return {f"observe/{state.round}": WantedStep(OBSERVE, observe, summary, take=_observed)}


def _projections(state: State) -> dict[str, WantedStep]:
    steps = {}
    for batch in sorted({turn.batch for turn in state.turns.values() if turn.open and turn.batch}):
        members = _members(state, batch)
        inputs = tuple(
            TurnInput(
                alias=turn.alias,
                submissions=tuple(words.text_id for words in turn.words),
                author=(turn.author or EndpointKind.PROXY).value,
                revision=turn.revision,
            )
            for turn in members
        )
        ask = ProjectInput(process_id=state.process_id, round=state.round, turns=inputs)
        summary = f"{', '.join(turn.alias for turn in members)} · round {state.round}"
        steps[f"project/{state.round}/{batch}"] = WantedStep(
            PROJECT,
            ask,
            summary,
            take=partial(_projected, batch),
            split=partial(_split, batch),
            unanswered=partial(_unanswered, batch),
        )
    return steps


def _members(state: State, batch: int) -> list[Turn]:
    """Return the open turns of the step `batch`, in alias order."""
    return [turn for _, turn in sorted(state.turns.items()) if turn.open and turn.batch == batch]


def _proposals(state: State) -> dict[str, WantedStep]:
    start = state.start
    find = ProposeInput(
        process_id=start.process_id,
        scene=start.scene,
        round=state.round,
        limit=start.settings.max_others - len(state.others),
        excluded=state.excluded,
    )
    return {
        f"propose/{state.round}": WantedStep(
            PROPOSE, find, "find people near what is open", take=_proposed, optional=True
        )
    }


def _proposed(state: State, output: DiscoverOutput | None, now: datetime) -> Phase:
    """Record the people found, and let the demander decide. `output` is None if the search failed."""
    if output is not None:
        note_found(state, output, now)
    return Phase.DECIDING


def _open_round(state: State, now: datetime) -> None:
    """Open the next round with a turn for each person asked. Words that came too late for the last round are added."""
    _leave_as_in_origin(state, now, closed=True)
    state.round += 1
    state.gate_open = True
    asked = _asked(state)
    state.concerned = tuple(alias for alias in state.concerned if alias not in asked)
    state.turns = {alias: Turn(alias=alias) for alias in asked}
    note(state, EventKind.ROUND_OPENED, now, round=state.round, aliases=list(asked))
    late, state.late_words = state.late_words, {}
    for alias, words in sorted(late.items()):
        for said in words:
            turns.hear_words(state, alias, said, now)
    for turn in state.turns.values():
        if not turn.answered and not _is_proxy(state, turn.alias):
            turns.wait_for(state, turn, now)
    _ask_demander(state, now)


def _asked(state: State) -> tuple[str, ...]:
    """Return the aliases that are asked in the new round, in order (docs/protocol.md §5.5).

    A participant whose last outcome is `nothing_new` is asked only if an observation concerns them, if they sent late
    words, or in rounds that ask everybody. A fork also asks participants who spoke in this round of the origin.
    """
    if asks_everybody(state.results):
        return state.present
    spoke = _spoke_in_origin(state)
    asked = [
        alias
        for alias in state.present
        if alias in state.concerned
        or alias in state.late_words
        or alias in spoke
        or _last_outcome(state, alias) is not Outcome.NOTHING_NEW
    ]
    return tuple(asked) or state.present


def _spoke_in_origin(state: State) -> tuple[str, ...]:
    """Return the aliases of people who spoke themselves or by agent in this round of the fork's origin."""
    return state.start.fork.spoke.get(state.round, ()) if state.start.fork is not None else ()


def _leave_as_in_origin(state: State, now: datetime, *, closed: bool) -> None:
    """In a fork, let those participants leave who left the origin before or in this round. `closed`: also those who
    left the origin after the gate of this round had closed."""
    for seat in state.start.fork.seats if state.start.fork is not None else ():
        over = seat.left_round < state.round or closed or seat.left_in_round
        if seat.left_round and seat.left_round <= state.round and over and seat.alias in state.present:
            turns.leave(state, seat.alias, now)


def _last_outcome(state: State, alias: str) -> Outcome | None:
    return next((result.outcomes[alias] for result in reversed(state.results) if alias in result.outcomes), None)


def _ask_demander(state: State, now: datetime) -> None:
    """Ask a demander without a seat the gaps that ask `P00`. A demander with a seat is asked in their turn.

    The demander's proxy gets a turn, if there is a profile. A person gets one ask, which does not delay the round. A
    fork uses the answers of its origin.
    """
    if DEMANDER in _spoke_in_origin(state) and DEMANDER not in state.seats:
        state.turns[DEMANDER] = Turn(alias=DEMANDER)
    elif state.ask_demander and DEMANDER not in state.seats:
        if state.start.settings.demander_endpoint is not EndpointKind.PROXY:
            if not state.demander_asked and state.start.fork is None:
                state.demander_asked = state.round
                note(state, EventKind.DEMANDER_ASKED, now, round=state.round)
        elif state.start.demander_profile is not None:
            state.turns[DEMANDER] = Turn(alias=DEMANDER)
    state.ask_demander = False


def advance(state: State, now: datetime) -> Phase | None:
    """Assign open turns to steps, and close the gate when every turn has an outcome."""
    if not state.gate_open:
        return None
    if state.correcting_until is not None and process_time(state, now) >= state.correcting_until:
        state.correcting_until = None
    _assign(state, now)
    if any(turn.open for turn in state.turns.values()):
        return None
    if (reason := _one_reason_of_failure(state)) is not None:
        _suspend_for(state, reason, now)
        return None
    state.gate_open = False
    _leave_as_in_origin(state, now, closed=False)
    note(state, EventKind.GATE_COMPLETE, now, round=state.round)
    return None if _anyone_spoke(state) else _close_round(state, Verdict.MORE, now)


def _assign(state: State, now: datetime) -> None:
    """Assign the open turns of all proxies to one step.

    When all other turns are answered and the time for corrections is over, the words of people go into one step too.
    """
    idle = [turn for _, turn in sorted(state.turns.items()) if turn.open and not turn.batch]
    proxies = [turn for turn in idle if not turn.answered and _is_proxy(state, turn.alias)]
    for turn in proxies:
        turn.author, turn.revision = EndpointKind.PROXY, max(1, turn.revision)
    _give_to_step(state, proxies)
    if state.correcting_until is None and all(turn.answered or not turn.open for turn in state.turns.values()):
        for turn in idle:
            if turn.nothing_new:
                turns.end(state, turn, Outcome.NOTHING_NEW, now)
        _give_to_step(state, [turn for turn in idle if turn.words])


def _give_to_step(state: State, members: list[Turn]) -> None:
    state.batches += bool(members)
    for turn in members:
        turn.batch = state.batches


def _projected(batch: int, state: State, output: ProjectOutput, now: datetime) -> None:
    """Apply the outcomes of the turns of one step. A turn that has newer words stays open."""
    for one in output.turns:
        turn = state.turns.get(one.alias)
        if turn is not None and turn.open and turn.batch == batch and turn.revision == one.revision:
            turn.reason = one.reason
            turns.end(state, turn, one.outcome, now, items=one.items, struck=one.struck)


def _split(batch: int, state: State) -> None:
    """Move each open turn of a step into a step of its own, so that turns do not delay each other."""
    members = _members(state, batch)
    if len(members) > 1:
        for turn in members:
            _give_to_step(state, [turn])


def _unanswered(batch: int, state: State, now: datetime) -> None:
    """End the turns of a step as failed, because nobody answered its model calls in time."""
    for turn in _members(state, batch):
        turn.reason = NOT_ANSWERED
        turns.end(state, turn, Outcome.FAILED, now)


def _one_reason_of_failure(state: State) -> str | None:
    """Return the reason if all turns failed for the same reason and a participant who is still active can try again.

    None in all other cases, and if the budget is used up, because the demander then decides. Turns that a fork copied
    from its origin have no reason.
    """
    ended = [turn for turn in state.seat_turns.values() if turn.outcome is not Outcome.LEFT]
    reasons = {turn.reason for turn in ended}
    all_failed = all(turn.outcome is Outcome.FAILED for turn in ended)
    somebody = any(state.seats[turn.alias].active for turn in ended)
    return (reasons.pop() or None) if somebody and all_failed and len(reasons) == 1 and not state.over_budget else None


def _suspend_for(state: State, reason: str, now: datetime) -> None:
    """Suspend the process, because all turns failed. The turns are repeated after the resumption.

    A person who has taken over from a failed proxy is asked directly.
    """
    cause = Cause(kind="operator", code=ENDPOINTS_FAILED, reason=f"every endpoint failed: {reason}", since=now)
    suspend(state, ENDPOINTS_FAILED, cause, now)
    for turn in state.seat_turns.values():
        if state.seats[turn.alias].active:
            turn.outcome, turn.batch, turn.reason = None, 0, ""
            if not turn.answered and not _is_proxy(state, turn.alias):
                turns.wait_for(state, turn, now)
    _assign(state, now)


def _observed(state: State, output: ObserveOutput, now: datetime) -> Phase | None:
    figures = output.model_dump(include={"relations", "notes", "gaps", "items", "struck"})
    note(state, EventKind.OBSERVATION_READY, now, round=state.round, verdict=output.verdict.value, **figures)
    state.concerned = tuple(sorted({*state.concerned, *output.concerned}))
    state.ask_demander = state.ask_demander or output.asks_demander
    return _close_round(state, output.verdict, now)


def _close_round(state: State, verdict: Verdict, now: datetime) -> Phase | None:
    """Add the round to the results, and continue by the rule of convergence (`course`, docs/protocol.md §5.5).

    If the rounds have converged, the plan is made. If a limit (rounds, budget, quorum) is reached, the demander
    decides.
    """
    if state.start.fork is not None and state.start.fork.concluded == state.round:
        state.concluded = True
        note(state, EventKind.CONCLUDED, now, round=state.round, phase=state.phase.value)
    outcomes = {alias: turn.outcome for alias, turn in state.seat_turns.items() if turn.outcome is not None}
    everybody = set(state.present) <= set(outcomes)
    state.results.append(RoundResult(number=state.round, outcomes=outcomes, everybody_asked=everybody, verdict=verdict))
    cause = _why_decide(state)
    reached = course(state.results, limit=state.round_limit)
    if cause is None and reached.converged:
        note(state, EventKind.CONVERGED, now, round=state.round, reason=reached.value)
        state.unconverged = False
        return Phase.PLANNING
    if state.concluded:
        state.unconverged = True
        return Phase.PLANNING
    if cause is None and reached is Course.GO_ON:
        _open_round(state, now)
        return None
    state.deciding_cause = cause or DecidingCause.LIMIT
    may_add = (
        bool(state.start.scene) and state.start.fork is None and len(state.others) < state.start.settings.max_others
    )
    return None if may_add else Phase.DECIDING


def end(state: State, now: datetime) -> None:
    """End the rounds. An event tells the authors of unused words. The demander's ask for gaps is closed."""
    unused = {alias for alias, turn in state.turns.items() if turn.open and turn.words} | set(state.late_words)
    for alias in sorted(unused):
        note(state, EventKind.WORDS_UNUSED, now, alias=alias, round=state.round)
    state.late_words = {}
    state.demander_asked, state.ask_demander = 0, False


def _why_decide(state: State) -> DecidingCause | None:
    """Return `BUDGET` or `QUORUM` if this prevents further rounds, or None. The limit of rounds is not checked here."""
    if state.over_budget:
        return DecidingCause.BUDGET
    quorum = 1 if state.quorum_waived else state.start.settings.quorum
    if len(state.present) < quorum or not state.others or not _anyone_spoke(state):
        return DecidingCause.QUORUM
    return None


def _anyone_spoke(state: State) -> bool:
    """Whether at least one turn of the round has the outcome `replied` or `nothing_new`."""
    return any(turn.outcome is not None and turn.outcome.spoken for turn in state.seat_turns.values())


def _is_proxy(state: State, alias: str) -> bool:
    return state.endpoint_of(alias) is EndpointKind.PROXY


# ---- deciding


def deciding_seconds(state: State) -> int:
    """Return the time for a decision, in seconds. It is shorter if all participants are spoken for by proxies."""
    settings = state.start.settings
    people = any(alias != DEMANDER for alias in state.people)
    return settings.deciding_seconds if people else min(settings.deciding_seconds, settings.deciding_alone_seconds)


def open_deciding(state: State, now: datetime) -> Phase | None:
    """Ask the demander. A fork repeats the decision of its origin after this round, or else takes `accept_as_is`."""
    assert state.deciding_cause is not None  # set when the rounds stopped
    state.decisions += 1
    fork = state.start.fork
    if fork is None:
        note(state, EventKind.DECISION_NEEDED, now, cause=state.deciding_cause.value)
        return None
    decision = fork.decisions.get(state.round, Decision.ACCEPT_AS_IS)
    raised = decision is Decision.RAISE_BUDGET
    if state.deciding_cause is DecidingCause.BUDGET or (raised and state.round >= state.round_limit):
        decision = Decision.ACCEPT_AS_IS  # an origin's larger budget is not a fork's budget, and it adds no rounds
    return _decided(state, decision, "origin", now)


def decide(state: State, message: Decide, now: datetime) -> Phase | None:
    if message.decision is Decision.RAISE_BUDGET:
        state.token_budget = message.tokens or state.token_budget
        state.cost_budget = Decimal(message.cost) if message.cost is not None else state.cost_budget
    if message.decision is Decision.ADD_PARTICIPANTS:
        state.selected = message.participants
    return _decided(state, message.decision, "person", now)


def decide_by_itself(state: State, now: datetime) -> Phase | None:
    """Accept the result when the time for a decision is over."""
    return _decided(state, Decision.ACCEPT_AS_IS, "timer", now)


def _decided(state: State, decision: Decision, by: str, now: datetime) -> Phase | None:
    """Apply a decision. `by`: `person`, `timer`, or in a fork `origin`."""
    state.decision = decision
    note(state, EventKind.DECIDED, now, decision=decision.value, by=by)
    if decision is Decision.ABANDON:
        return Phase.ABANDONED
    if decision is Decision.ACCEPT_AS_IS:
        state.unconverged = True
        return Phase.PLANNING
    if decision is Decision.ADD_PARTICIPANTS:
        fork = state.start.fork
        joins = fork is None or any(seat.joined_round == state.round + 1 for seat in fork.seats)
        return Phase.CONSENTING if joins else Phase.CRYSTALLIZING
    if decision is Decision.RAISE_BUDGET and state.round >= state.round_limit:
        # The limit of rounds is reached too, and a larger budget adds no rounds.
        if state.deciding_cause is DecidingCause.BUDGET:
            state.deciding_cause = DecidingCause.LIMIT
        return open_deciding(state, now)
    return Phase.CRYSTALLIZING
