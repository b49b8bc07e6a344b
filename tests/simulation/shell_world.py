"""A simulated process that runs the real workflow class, with the same schedules and oracles.

The oracles see each call of the state machine by the class. Inputs become jobs of workflow tasks. Some jobs are held
back and come together with the next job. Due timers come before a job, together with it, or after it. A kill is a
replay of the history, and a reset is a replay of its beginning.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Final
from zlib import crc32

from tests.simulation import results
from tests.simulation.in_process import SINGLE_BATCH, Activity, InProcess, Task
from tests.simulation.noise import a_name, payloads
from tests.simulation.oracles.base import check
from tests.simulation.script import Input
from tests.simulation.shell_tasks import ShellTasks
from tests.simulation.watched import watching
from tests.simulation.world import Checkpoint, Running
from tongyao.protocol.contracts.process import OPERATOR_NEEDED, ProcessInput
from tongyao.protocol.life import machine
from tongyao.protocol.life.snapshot import suspended_codes
from tongyao.protocol.life.state import RECORD_KEY, State
from tongyao.protocol.model.events import Event
from tongyao.protocol.rules.refusals import MessageVerdict

SENT: Final = "sent"
"""The verdict of a row whose update is held back and comes together with another job."""

TOGETHER: Final = ("say", "deliver", "signal", "cancel", "succeed", "fail")
"""Inputs that become a job which may come together with the next job."""


@dataclass
class Kept(Checkpoint):
    """The data for a reset: a run, and the beginning of its history."""

    start: ProcessInput | State
    history: list[Task]
    running: dict[str, Running]
    activities: dict[str, Activity]
    seq: int
    fresh: list[Event]


class ShellWorld(ShellTasks):
    """`apply` plays one input through the workflow class."""

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
        """Send an applied message again. The class must answer that it was applied, and apply nothing."""
        rows = [row for row in self.rows.get(lane, ()) if row.verdict == "accepted"]
        if self.closed or not rows:
            return False
        job = self.run.update(rows[-1].message)
        self._activate(job)
        if job.do_update.protocol_instance_id in self.run.verdicts:
            verdict = self.run.verdicts[job.do_update.protocol_instance_id]
            check(
                isinstance(verdict, MessageVerdict) and verdict.repeated,
                "an applied message is not known any more",
                verdict,
            )
        return True

    def _signal(self, kind: str) -> bool:
        """Send a signal with payloads of any shape. Sometimes a signal of another name comes first."""
        if self.closed:
            return False
        rng = Random(self.odd)
        if self.odd % 7 == 0:
            self._send(self.run.signal(a_name(rng), *payloads(rng)))
        if not self.closed:
            self._send(self.run.signal(kind, *payloads(rng)))
        return True

    def _cancel(self) -> bool:
        if self.closed:
            return False
        self._send(self.run.cancel_job())
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
        return False  # the class does not get results of cancelled activities

    def _tick(self, seconds: float = 0) -> bool:
        self.now += timedelta(seconds=seconds)
        self._fire()
        return True

    def _alarm(self, late: float = 0) -> bool:
        """Move the time to the next timer, and run until nothing more is due."""
        if self.closed or not self.run.timers:
            return False
        at = min(self.run.timers.values())
        self.now = max(self.now, at + timedelta(seconds=late))
        self._fire()
        return True

    def _kill(self) -> bool:
        """Let another worker replay the history. The replay must give the same commands and the same state."""
        if self.closed:
            return False
        suggested = self.run.suggested
        self._replay(self.run.start, self.run.history)
        check(self.run.state == self.state, "a replay gives another state", self.run.state, "before", self.state)
        self.run.suggested = suggested
        self.see(self.run.state)
        return True

    def _continue(self) -> bool:
        """Let the server suggest to continue as new. The class does that when nothing runs."""
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
        """Go back to the checkpoint, in its run. Messages that were applied later wait to be sent again."""
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

    # ---- checks after every input

    def _settle(self) -> None:
        if self.held:  # checked after the held job
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
        """Check that the class runs exactly the wanted steps, and is woken in time."""
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
