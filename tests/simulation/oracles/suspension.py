"""Causes of a suspension: their beginning, their end, and the retries of steps (docs/protocol.md §3.7)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.oracles.base import Frozen, Oracle, check
from tests.simulation.oracles.parking import parking
from tongyao.protocol.life import machine
from tongyao.protocol.life.state import RECORD_KEY, StepFailure
from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.messages import Message

if TYPE_CHECKING:
    from tests.simulation.world import Running, World

AGAIN_AFTER: Final = (10, 30, 60, 120, 300, 600)
"""Seconds to the next try. The last value repeats."""


class Suspension(Oracle):
    def __init__(self) -> None:
        self.resumed: datetime | None = None
        self.tries: dict[str, int] = {}

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        causes = world.state.causes
        if isinstance(output, StepFailure):
            self._failed(world, running, output, before, events)
        else:
            check(running.key not in causes, "a step succeeds, and its cause stays", running.key)
            if running.key in before["causes"]:
                waiting = [name for name, one in causes.items() if one.retry_at is not None]
                check(not waiting, "one step succeeds: the others are tried at once", waiting)
            new = set(causes) - set(before["causes"])
            overdue = {key for key, one in parking(world).steps.items() if one.overdue}
            check(new <= {"endpoints_failed"} | overdue, "suspended by a success", new)
            if "endpoints_failed" in new:
                self._all_failed(world, before)
        self._note(world, before, events)

    def _failed(
        self, world: World, running: Running, failure: StepFailure, before: Frozen, events: list[Event]
    ) -> None:
        state, key = world.state, running.key
        was, now = before["causes"].get(key), state.causes.get(key)
        if running.step.optional:
            skipped = [one.data["step"] for one in events if one.kind is EventKind.STEP_SKIPPED]
            passed_over = skipped == [running.step.contract.name]
            check(now is None and passed_over == running.wanted, "what can be done without is passed over", events)
            return
        mended = was is None and self.resumed is not None and failure.began < self.resumed
        if mended or not running.wanted:
            same = world.frozen == before or state.correcting_until != before["correcting_until"]
            check(now is None and same, "it failed of what is mended since, or nobody wants it", events)
            return
        of_several = running.step.contract.name == "project" and len(_open_turns(before, key)) > 1
        if failure.kind == "operator" and of_several:
            batches = [one.batch for one in state.turns.values() if one.outcome is None and one.batch]
            check(now is None and len(set(batches)) == len(batches), "one must not hold up the others", batches)
            return
        check(now is not None, "a step failed, and the process is not suspended", key)
        assert now is not None
        kind = "infrastructure" if key == RECORD_KEY or before["phase"].ended else failure.kind
        told = (now.kind, now.code, now.reason)
        check(told == (kind, failure.code, failure.reason), "the cause", now)
        self.tries[key] = self.tries[key] + 1 if was else 0
        if kind == "infrastructure":
            wait = AGAIN_AFTER[min(self.tries[key], len(AGAIN_AFTER) - 1)]
            check(now.retry_at == world.now + timedelta(seconds=wait), "tried again", now, "expected after", wait)
        else:
            check(now.retry_at is None, "an operator's cause is not tried again by itself")
        check(now.since == (was["since"] if was else failure.began), "since when", now)
        told_of = [one.data for one in events if one.kind is EventKind.SUSPENDED]
        noted = [{name: value for name, value in one.items() if name != "since"} for one in told_of]
        known = any((one["kind"], one["code"]) == (kind, failure.code) for one in before["causes"].values())
        expected = [] if known else [{"code": failure.code, "kind": kind, "reason": failure.reason}]
        check(noted == expected, "told", noted, expected)

    def _all_failed(self, world: World, before: Frozen) -> None:
        """Check that if every endpoint failed, all turns are taken again after the process is resumed."""
        there = [one for one in world.state.seat_turns.values() if world.state.seats[one.alias].active]
        check(all(one.outcome is None for one in there) and there, "some turns stand", there)
        cause = world.state.causes["endpoints_failed"]
        check((cause.kind, cause.code, cause.since) == ("operator", "endpoints_failed", world.now), "cause", cause)

    def heard(self, world: World, message: Message, before: Frozen, events: list[Event]) -> None:
        new = set(world.state.causes) - set(before["causes"])
        check(new <= {"endpoints_failed"}, "suspended by a message", new)
        if new:
            self._all_failed(world, before)
        gone = [name for name in before["causes"] if name not in world.state.causes]
        wanted = machine.wanted(world.state) if message.kind != "resume" and not world.state.phase.ended else {}
        if message.kind == "call_answered":  # `Parking` checks which causes an answer ends
            wanted = {}
        check(not wanted.keys() & set(gone), "resumed without `resume`", gone)
        self._note(world, before, events)

    def ticked(self, world: World, before: Frozen, events: list[Event]) -> None:
        for name, one in world.state.causes.items():
            was = before["causes"].get(name)
            if was is not None and was["retry_at"] is not None:
                due = was["retry_at"] <= world.now
                check(one.retry_at == (None if due else was["retry_at"]), "the next try", one, "before", was)
        gone = set(before["causes"]) - set(world.state.causes)
        check(not gone & machine.wanted(world.state).keys() or world.state.phase.ended, "resumed by time", gone)
        self._note(world, before, events)

    def _note(self, world: World, before: Frozen, events: list[Event]) -> None:
        resumed = any(event.kind is EventKind.RESUMED for event in events)  # the end of a process removes causes too
        if before["causes"] and not world.state.causes and resumed:
            self.resumed = world.now
            ended = [name for name in self.tries if name not in world.state.causes]
            for name in ended:
                del self.tries[name]

    def settled(self, world: World, events: list[Event]) -> None:
        for name, one in world.state.causes.items():
            steps = {"endpoints_failed" if key.startswith("project/") else key for key in world.wanted}
            check(name in steps | set(world.wanted), "a cause of a step that nobody wants", name)
            if one.kind == "infrastructure":
                check(one.retry_at is not None or world.tries(name), "is not tried again", name)
        if world.state.causes and not world.state.phase.ended:
            for key, step in world.wanted.items():
                cause = world.state.causes.get(key)
                waits = cause is not None and (cause.kind == "operator" or cause.retry_at is not None)
                free = key == RECORD_KEY and not waits
                tried = cause is not None and not waits
                check(step.held == (not free and not tried), "held", key, step.held, cause)
        elif not world.state.causes:
            held = [key for key, step in world.wanted.items() if step.held and key not in world.state.causes]
            check(not held, "held, and nothing is suspended", held)


def _open_turns(before: Frozen, key: str) -> list[str]:
    """Return the aliases whose turns were still open in the failed step. A person may have taken over from a proxy."""
    batch = int(key.rpartition("/")[2])
    return [alias for alias, turn in before["turns"].items() if turn["outcome"] is None and turn["batch"] == batch]
