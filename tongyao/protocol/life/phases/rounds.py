"""Rounds: no endpoint reads the others, a gate waits for all of them, then the catalyst observes (docs/protocol.md §3.2)."""

from __future__ import annotations

from datetime import datetime, timedelta

from tongyao.protocol.contracts.process import (
    OBSERVE,
    PROJECT,
    ObserveInput,
    ObserveOutput,
    ProjectInput,
    ProjectOutput,
    TurnInput,
    TurnOutput,
)
from tongyao.protocol.life.clock import process_time, suspend
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import deciding, planning, turns
from tongyao.protocol.life.state import Cause, State, Turn
from tongyao.protocol.life.steps import Step
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import DecidingCause, Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.settings import NewsRule
from tongyao.protocol.rules.convergence import Course, RoundResult, course

ENDPOINTS_FAILED = "endpoints_failed"
"""The cause of a suspension when every endpoint of a round failed for one reason."""

STANDING_FROM_ROUND = 3
"""Everybody is asked in rounds 1 and 2; later only whom something concerns (`NewsRule.LINKS`)."""


def wanted(state: State) -> dict[str, Step]:
    if state.phase is not Phase.CRYSTALLIZING:
        return {}
    if state.gate_open:
        return _projections(state)
    if state.deciding_cause is not None:
        return deciding.proposals_wanted(state)
    observe = ObserveInput(process_id=state.process_id, round=state.round, round_limit=state.round_limit)
    return {
        f"observe/{state.round}": Step(OBSERVE, observe, f"catalyst · round {state.round} · {len(state.seats)} people")
    }


def _projections(state: State) -> dict[str, Step]:
    batches: dict[int, list[Turn]] = {}
    for _, turn in sorted(state.turns.items()):
        if turn.open and turn.batch:
            batches.setdefault(turn.batch, []).append(turn)
    steps = {}
    for batch, members in sorted(batches.items()):
        inputs = tuple(
            TurnInput(
                alias=turn.alias,
                submission=turn.text_id,
                author=(turn.author or EndpointKind.PROXY).value,
                revision=turn.revision,
            )
            for turn in members
        )
        ask = ProjectInput(process_id=state.process_id, round=state.round, turns=inputs, round_limit=state.round_limit)
        summary = f"{', '.join(turn.alias for turn in members)} · round {state.round}"
        steps[f"project/{state.round}/{batch}"] = Step(PROJECT, ask, summary)
    return steps


def open_round(state: State, now: datetime) -> None:
    state.round += 1
    state.gate_open = True
    state.correcting_until = None
    state.turns = {alias: Turn(alias=alias) for alias in state.present}
    note(state, EventKind.ROUND_OPENED, now, urgent=False, round=state.round, aliases=list(state.turns))
    for turn in state.turns.values():
        if words := state.late_words.pop(turn.alias, ""):
            turns.hear_words(state, turn, words, now)
        elif _stands(state, turn.alias):
            turn.standing = True
            turns.end(state, turn, Outcome.NOTHING_NEW, now)
        elif state.seats[turn.alias].endpoint is not EndpointKind.PROXY:
            turns.wait_for(state, turn, now)


def _stands(state: State, alias: str) -> bool:
    """Whether "nothing new" of the last round still holds: nothing has concerned them since."""
    if state.start.settings.news_rule is not NewsRule.LINKS or state.round < STANDING_FROM_ROUND or not state.results:
        return False
    said = state.results[-1].outcomes.get(alias)
    return said is Outcome.NOTHING_NEW and alias not in state.concerned


def advance(state: State, now: datetime) -> None:
    """Give open turns to steps, and close the gate when every turn has an outcome."""
    if state.phase is not Phase.CRYSTALLIZING or not state.gate_open:
        return
    _assign(state, now)
    if any(turn.open for turn in state.turns.values()):
        return
    if _time_to_correct(state, now):
        return
    if (reason := _one_reason_of_failure(state)) is not None:
        state.correcting_until = None
        _suspend_for(state, reason, now)
        return
    state.gate_open = False
    state.correcting_until = None
    note(state, EventKind.GATE_COMPLETE, now, urgent=False, round=state.round)
    if not _anyone_spoke(state):
        _close_round(state, Verdict.MORE, True, now)


def _assign(state: State, now: datetime) -> None:
    """Proxies of a round speak in one step; what a person said is sorted in a step of its own."""
    idle = [turn for _, turn in sorted(state.turns.items()) if turn.open and not turn.batch]
    proxies = [turn for turn in idle if not turn.answered and _is_proxy(state, turn.alias)]
    if proxies:
        state.batches += 1
    for turn in proxies:
        turn.batch, turn.author, turn.revision = state.batches, EndpointKind.PROXY, max(1, turn.revision)
    for turn in idle:
        if turn.nothing_new:
            turns.end(state, turn, Outcome.NOTHING_NEW, now)
        elif turn.text_id:
            state.batches += 1
            turn.batch = state.batches


def projected(state: State, batch: int, output: ProjectOutput, now: datetime) -> None:
    """Outcomes of one step. Words that came while it ran stay open: they are sorted next."""
    for one in output.turns:
        turn = state.turns.get(one.alias)
        if turn is not None and turn.open and turn.batch == batch and turn.revision == one.revision:
            _take(state, turn, one, now)


def _take(state: State, turn: Turn, output: TurnOutput, now: datetime) -> None:
    turn.reason = output.reason
    turns.end(state, turn, output.outcome, now, items=output.items, struck=output.struck)


def split(state: State, batch: int) -> None:
    """Give each open turn of a failed step a step of its own, so that one does not hold up the others."""
    members = [turn for _, turn in sorted(state.turns.items()) if turn.open and turn.batch == batch]
    if len(members) > 1:
        for turn in members:
            state.batches += 1
            turn.batch = state.batches


def _time_to_correct(state: State, now: datetime) -> bool:
    """Whether the gate stays open for corrections: people see how their words were sorted, and may say it anew."""
    seconds = state.start.settings.correcting_seconds
    if not seconds or not any(turn.text_id for turn in state.turns.values()):
        return False
    if state.correcting_until is None:
        state.correcting_until = process_time(state, now) + timedelta(seconds=seconds)
    return process_time(state, now) < state.correcting_until


def _one_reason_of_failure(state: State) -> str | None:
    """The reason, when every turn failed for the same one and somebody is there to try again.

    A budget is for the demander to decide on.
    """
    ended = [turn for turn in state.turns.values() if turn.outcome is not Outcome.LEFT]
    reasons = {turn.reason for turn in ended}
    all_failed = all(turn.outcome is Outcome.FAILED for turn in ended)
    somebody = any(state.seats[turn.alias].active for turn in ended)
    return reasons.pop() if somebody and all_failed and len(reasons) == 1 and not state.over_budget else None


def _suspend_for(state: State, reason: str, now: datetime) -> None:
    """Emptiness is never catalysed: the same turns are taken again after a resumption.

    Whoever has taken over from a proxy that failed is asked in person.
    """
    cause = Cause(kind="operator", code=ENDPOINTS_FAILED, reason=f"every endpoint failed: {reason}", since=now)
    suspend(state, ENDPOINTS_FAILED, cause, now, since=now)
    for turn in state.turns.values():
        if state.seats[turn.alias].active:
            turn.outcome, turn.batch, turn.reason = None, 0, ""
            if not turn.answered and not _is_proxy(state, turn.alias):
                turns.wait_for(state, turn, now)
    _assign(state, now)


def observed(state: State, output: ObserveOutput, now: datetime) -> None:
    news = output.news or _first_lapse(state) or any(turn.outcome is Outcome.FAILED for turn in state.turns.values())
    if state.start.settings.news_rule is NewsRule.SEED:
        news = True
    note(
        state,
        EventKind.OBSERVATION_READY,
        now,
        urgent=False,
        round=state.round,
        verdict=output.verdict.value,
        relations=output.relations,
        inferred=output.inferred,
        struck=output.struck,
        news=news,
        new_links=output.new_links,
        new_quotes=output.new_quotes,
    )
    state.concerned = output.concerned
    _close_round(state, output.verdict, news, now)


def _first_lapse(state: State) -> bool:
    """Whether somebody let their time pass for the first time: they may still have news."""
    before = {alias for result in state.results for alias, one in result.outcomes.items() if one is Outcome.LAPSED}
    return any(turn.outcome is Outcome.LAPSED and turn.alias not in before for turn in state.turns.values())


def _close_round(state: State, verdict: Verdict, news: bool, now: datetime) -> None:
    """Add the round to the record of rounds, and go on as the rule of convergence says (`course`, docs/protocol.md §5.5).

    Two exhausted verdicts in a row, counted from round 3, converge; a round without news counts as exhausted whatever its verdict
    says. So does one round from the second on in which everybody said "nothing new". What converged is planned; at the limit of
    rounds, or for want of budget or quorum, the demander decides.
    """
    outcomes = {alias: turn.outcome for alias, turn in state.turns.items() if turn.outcome is not None}
    state.results.append(RoundResult(number=state.round, outcomes=outcomes, verdict=verdict, news=news))
    cause = _why_decide(state)
    reached = course(state.results, limit=state.round_limit)
    if cause is None and reached.converged:
        note(state, EventKind.CONVERGED, now, urgent=False, round=state.round, reason=reached.value)
        state.unconverged = False
        planning.begin(state, now)
    elif state.concluded:
        state.unconverged = True
        planning.begin(state, now)
    elif cause is None and reached is Course.GO_ON:
        open_round(state, now)
    else:
        deciding.prepare(state, cause or DecidingCause.LIMIT, now)


def _why_decide(state: State) -> DecidingCause | None:
    """What keeps rounds from going on, besides their number."""
    if state.over_budget:
        return DecidingCause.BUDGET
    quorum = 1 if state.quorum_waived else state.start.settings.quorum
    if len(state.present) < quorum or not state.others or not _anyone_spoke(state):
        return DecidingCause.QUORUM
    return None


def _anyone_spoke(state: State) -> bool:
    """Whether the round has anything to observe. "Nothing new" is said, too; who lapsed, failed or left has not spoken."""
    return any(turn.outcome is not None and turn.outcome.spoken for turn in state.turns.values())


def _is_proxy(state: State, alias: str) -> bool:
    return state.seats[alias].endpoint is EndpointKind.PROXY
