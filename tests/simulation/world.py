"""A simulated process with the records' rows, running steps and time. It takes the place of the workflow class."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.simulation import results
from tests.simulation.oracles.base import Frozen, Oracle, Violation, check, frozen
from tests.simulation.script import Input
from tongyao.protocol.contracts.process import CheckDeadlineInput, ProcessInput, ProjectInput
from tongyao.protocol.life import machine
from tongyao.protocol.life.state import LOGIC, RECORD_KEY, State, StepFailure, Success, WantedStep
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import Event
from tongyao.protocol.model.process import Phase

T0 = datetime(2026, 1, 1, tzinfo=UTC)
OPERATOR = m.Author(role="operator")
LOOK_CLOSELY_EVERY = 13
"""Interval, in inputs, of the checks that calls which must not change the state do not change it."""


@dataclass
class Row:
    """A stored message. `verdict`: empty until it is delivered."""

    message: m.Message
    stored: datetime
    verdict: str = ""


@dataclass
class Running:
    """A running step, with the events of the outbox that it writes."""

    key: str
    step: WantedStep
    began: datetime
    events: tuple[int, ...]
    wanted: bool = True
    """Whether it was still wanted when it ended."""

    @property
    def alone(self) -> bool:
        """Whether it has at most one turn."""
        return not isinstance(self.step.input, ProjectInput) or len(self.step.input.turns) < 2


@dataclass
class Checkpoint:
    state: str
    logic: int
    oracles: list[Oracle]
    applied: dict[str, int]


@dataclass
class World:
    """A simulated process. `apply` plays one input. `oracles` check it."""

    oracles: Sequence[Oracle] = ()
    logic: int = LOGIC
    state: State = field(init=False)
    now: datetime = T0
    rows: dict[str, list[Row]] = field(default_factory=dict)
    applied: dict[str, int] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    lost: dict[str, Running] = field(default_factory=dict)
    tokens: int = 0
    inputs: int = 0
    seen_seq: int = 0
    changed: bool = False
    """Whether the state may have changed since the last whole check by the oracles."""
    _frozen: Frozen | None = None
    fresh: list[Event] = field(default_factory=list)
    wanted: dict[str, WantedStep] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    on_input: Callable[[str, str, bool, str], None] | None = None
    """Called with the phase before, the input, whether the process was suspended before, and the phase after."""

    # ---- inputs

    def apply(self, given: Input) -> bool:
        """Play one input. Returns False if it does not fit the state; then nothing is done."""
        name, *rest = given
        done: bool = getattr(self, f"_{name}")(*rest)
        if done:
            self.inputs += 1
            self._settle()
        return done

    def _saw(self, what: str, before: tuple[Phase, bool]) -> None:
        if self.on_input is not None:
            self.on_input(before[0].value, what, before[1], self.state.phase.value)

    @property
    def _stands(self) -> tuple[Phase, bool]:
        return self.state.phase, self.state.suspended

    def _begin(self, start: dict[str, Any]) -> bool:
        self.state = machine.begin(ProcessInput.model_validate(start), self.now, "seed")
        self.state.logic, self.changed = self.logic, True
        events = self._new_events()
        for oracle in self.oracles:
            oracle.begun(self, events)
        return True

    def _store(self, fields: dict[str, Any]) -> str:
        """Give the message its lane and number, as the records do. Returns the lane."""
        fields = dict(fields)
        author = m.Author(role=fields.pop("role"), alias=fields.pop("alias_of_author"))
        kind, via, number = fields.pop("kind"), fields.pop("via", ""), fields.pop("number", 0)
        lane = m.lane_of(author, kind, via)
        rows = self.rows.setdefault(lane, [])
        number = max(number, rows[-1].message.number + 1 if rows else 1)
        message = m.MESSAGE_TYPES[kind](key=f"{lane}#{number}", author=author, lane=lane, number=number, **fields)
        rows.append(Row(message, self.now))
        return lane

    def _say(self, fields: dict[str, Any]) -> bool:
        lane = self._store(fields)
        while self._deliver(lane):
            if self.next_of(lane) is not None:
                self._settle()
        return True

    def _deliver(self, lane: str) -> bool:
        row = self.next_of(lane)
        if row is None:
            return False
        stands = self._stands
        check(not machine.repeated(self.state, row.message), "a new message is taken for a repeated one", row.message)
        refusal = self._refusal(row.message)
        if refusal is not None:
            row.verdict = "refused"
            for oracle in self.oracles:
                oracle.refused(self, row.message, refusal.value)
            self._saw(f"refused {row.message.kind}", stands)
            return True
        row.verdict = "accepted"
        self._hear(row.message)
        self.applied[lane] = row.message.number
        self._saw(row.message.kind, stands)
        return True

    def _repeat(self, lane: str) -> bool:
        """Send applied messages again. They must be known, and nothing changes."""
        rows = [row for row in self.rows.get(lane, ()) if row.verdict == "accepted"]
        for row in rows[-3:]:
            check(machine.repeated(self.state, row.message), "an applied message is not known any more", row.message)
        return bool(rows)

    def _signal(self, kind: str) -> bool:
        """A signal that somebody sends by hand. Only `resume` is applied."""
        return kind == "resume" and self._not_stored(m.Resume(author=OPERATOR))

    def _cancel(self) -> bool:
        return self._not_stored(m.Cancel(author=OPERATOR))

    def _not_stored(self, message: m.Message) -> bool:
        stands = self._stands
        check(not machine.repeated(self.state, message), "a message without a number is taken for a repeated one")
        refusal = self._refusal(message)
        if refusal is not None:
            for oracle in self.oracles:
                oracle.refused(self, message, refusal.value)
            self._saw(f"refused {message.kind}", stands)
            return True
        self._hear(message)
        self._saw(message.kind, stands)
        return True

    def _refusal(self, message: m.Message) -> Any:
        for oracle in self.oracles:
            oracle.offered(self, message)
        return self._unchanged("refuse", lambda: machine.refuse(self.state, message))

    def _hear(self, message: m.Message) -> None:
        before = self._before()
        machine.hear(self.state, message, self.now)
        events = self._new_events()
        for oracle in self.oracles:
            oracle.heard(self, message, before, events)

    def _succeed(self, key: str, drawn: results.Decisions) -> bool:
        running = self.running.pop(key, None)
        return running is not None and self._end(running, drawn, "succeeds")

    def _late(self, key: str, drawn: results.Decisions) -> bool:
        running = self.lost.pop(key, None)
        return running is not None and key not in self.running and self._end(running, drawn, "succeeds late")

    def _end(self, running: Running, drawn: results.Decisions, how: str) -> bool:
        self.tokens += drawn.get("tokens", 0)
        output = results.build(
            running.step, drawn, spent=results.spent_of(self.tokens), undelivered=self._undelivered(running.step)
        )
        self._finish(running, Success(output, running.events), output, how)
        return True

    def _fail(self, key: str, kind: Any, code: str) -> bool:
        running = self.running.pop(key, None)
        if running is None:
            return False
        reason = "" if code == "bad_key" else f"{code} is not as it should be"
        if kind == "infrastructure":
            reason = f"step {key} failed: {code}"
        failure = StepFailure(kind, code, reason, running.began)
        self._finish(running, failure, failure, f"fails: {kind}")
        return True

    def _finish(self, running: Running, ended: Success | StepFailure, output: Any, how: str) -> None:
        stands, before = self._stands, self._before()
        running.wanted = running.key in self.wanted
        machine.finish(self.state, running.key, ended, self.now)
        events = self._new_events()
        for oracle in self.oracles:
            oracle.finished(self, running, output, before, events)
        self._saw(f"step {running.step.contract.name} {how}", stands)

    def _pass(self, seconds: float) -> bool:
        self.now += timedelta(seconds=seconds)
        return True

    def _tick(self, seconds: float = 0) -> bool:
        self.now += timedelta(seconds=seconds)
        stands, before = self._stands, self._before()
        machine.tick(self.state, self.now)
        events = self._new_events()
        for oracle in self.oracles:
            oracle.ticked(self, before, events)
        self._unchanged("a second tick", lambda: machine.tick(self.state, self.now))
        wake = machine.wake(self.state)
        check(wake is None or wake > self.now, "woken, and wants to be woken at once again:", wake, self.now)
        self._saw("time", stands)
        return True

    def _alarm(self, late: float = 0) -> bool:
        at = machine.wake(self.state)
        if at is None:
            return False
        return self._tick(max(0.0, (at - self.now).total_seconds()) + late)

    def _kill(self) -> bool:
        self._reload()
        self.lost |= self.running
        self.running.clear()
        return True

    def _continue(self) -> bool:
        if self.running or self.state.phase.ended:
            return False
        self._reload()
        self.lost.clear()
        self.state.logic, self.state.upgrade_wanted = LOGIC, False
        return True

    def _reload(self) -> None:
        written = self.state.model_dump_json()
        read = State.model_validate_json(written)
        check(read == self.state, "the state is not the same after it was written and read")
        self.state, self.changed, self._frozen = read, True, None

    def _checkpoint(self) -> bool:
        self.checkpoint = Checkpoint(
            self.state.model_dump_json(), self.state.logic, copy.deepcopy(list(self.oracles)), dict(self.applied)
        )
        return True

    def _reset(self) -> bool:
        """Go back to the checkpoint. Messages that were applied later wait to be sent again, in order."""
        if self.checkpoint is None:
            return False
        kept = self.checkpoint
        self.state, self.changed, self._frozen = State.model_validate_json(kept.state), True, None
        self.oracles = copy.deepcopy(kept.oracles)
        self.applied = dict(kept.applied)
        self.running.clear()
        self.lost.clear()
        self.seen_seq = self.state.seq
        for lane, rows in self.rows.items():
            for row in rows:
                if row.verdict == "accepted" and row.message.number > self.applied.get(lane, 0):
                    row.verdict = ""
        return True

    # ---- common parts of inputs

    def next_of(self, lane: str) -> Row | None:
        return next((row for row in self.rows.get(lane, ()) if not row.verdict), None)

    @property
    def on_their_way(self) -> list[str]:
        """Return the lanes with a stored message without a verdict."""
        return [lane for lane in self.rows if self.next_of(lane) is not None]

    def tries(self, key: str) -> bool:
        """Return whether a step runs."""
        return key in self.running

    def _undelivered(self, step: WantedStep) -> bool:
        given = step.input
        return isinstance(given, CheckDeadlineInput) and any(self.next_of(lane) is not None for lane in given.lanes)

    @property
    def frozen(self) -> Frozen:
        """The state as plain values, computed once for each change."""
        if self._frozen is None:
            self._frozen = frozen(self.state)
        return self._frozen

    def _before(self) -> Frozen:
        """Return the current state, and note that it may change from now on."""
        before = self.frozen if self.oracles else {}
        self.changed, self._frozen = True, None
        return before

    def _new_events(self) -> list[Event]:
        new = [event for event in self.state.outbox if event.seq > self.seen_seq]
        expected = list(range(self.seen_seq + 1, self.state.seq + 1))
        check([event.seq for event in new] == expected, "events are numbered without holes:", new)
        self.seen_seq = self.state.seq
        self.fresh += new
        return new

    def _settle(self) -> None:
        """Start and cancel steps as the workflow class does."""
        if not self.changed:
            return
        self.wanted = wanted = self._unchanged("wanted", lambda: machine.wanted(self.state))
        for key in [key for key in self.running if key not in wanted and key != RECORD_KEY]:
            self.lost[key] = self.running.pop(key)
        for key, step in wanted.items():
            if key not in self.running and not step.held:
                self.running[key] = Running(key, step, self.now, tuple(event.seq for event in self.state.outbox))
                self.lost.pop(key, None)
                for oracle in self.oracles:
                    oracle.started(self, self.running[key])
        check(self.state.lanes == self.applied, "numbers of applied messages:", self.state.lanes, self.applied)
        fresh, self.fresh, self.changed = self.fresh, [], False
        for oracle in self.oracles:
            oracle.settled(self, fresh)

    def _unchanged(self, what: str, call: Callable[[], Any]) -> Any:
        """Call a function that must not change the state. This is checked only sometimes, because it takes time."""
        if not self.oracles or self.inputs % LOOK_CLOSELY_EVERY:
            return call()
        before = frozen(self.state), list(self.state.outbox)
        answer = call()
        if (frozen(self.state), list(self.state.outbox)) != before:
            raise Violation(f"{what} has changed the state")
        return answer
