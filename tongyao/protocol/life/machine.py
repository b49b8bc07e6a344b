"""The life of a process as a pure, level-triggered state machine (docs/protocol.md §3).

`begin` makes the state of a new process. Afterwards the workflow calls `refuse`, `hear`, `finish`, `tick`, `wanted` and
`wake`. `repeated` recognises messages that were applied before. No function issues commands. The workflow starts every
wanted step that is not running, and cancels every running step that is not wanted.

The table `KINDS` has every kind of message: its permitted senders, the reasons to refuse it, and its effect
(docs/protocol.md §8.3). The workflow registers its updates from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from tongyao.protocol.contracts.process import RECORD, ModelOutput, Pending, ProcessInput, RecordInput
from tongyao.protocol.life import after_rounds, asks, before_rounds, clock, parking, passed_deadlines, rounds, turns
from tongyao.protocol.life.phases import PHASES, enter, open_asks
from tongyao.protocol.life.state import (
    LOGIC,
    RECORD_KEY,
    Cause,
    State,
    StepFailure,
    Success,
    WantedStep,
    note,
    urgent,
    written,
)
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import invited_alias
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.rules.refusals import Refusal

BUDGET_WARNING = 0.8
"""Share of a budget at which the demander is warned (docs/protocol.md §10.2)."""


def begin(start: ProcessInput, now: datetime, seed: str, logic: int = LOGIC) -> State:
    """Return the state of a new process. `seed`: random; determines the order of aliases. `logic`: rules version."""
    settings = start.settings
    root = start.lineage is None
    state = State(
        start=start,
        started_at=now,
        seed=seed,
        logic=logic,
        tension=start.tension,
        round_limit=settings.max_rounds,
        token_budget=settings.token_budget if root else None,  # the budget of the tree applies to a child
        cost_budget=settings.cost_budget if root else None,
    )
    note(state, EventKind.PROCESS_STARTED, now, depth=start.depth)
    if start.tension is not None:
        enter(state, Phase.CONFIRMING, now)
    _settle(state, now)
    return state


def repeated(state: State, message: m.Message) -> bool:
    """Whether this message, or a later one of the same lane, was applied before."""
    return message.number > 0 and message.number <= state.lanes.get(message.lane, 0)


def hear(state: State, message: m.Message, now: datetime) -> None:
    """Apply an accepted message. `refuse` is not called again, so that histories can be replayed under new rules."""
    if message.number:
        state.lanes[message.lane] = message.number
    enter(state, KINDS[message.kind].hear(state, message, now), now)
    _settle(state, now)


def finish(state: State, key: str, ended: Success | StepFailure, now: datetime) -> None:
    """Apply the end of a step. Of an unwanted step, only the cost is counted. Raises `AssertionError` if the completed
    step is still wanted, because it would run forever."""
    step = wanted(state).get(key)
    if isinstance(ended, StepFailure):
        if step is not None:
            _failed(state, key, step, ended, now)
    else:
        written(state, ended.events)
        if isinstance(ended.output, ModelOutput):
            _spend(state, ended.output, now)
        clock.succeeded(state, key, now)
        if step is not None and isinstance(ended.output, Pending):
            if not _was_split(state, key, step):  # the smaller steps find their own calls in the ledger
                parking.park(state, key, ended.output, now)
        elif step is not None:
            state.parked.pop(key, None)
            enter(state, step.take(state, ended.output, now), now)
    _settle(state, now)
    done = isinstance(ended, Success) and not isinstance(ended.output, Pending)
    if done and key != RECORD_KEY and key in wanted(state):
        raise AssertionError(f"step {key} has succeeded and is wanted again")


def tick(state: State, now: datetime) -> None:
    """Apply everything that is due by `now`. Repeated calls change nothing."""
    for cause in state.causes.values():
        if cause.retry_at is not None and now >= cause.retry_at:
            cause.retry_at = None
    if not state.suspended and not state.phase.ended:
        at = clock.process_time(state, now)
        if at.total_seconds() >= state.start.settings.process_seconds:
            enter(state, Phase.EXPIRED, now)
        else:
            passed_deadlines.remind(state, at, now)
            for deadline in clock.deadlines(state):
                clock.pass_if_over(deadline, at)
    _settle(state, now)


def wanted(state: State) -> dict[str, WantedStep]:
    """Return all steps that should be running in this state, by key, in the order in which to start them."""
    steps = parking.runnable(state, PHASES[state.phase].wanted(state))
    if not state.phase.ended:
        steps = passed_deadlines.wanted(state) | steps | after_rounds.branches(state)
    steps = {key: _held(state, key, step) for key, step in steps.items()}
    nothing_carries = all(step.held for step in steps.values())
    if urgent(state) or (state.outbox and nothing_carries):
        what = RecordInput(process_id=state.process_id)
        record = WantedStep(RECORD, what, f"{state.phase.value}: write {len(state.outbox)} events")
        steps = {RECORD_KEY: _held(state, RECORD_KEY, record), **steps}
    return steps


def wake(state: State) -> datetime | None:
    """Return the wall time of the next timed event; None if there is none."""
    times = [cause.retry_at for cause in state.causes.values() if cause.retry_at is not None]
    if not state.suspended and not state.phase.ended:
        due = passed_deadlines.next_due(state)
        times.append(clock.wall_time(state, due))
    return min(times, default=None)


def _held(state: State, key: str, step: WantedStep) -> WantedStep:
    """Mark a step as held if it may not start. In a suspended process only retries start. The step that writes the
    outbox is held only by its own cause."""
    cause = state.causes.get(key)
    if key == RECORD_KEY:
        held = cause is not None and cause.retry_at is not None
    elif cause is not None:
        held = cause.kind == "operator" or cause.retry_at is not None
    else:
        held = state.suspended
    return replace(step, held=True) if held else step


def _settle(state: State, now: datetime) -> None:
    """Make all transitions that the state itself determines. Remove the causes of steps that are no longer wanted."""
    while (target := PHASES[state.phase].advance(state, now)) is not None:
        enter(state, target, now)
    if state.parked:
        parking.drop(state, PHASES[state.phase].wanted(state))
    if state.causes:
        steps = wanted(state)
        mended_by = {rounds.ENDPOINTS_FAILED} if any(step.split is not None for step in steps.values()) else set()
        if stale := [name for name in state.causes if name not in steps and name not in mended_by]:
            clock.clear(state, stale, now)


def _failed(state: State, key: str, step: WantedStep, failure: StepFailure, now: datetime) -> None:
    if step.optional:
        reason = f"{failure.code}: {failure.reason}"
        note(state, EventKind.STEP_SKIPPED, now, step=step.contract.name, reason=reason)
        enter(state, step.take(state, None, now), now)
        return
    if key not in state.causes and state.resumed_at is not None and failure.began < state.resumed_at:
        return  # the failure is older than the resumption, so the step is retried without a suspension
    kind = "infrastructure" if key == RECORD_KEY or state.phase.ended else failure.kind
    if kind == "operator" and _was_split(state, key, step):
        return  # each smaller step is tried alone
    clock.suspend(state, key, Cause(kind=kind, code=failure.code, reason=failure.reason, since=failure.began), now)


def _was_split(state: State, key: str, step: WantedStep) -> bool:
    """Whether smaller steps replace this step now."""
    if step.split is None:
        return False
    step.split(state)
    return key not in wanted(state)


def _spend(state: State, output: ModelOutput, now: datetime) -> None:
    """Update tokens, cost and calls of the process. Each `output` has the total, so the maximum of concurrent steps is
    kept."""
    spent = state.spent
    spent.tokens = max(spent.tokens, output.spent.tokens)
    spent.cost = max(spent.cost, output.spent.cost)
    spent.calls = max(spent.calls, output.spent.calls)
    state.budget_refused = state.budget_refused or output.out_of_budget
    tokens = spent.tokens / state.token_budget if state.token_budget else 0.0
    cost = float(spent.cost / state.cost_budget) if state.cost_budget else 0.0
    if max(tokens, cost) >= BUDGET_WARNING and not state.budget_warned and not state.phase.ended:
        state.budget_warned = True
        note(state, EventKind.BUDGET_WARNING, now, share=round(max(tokens, cost), 2))


# ---- kinds of messages


@dataclass(frozen=True)
class Kind:
    """One kind of message.

    `by`: the permitted senders (`_sends_as`). `refuse`: returns the reason why it cannot be applied now. `hear`:
    applies it, and returns the next phase, or None. `description`: for the Temporal UI.
    """

    type: type[m.Message]
    by: frozenset[str]
    refuse: Callable[[State, Any], Refusal | None]
    hear: Callable[[State, Any, datetime], Phase | None]
    description: str


_IN_A_FORK: Final = m.CONTROL_KINDS | {"upgrade", "call_answered", "set_mandate"}
"""Kinds that a fork accepts. People's words and decisions in a fork come from its origin."""


def refuse(state: State, message: m.Message) -> Refusal | None:
    """Return the reason why `message` cannot be applied to `state` now, or None. Does not read the clock."""
    kind = KINDS[message.kind]
    if state.phase.ended:
        return Refusal.ENDED
    if kind.by.isdisjoint(_sends_as(message)):
        return Refusal.NOT_YOURS
    if state.start.fork is not None and message.kind not in _IN_A_FORK:
        return Refusal.FORK
    refusal = _too_many(message) or kind.refuse(state, message)
    if refusal is None and isinstance(message, m.AnswerToAsk) and not _is_open(message.ask, open_ask(state, message)):
        return Refusal.ASK_OVER
    return refusal


def open_ask(state: State, message: m.Message) -> str:
    """Return the id of the ask that a message of this kind would answer now. Empty if there is none."""
    if isinstance(message, m.Conclude | m.ExtendDeadline):
        alias = message.alias if isinstance(message, m.ExtendDeadline) else ""
        return asks.moment(message.kind, state.phase, state.round, state.plan_revision, alias)
    answered = asks.answered_by(message.kind) if isinstance(message, m.AnswerToAsk) else ()
    return next((ask.id for ask, _ in open_asks(state) if ask.ask in answered), "")


def open_now(state: State, message: m.Message) -> str:
    """Return the ids of the open asks of a refused message's author. The ask that the message could answer is first."""
    author = message.author.alias
    asked = [ask.id for ask, _ in open_asks(state) if ask.alias == author]
    return ", ".join(dict.fromkeys(filter(None, [open_ask(state, message), *asked])))


def _is_open(ask: str, open_id: str) -> bool:
    """Whether `ask`, which the message answers, is still open. An id without number, or an empty id, matches every
    number."""
    return ask in ("", open_id) or open_id.startswith(f"{ask}/")


def _too_many(message: m.Message) -> Refusal | None:
    """Limit the messages of a lane by the message's number in it. Control messages and some roles are exempt."""
    exempt = message.author.role in m.UNBOUNDED_ROLES or message.kind in m.CONTROL_KINDS
    return Refusal.TOO_MANY_MESSAGES if message.number > m.MAX_MESSAGES and not exempt else None


# ---- permitted senders


def _sends_as(message: m.Message) -> frozenset[str]:
    """Return the roles in which its author may send the message. An operator may send the messages of people.
    `oneself`: a participant, or a demander who takes part, speaks for themselves."""
    author, alias = message.author, getattr(message, "alias", None)
    if author.role == "operator":
        return frozenset({"operator", "demander", "oneself"})
    demander = author.role == "demander" and author.alias == DEMANDER
    capacities = {
        "demander": demander,
        "oneself": alias == author.alias and (demander or author.role == "participant"),
        "invited": m.is_own(message) and author.alias == invited_alias(getattr(message, "invitation", 0)),
        "child": author.alias == getattr(message, "child", None),
        "answerer": True,
    }
    return frozenset(
        name for name, holds in capacities.items() if holds and name in (author.role, "demander", "oneself")
    )


_DEMANDER: Final = frozenset({"demander"})
_ONESELF: Final = frozenset({"oneself"})


# ---- reasons to refuse: first the phase and the seat are checked, then the completeness of the message


_CONCLUDABLE: Final = frozenset({Phase.CRYSTALLIZING, Phase.ANSWERING, Phase.AWAITING_CHILDREN})
"""Phases in which the demander may end the waiting: for more rounds, for answers, for children."""


def _refuse_nothing(state: State, message: m.Message) -> Refusal | None:
    """Accept the message in every open phase."""
    return None


def _refuse_resume(state: State, message: m.Resume) -> Refusal | None:
    return None if state.suspended else Refusal.NOT_SUSPENDED


def _refuse_selection(state: State, message: m.SelectParticipants) -> Refusal | None:
    return _people(state, message.participants) if state.phase is Phase.SELECTING else Refusal.NOT_NOW


def _refuse_conclusion(state: State, message: m.Conclude) -> Refusal | None:
    return None if state.phase in _CONCLUDABLE and not state.concluded else Refusal.NOT_NOW


def _refuse_approval(state: State, message: m.ApproveResidual) -> Refusal | None:
    return None if message.residual in state.undecided else Refusal.UNKNOWN_RESIDUAL


def _refuse_end_of_child(state: State, message: m.ChildEnded) -> Refusal | None:
    return None if after_rounds.residual_of(state, message.child) is not None else Refusal.UNKNOWN_CHILD


def _refuse_confirmation(state: State, message: m.ReviseTension | m.ConfirmTension) -> Refusal | None:
    if state.phase is Phase.CONFIRMING:
        return None
    return Refusal.NOT_NOW if state.phase is Phase.FORMULATING else Refusal.ALREADY_CONFIRMED


def _people(state: State, choices: tuple[Choice, ...]) -> Refusal | None:
    settings = state.start.settings
    named = [choice.profile_id for choice in choices]
    seated = {seat.profile.profile_id for seat in state.seats.values() if seat.profile}
    if len(set(named)) < len(named) or seated & set(named):
        return Refusal.TWICE
    profile = state.start.demander_profile
    if state.start.demander in named or (profile is not None and profile.profile_id in named):
        return Refusal.HIMSELF
    if len(named) + len(state.others) > settings.max_others:
        return Refusal.TOO_MANY
    return None if before_rounds.enough(state, len(named)) else Refusal.NO_PARTICIPANTS


def _refuse_consent(state: State, message: m.ConsentAnswer) -> Refusal | None:
    waits = any(one.number == message.invitation and one.waits for one in state.invitations)
    return None if waits else Refusal.UNKNOWN_INVITATION


def _refuse_decision(state: State, message: m.Decide) -> Refusal | None:
    if state.phase is not Phase.DECIDING:
        return Refusal.NOT_NOW
    if message.decision is m.Decision.ADD_PARTICIPANTS:
        return _people(state, message.participants)
    if message.decision in m.GOING_ON and not state.others:
        return Refusal.DEMANDER_ALONE
    return _limit(state, message) if message.decision is m.Decision.RAISE_BUDGET else None


def _limit(state: State, message: m.Decide) -> Refusal | None:
    if state.start.lineage is not None:
        return Refusal.BUDGET_OF_ROOT
    if message.tokens is None and message.cost is None:
        return Refusal.NO_LIMIT
    too_low = (message.tokens is not None and message.tokens <= state.spent.tokens) or (
        message.cost is not None and float(message.cost) <= float(state.spent.cost)
    )
    return Refusal.LIMIT_TOO_LOW if too_low else None


def _refuse_answer(state: State, message: m.AnswerPlan) -> Refusal | None:
    if (refusal := turns.refuse_without_seat(state, message.alias)) is not None:
        return refusal
    if state.phase is not Phase.ANSWERING:
        return Refusal.NOT_NOW
    if message.alias in state.left_out:
        return Refusal.NOT_ASKED
    if message.revision != state.plan_revision:
        return Refusal.WRONG_REVISION
    return Refusal.ALREADY_ANSWERED if message.alias in state.answers else None


def _refuse_replan(state: State, message: m.Replan) -> Refusal | None:
    if state.phase is not Phase.ANSWERING:
        return Refusal.NOT_NOW
    if state.replanned:
        return Refusal.ALREADY_REPLANNED
    if not message.without and not message.proposals:
        return Refusal.NOTHING_TO_REPLAN
    if any(state.answers.get(alias) != "decline" for alias in message.without):
        return Refusal.NO_ONE_DECLINED
    if any(state.answers.get(alias) != "propose" for alias in message.proposals):
        return Refusal.NO_ONE_PROPOSED
    return Refusal.NOBODY_LEFT if set(state.others) <= set(message.without) else None


# ---- effects


def _conclude(state: State, message: m.Conclude, now: datetime) -> Phase | None:
    state.concluded = True
    note(state, EventKind.CONCLUDED, now, round=state.round, phase=state.phase.value)
    if state.phase is not Phase.CRYSTALLIZING or state.deciding_cause is None:
        return None
    state.unconverged = True  # the rounds have already stopped
    return Phase.PLANNING


def _resume(state: State, message: m.Resume, now: datetime) -> None:
    """Remove the causes of kind `operator`, and retry at once the steps with causes of kind `infrastructure`."""
    clock.clear(state, [name for name, cause in state.causes.items() if cause.kind == "operator"], now)
    for cause in state.causes.values():
        cause.retry_at = None


def _cancel(state: State, message: m.Cancel, now: datetime) -> Phase:
    state.cancel_branch = message.branch
    return Phase.CANCELLED


def _upgrade(state: State, message: m.Upgrade, now: datetime) -> None:
    state.upgrade_wanted = True


_TABLE: Final = (
    Kind(m.ReviseTension, _DEMANDER, _refuse_confirmation, before_rounds.revise,
         "Revise the tension before it is confirmed: {tension, ask}."),
    Kind(m.ConfirmTension, _DEMANDER, _refuse_confirmation, lambda state, _, now: before_rounds.confirm(state, "person", now),
         "Confirm the tension: {ask}."),
    Kind(m.SelectParticipants, _DEMANDER, _refuse_selection, before_rounds.select,
         "Choose who takes part, and start: {participants, ask}."),
    Kind(m.ConsentAnswer, frozenset({"invited"}), _refuse_consent, before_rounds.consent,
         "Somebody who is invited allows a proxy to speak for them, or does not: {invitation, allow}."),
    Kind(m.SubmitProjection, _ONESELF, turns.refuse_words, turns.submit,
         "Say something in a turn: {alias, round, text | nothing_new}."),
    Kind(m.SwitchEndpoint, _ONESELF, turns.refuse_switch, turns.switch,
         "Change what speaks for a participant: {alias, endpoint}."),
    Kind(m.ExtendDeadline, _ONESELF | _DEMANDER, turns.refuse_extension, turns.extend,
         "Give somebody more time: {alias, seconds, ask}."),
    Kind(m.Leave, _ONESELF, turns.refuse_leaving, lambda state, message, now: turns.leave(state, message.alias, now),
         "A participant leaves: {alias}."),
    Kind(m.Decide, _DEMANDER, _refuse_decision, rounds.decide,
         "Decide how to go on: {decision, ask}."),
    Kind(m.Conclude, _DEMANDER, _refuse_conclusion, _conclude,
         "End the rounds after the present one, or the wait for answers or children: {ask}."),
    Kind(m.SetMandate, _ONESELF, turns.refuse_mandate, lambda state, message, now: note(state, EventKind.MANDATE_CHANGED, now, alias=message.alias),
         "Note that a participant changed their proxy's mandate: {alias}."),
    Kind(m.AnswerPlan, _ONESELF, _refuse_answer, after_rounds.answer,
         "A participant's answer to the plan: {alias, revision, answer, text}."),
    Kind(m.ApproveResidual, _DEMANDER, _refuse_approval, after_rounds.approve,
         "Start a child for a residual tension, or do not: {residual, approve}."),
    Kind(m.Replan, _DEMANDER, _refuse_replan, after_rounds.replan,
         "Make the plan anew, once: {without, proposals, ask}."),
    Kind(m.ChildEnded, frozenset({"child"}), _refuse_end_of_child, after_rounds.child_ended,
         "A child process has ended: {child, outcome}."),
    Kind(m.CallAnswered, frozenset({"answerer"}), _refuse_nothing, parking.answered,
         "A model call that waited is answered: {call}."),
    Kind(m.Resume, _DEMANDER, _refuse_resume, _resume,
         "Go on after a suspension."),
    Kind(m.Upgrade, frozenset({"operator"}), _refuse_nothing, _upgrade,
         "Continue as new, under the newest rules."),
    Kind(m.Cancel, _DEMANDER, _refuse_nothing, _cancel,
         "Cancel the process; {branch: true}: with its children."),
)  # fmt: skip

KINDS: Final[dict[str, Kind]] = {kind.type.model_fields["kind"].default: kind for kind in _TABLE}
"""Every kind of message by its name."""
