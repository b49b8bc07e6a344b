"""A simulated process in which the real workflow class runs, in process: the same schedules, the same oracles.

The functions of the state machine are watched while the class calls them, so oracles see each of them, in whatever order the class
calls them. Inputs become jobs of workflow tasks. Some jobs are held back and come together with the next one; timers that are due come
before a job, together with it, or after it. A kill is a replay of the history so far; a reset is a replay of its beginning.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from zlib import crc32

from temporalio.bridge.proto.workflow_activation import WorkflowActivationJob

from tests.simulation import results
from tests.simulation.in_process import SINGLE_BATCH, Activity, InProcess, Task
from tests.simulation.oracles.base import check
from tests.simulation.script import Input
from tests.simulation.watched import watching
from tests.simulation.world import Checkpoint, Row, Running, World
from tongyao.protocol.contracts.process import OPERATOR_NEEDED, ProcessInput
from tongyao.protocol.life import machine
from tongyao.protocol.life.snapshot import suspended_codes
from tongyao.protocol.life.state import LOGIC, State
from tongyao.protocol.life.steps import RECORD_KEY, Step
from tongyao.protocol.model.events import Event
from tongyao.protocol.model.tension import MISSING
from tongyao.protocol.rules.refusals import Verdict
from workflows.crystallization import MAX_HISTORY

SENT: Final = "sent"
"""The verdict of a row whose update is held back, to come together with another job."""

TOGETHER: Final = ("say", "deliver", "signal", "succeed", "fail")
"""Inputs that become a job, which may come together with the next one."""

TEXTS: Final = ("submit_projection", "answer_plan")
"""Kinds whose signal carries a text."""


@dataclass
class Kept(Checkpoint):
    """What a reset goes back to: a run, and the beginning of its history."""

    start: ProcessInput | State
    history: list[Task]
    running: dict[str, Running]
    activities: dict[str, Activity]
    seq: int
    fresh: list[Event]


@dataclass
class ShellWorld(World):
    """`apply` plays one input through the workflow class."""

    run: InProcess = field(init=False)
    activities: dict[str, Activity] = field(default_factory=dict)
    """Step → the activity that runs for it."""
    ending: dict[str, Running] = field(default_factory=dict)
    """Steps whose activity has ended and of which the class has not been told."""
    scheduling: list[str] = field(default_factory=list)
    held: list[WorkflowActivationJob] = field(default_factory=list)
    sent: dict[str, Row] = field(default_factory=dict)
    runs: int = 1
    replays: bool = False
    broken: BaseException | None = None
    odd: int = 0
    """A number out of the input alone: what is left open by it is decided by this."""

    def apply(self, given: Input) -> bool:
        self.odd = crc32(repr(given).encode())
        with watching(self):
            flushed = bool(self.held) and given[0] not in TOGETHER
            if flushed:
                self._flush()
                self._settle()
            done = super().apply(given)
            if not done and self.held:
                flushed = True
                self._flush()
                self._settle()
            return done or flushed

    @property
    def closed(self) -> bool:
        """Whether the workflow has ended."""
        return self.run.result is not None

    @property
    def draining(self) -> bool:
        """Whether the process is about to continue as new."""
        return self.run.suggested or self.run.history_length > MAX_HISTORY or self.state.upgrade_wanted

    def see(self, state: State) -> None:
        self.state, self._frozen, self.changed = state, None, True

    # ---- inputs

    def _begin(self, start: dict[str, Any]) -> bool:
        flags = SINGLE_BATCH if self.odd % 2 else frozenset()
        self.scheduling.clear()
        self.run = InProcess(ProcessInput.model_validate(start), now=self.now, flags=flags)
        self._after()
        return True

    def _deliver(self, lane: str) -> bool:
        row = self.next_of(lane)
        if row is None:
            return False
        if self.closed:
            row.verdict = "refused"
            return True
        check(not machine.repeated(self.state, row.message), "a new message is taken for a repeated one", row.message)
        row.verdict = SENT
        job = self.run.update(row.message)
        self.sent[job.do_update.protocol_instance_id] = row
        self._send(job)
        return True

    def _repeat(self, lane: str) -> bool:
        """Send again what was applied: the class answers that it was, and applies nothing."""
        rows = [row for row in self.rows.get(lane, ()) if row.verdict == "accepted"]
        if self.closed or not rows:
            return False
        job = self.run.update(rows[-1].message)
        self._activate(job)
        if job.do_update.protocol_instance_id in self.run.verdicts:
            verdict = self.run.verdicts[job.do_update.protocol_instance_id]
            check(
                isinstance(verdict, Verdict) and verdict.repeated, "an applied message is not known any more", verdict
            )
        return True

    def _signal(self, fields: dict[str, Any]) -> bool:
        if self.closed:
            return False
        if fields["kind"] == "cancel" and not fields.get("branch") and self.odd % 3 == 0:
            self._send(self.run.cancel_job())
            return True
        payload = {name: value for name, value in fields.items() if name not in ("via", "number", "role", "kind")}
        payload["author"] = {"role": fields["role"], "alias": payload.pop("alias_of_author")}
        if fields["kind"] in TEXTS and payload.get("text_id"):
            payload["text"] = f"What stands in {payload.pop('text_id')}."
        if "tension" in payload:
            payload["tension"] = _tension(payload["tension"]["grade"])
        if self.odd % 4 == 0:
            payload["key"] = f"signal-{self.odd % 64}"
        self._send(self.run.signal(fields["kind"], payload))
        return True

    def _succeed(self, key: str, drawn: results.Decisions) -> bool:
        activity = self.activities.get(key)
        if activity is None or key not in self.running or key in self.ending:
            return False
        running = self.running[key]
        self.tokens += drawn.get("tokens", 0)
        output = results.build(
            running.step, drawn, spent=results.spent_of(self.tokens), undelivered=self._undelivered(running.step)
        )
        self.ending[key] = running
        self._send(self.run.completed(activity, output))
        return True

    def _fail(self, key: str, kind: Any, code: str) -> bool:
        activity = self.activities.get(key)
        if activity is None or key not in self.running or key in self.ending:
            return False
        self.ending[key] = self.running[key]
        reason = "" if code == "bad_key" else f"{code} is not as it should be"
        if kind == "operator":
            self._send(self.run.failed(activity, OPERATOR_NEEDED, reason, code))
        else:
            self._send(self.run.failed(activity, code, reason))
        return True

    def _late(self, key: str, drawn: results.Decisions) -> bool:
        return False  # the class never hears of a cancelled activity's result

    def _tick(self, seconds: float = 0) -> bool:
        self.now += timedelta(seconds=seconds)
        self._fire()
        return True

    def _alarm(self, late: float = 0) -> bool:
        """Until the class has nothing more to do at the time at which it wanted to be woken."""
        if self.closed or not self.run.timers:
            return False
        at = min(self.run.timers.values())
        self.now = max(self.now, at + timedelta(seconds=late))
        self._fire()
        return True

    def _kill(self) -> bool:
        """Another worker takes over: it replays the history, which must give the same commands and the same state."""
        if self.closed:
            return False
        suggested = self.run.suggested
        self._replay(self.run.start, self.run.history)
        check(self.run.state == self.state, "a replay gives another state", self.run.state, "before", self.state)
        self.run.suggested = suggested
        self.see(self.run.state)
        return True

    def _continue(self) -> bool:
        """The server suggests to continue as new. It happens when nothing runs any more."""
        if self.closed:
            return False
        self.run.suggested = True
        return True

    def _checkpoint(self) -> bool:
        if self.closed:
            return False
        self.checkpoint = Kept(
            state="",
            logic=self.state.logic,
            oracles=copy.deepcopy(list(self.oracles)),
            applied=dict(self.applied),
            start=self.run.start,
            history=list(self.run.history),
            running=dict(self.running),
            activities=dict(self.activities),
            seq=self.seen_seq,
            fresh=list(self.fresh),
        )
        return True

    def _reset(self) -> bool:
        """Back to the checkpoint, in the run in which it was. Applied messages from after it wait to be sent again."""
        kept = self.checkpoint
        if not isinstance(kept, Kept):
            return False
        self._replay(kept.start, kept.history)
        self.oracles = copy.deepcopy(kept.oracles)
        self.applied = dict(kept.applied)
        self.running, self.activities = dict(kept.running), dict(kept.activities)
        self.see(self.run.state)
        self.seen_seq = kept.seq
        self.fresh = list(kept.fresh)
        for lane, rows in self.rows.items():
            for row in rows:
                if row.verdict == "accepted" and row.message.number > self.applied.get(lane, 0):
                    row.verdict = ""
        return True

    # ---- workflow tasks

    def _send(self, job: WorkflowActivationJob) -> None:
        """Put a job into a workflow task, now or together with the next one."""
        if self.odd % 5 == 0 and not self.held:
            self.held.append(job)
            return
        jobs, self.held = [*self.held, job], []
        self._activate(*jobs)

    def _flush(self) -> None:
        if self.held:
            jobs, self.held = self.held, []
            self._activate(*jobs)

    def _activate(self, *jobs: WorkflowActivationJob) -> None:
        """One workflow task, with the timers that are due; what follows from it at once follows."""
        if self.closed:
            return
        fired = self._due()
        if fired and self.odd % 3 == 0:
            self._task(*fired)
            fired = []
        if not self.closed:
            self._task(*(fired if self.odd % 3 == 1 else ()), *jobs, *(fired if self.odd % 3 == 2 else ()))

    def _due(self) -> list[WorkflowActivationJob]:
        jobs = []
        for seq in [seq for seq, at in self.run.timers.items() if at <= self.now]:
            del self.run.timers[seq]
            job = WorkflowActivationJob()
            job.fire_timer.seq = seq
            jobs.append(job)
        return jobs

    def _fire(self) -> None:
        if not self.closed and (fired := self._due()):
            self._task(*fired)

    def _task(self, *jobs: WorkflowActivationJob) -> None:
        self.run.now = self.now
        self.scheduling.clear()
        already = len(self.run.scheduled)
        try:
            self.run.activate(*jobs)
        except AssertionError:
            if self.broken is not None:
                raise self.broken from None
            raise
        self._after(already)

    def _after(self, already: int = 0) -> None:
        """Take over what the task has started, cancelled, answered; and do at once what the server does at once."""
        if self.broken is not None:
            raise self.broken
        for key, seq in zip(self.scheduling, self.run.scheduled[already:], strict=True):
            if seq in self.run.activities:
                self.activities[key] = self.run.activities[seq]
        self.scheduling.clear()
        runs = self.run._instance._object._running
        for key in [key for key in self.running if key not in runs]:
            del self.running[key]
            self.ending.pop(key, None)
        self.activities = {key: one for key, one in self.activities.items() if key in self.running}
        for name in [name for name in self.sent if name in self.run.verdicts]:
            verdict = self.run.verdicts[name]
            check(isinstance(verdict, Verdict), "neither applied nor refused:", verdict)
            accepted = isinstance(verdict, Verdict) and verdict.accepted
            self.sent.pop(name).verdict = "accepted" if accepted else "refused"
        if self.run.continued is not None:
            self._continued_as_new(self.run.continued)
            return
        if self.closed:
            self._ended()
            return
        if self.run.cancelled and (jobs := self.run.cancelled_jobs()):
            self._task(*jobs)
        elif self.run.children:
            seq = min(self.run.children)
            self._task(self.run.child_runs_already(seq) if self.odd % 2 else self.run.child_started(seq))

    def _continued_as_new(self, state: State) -> None:
        check(not self.running and not self.ending, "steps are lost when it continues as new:", list(self.running))
        check(state == self.state, "the next run begins with another state", state, "before", self.state)
        self.scheduling.clear()
        self.runs += 1
        updates = self.run.updates
        self.run = InProcess(state, now=self.now, flags=self.run.flags)
        self.run.updates = updates
        check(self.run.state.logic == LOGIC, "a new run follows the newest rules")
        self.see(self.run.state)
        self._after()

    def _ended(self) -> None:
        """The workflow has ended: what was on its way is closed by the records."""
        check(self.run.result["outcome"] == self.state.phase.value, "result", self.run.result, self.state.phase)
        check(
            not self.state.outbox and not self.state.signalled, "ends, and the records are not told", self.state.outbox
        )
        for row in self.sent.values():
            row.verdict = "refused"
        self.sent.clear()
        self.held.clear()

    def _replay(self, start: ProcessInput | State, history: list[Task]) -> None:
        self.replays = True
        try:
            updates = self.run.updates
            self.run = InProcess.replayed(start, history, self.run.flags)
            self.run.updates = updates
        finally:
            self.replays = False

    def begins(self, key: str, step: Step, running: Any) -> None:
        """The class has started a step."""
        self.running[key] = Running(key, step, running.began, running.events, running.texts)
        for oracle in self.oracles:
            oracle.started(self, self.running[key])

    def tries(self, key: str) -> bool:
        """Whether a step runs. What would write the outbox need not run where other steps carry all of it."""
        carried = {number for running in self.running.values() for number in running.events}
        return key in self.running or (key == RECORD_KEY and all(event.seq in carried for event in self.state.outbox))

    # ---- what must hold after every input

    def _settle(self) -> None:
        if self.held:  # its time has not come
            return
        self.wanted = machine.wanted(self.state)
        check(self.state.lanes == self.applied, "numbers of applied messages:", self.state.lanes, self.applied)
        if not self.closed:
            self._shell()
        if self.draining and not self.state.phase.ended:
            return
        fresh, self.fresh, self.changed = self.fresh, [], False
        for oracle in self.oracles:
            oracle.settled(self, fresh)

    def _shell(self) -> None:
        """What the class owes the state machine: it runs what is wanted, nothing else, and is woken in time."""
        running = set(self.run._instance._object._running)
        check(running == set(self.running), "runs", running, "noted", set(self.running))
        superfluous = [key for key in running if key not in self.wanted and key != RECORD_KEY]
        check(not superfluous, "runs and is not wanted:", superfluous)
        missing = [key for key, step in self.wanted.items() if not step.held and key not in (*running, RECORD_KEY)]
        check(not missing or self.draining, "is wanted and does not run:", missing)
        carried = [number for one in self.running.values() for number in one.events]
        check(len(set(carried)) == len(carried), "events travel twice:", carried)
        check(set(self.activities) == running, "runs without an activity:", running, list(self.activities))
        wake = machine.wake(self.state)
        timers = sorted(self.run.timers.values())
        if wake is not None and wake > self.now:
            check(timers and timers[0] <= wake, "sleeps through", wake, timers)
        shown = self.run.attributes
        told = (shown["TongyaoPhase"], shown["TongyaoRound"], tuple(shown.get("TongyaoSuspended") or ()))
        state = self.state
        check(told == (state.phase.value, state.round, suspended_codes(state)), "search attributes", told)


def _tension(grade: str) -> dict[str, Any]:
    """A tension of a certain grade, as an operator signals it."""
    whole = {
        "transition": "From gauges that nobody reads to a harbour that knows its tides.",
        "initial_state": "Three gauges, one of them broken.",
        "barriers": ["Nobody can repair the third gauge."],
        "exchange": "Ten years of readings.",
    }
    return whole | {"A": {}, "B": {"exchange": MISSING}, "C": {"initial_state": MISSING}}[grade]
