"""The life of a process as a pure, level-triggered state machine (docs/protocol.md §3).

`begin` makes the state of a new process. Afterwards the workflow calls `refuse`, `hear`, `finish`, `tick`, `wanted` and
`wake`. `repeated` recognises messages that were applied before. No function issues commands. The workflow starts every
wanted step that is not running, and cancels every running step that is not wanted.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tongyao.protocol.contracts.process import RECORD, ModelOutput, Pending, ProcessInput, RecordInput
from tongyao.protocol.life import after_rounds, clock, deadline_checks, message_kinds, parking, rounds
from tongyao.protocol.life.journal import note, urgent, written
from tongyao.protocol.life.message_kinds import refuse
from tongyao.protocol.life.phases import PHASES, enter
from tongyao.protocol.life.state import LOGIC, Cause, State
from tongyao.protocol.life.steps import RECORD_KEY, StepFailure, Success, WantedStep
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import Message
from tongyao.protocol.model.process import Phase

__all__ = ["begin", "finish", "hear", "refuse", "repeated", "tick", "wake", "wanted"]

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


def repeated(state: State, message: Message) -> bool:
    """Whether this message, or a later one of the same lane, was applied before."""
    return message.number > 0 and message.number <= state.lanes.get(message.lane, 0)


def hear(state: State, message: Message, now: datetime) -> None:
    """Apply an accepted message. `refuse` is not called again, so that histories can be replayed under new rules."""
    if message.number:
        state.lanes[message.lane] = message.number
    enter(state, message_kinds.hear(state, message, now), now)
    _settle(state, now)


def finish(state: State, key: str, ended: Success | StepFailure, now: datetime) -> None:
    """Apply the end of a step. For a step that is no longer wanted, only the cost counts. Raises `AssertionError` if a
    completed step is still wanted, because it would run forever."""
    step = wanted(state).get(key)
    if isinstance(ended, StepFailure):
        if step is not None:
            _failed(state, key, step, ended, now)
    else:
        written(state, ended.events, ended.texts)
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
            deadline_checks.remind(state, at, now)
            for deadline in clock.deadlines(state):
                clock.pass_if_over(deadline, at)
    _settle(state, now)


def wanted(state: State) -> dict[str, WantedStep]:
    """Return all steps that should be running in this state, by key, in the order in which to start them."""
    steps = parking.runnable(state, PHASES[state.phase].wanted(state))
    if not state.phase.ended:
        steps = deadline_checks.wanted(state) | steps | after_rounds.branches(state)
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
        due = deadline_checks.next_due(state)
        times.append(clock.wall_time(state, due))
    return min(times, default=None)


def _held(state: State, key: str, step: WantedStep) -> WantedStep:
    """Mark a step as held if it may not start. While the process is suspended, only retries start. The step that writes
    the outbox is held only by its own cause."""
    cause = state.causes.get(key)
    if key == RECORD_KEY:
        held = cause is not None and cause.retry_at is not None
    elif cause is not None:
        held = cause.kind == "operator" or cause.retry_at is not None
    else:
        held = state.suspended
    return replace(step, held=True) if held else step


def _settle(state: State, now: datetime) -> None:
    """Take all transitions that the state itself determines, and remove causes whose step is no longer wanted."""
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
    """Update the use of the process. `output` has its total use, so the highest total of concurrent steps counts."""
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
