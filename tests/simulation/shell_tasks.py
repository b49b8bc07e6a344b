"""Workflow tasks of a simulated process: gives jobs to the workflow class, and takes over its starts, cancellations
and answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from temporalio.bridge.proto.workflow_activation import WorkflowActivationJob

from tests.simulation.in_process import Activity, InProcess, Task
from tests.simulation.oracles.base import check
from tests.simulation.world import Row, Running, World
from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.life.state import LOGIC, RECORD_KEY, State, WantedStep
from tongyao.protocol.rules.refusals import MessageVerdict
from workflows.crystallization import MAX_HISTORY


@dataclass
class ShellTasks(World):
    """Runs the workflow class of one process without a server, through all runs of the workflow."""

    run: InProcess = field(init=False)
    activities: dict[str, Activity] = field(default_factory=dict)
    """The running activity of each step."""
    ending: dict[str, Running] = field(default_factory=dict)
    """Steps whose activity has ended, before the class gets the result."""
    scheduling: list[str] = field(default_factory=list)
    held: list[WorkflowActivationJob] = field(default_factory=list)
    sent: dict[str, Row] = field(default_factory=dict)
    runs: int = 1
    replays: bool = False
    broken: BaseException | None = None
    odd: int = 0
    """A number computed from the input. It decides everything that the input leaves open."""

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

    def _send(self, job: WorkflowActivationJob) -> None:
        """Put a job into a workflow task, alone or together with the next job."""
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
        """Run one workflow task with the due timers, and the tasks that follow at once."""
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
        """Take over the starts, cancellations and answers of the task, and do the server's immediate actions."""
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
            check(isinstance(verdict, MessageVerdict), "neither applied nor refused:", verdict)
            accepted = isinstance(verdict, MessageVerdict) and verdict.accepted
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
        """Handle the end of the workflow. The records close undelivered messages."""
        check(self.run.result["outcome"] == self.state.phase.value, "result", self.run.result, self.state.phase)
        check(not self.state.outbox, "ends, and the records are not told", self.state.outbox)
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

    def begins(self, key: str, step: WantedStep, running: Any) -> None:
        """Note that the class has started a step."""
        self.running[key] = Running(key, step, running.began, running.events)
        for oracle in self.oracles:
            oracle.started(self, self.running[key])

    def tries(self, key: str) -> bool:
        """Return whether a step runs. The step `record` need not run if other steps write the whole outbox."""
        carried = {number for running in self.running.values() for number in running.events}
        return key in self.running or (key == RECORD_KEY and all(event.seq in carried for event in self.state.outbox))
