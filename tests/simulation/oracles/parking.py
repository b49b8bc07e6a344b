"""Steps whose model calls wait for answers from outside (docs/protocol.md §8.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.oracles.base import Frozen, Oracle, check
from tongyao.protocol.contracts.process import ActivityInput, CheckDeadlineOutput, Pending, ProjectInput
from tongyao.protocol.life import machine
from tongyao.protocol.life.state import StepFailure
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import Event, EventKind

if TYPE_CHECKING:
    from tests.simulation.world import Running, World

NOT_ANSWERED: Final = "not_answered"


@dataclass
class ParkedStep:
    """A step with waiting calls. `phase`, `round`, `revision`: of the process when it was parked.

    `overdue`: the time of the calls has passed. The step may then run again although calls wait.
    """

    input: ActivityInput
    calls: set[str]
    phase: str
    round: int
    revision: int
    overdue: bool = False

    @property
    def waits(self) -> bool:
        return bool(self.calls) and not self.overdue


class Parking(Oracle):
    """Checks that a step runs again only after all its answers or the end of its time, and that no answer is lost.

    Other oracles read `steps`. Therefore this oracle is the first of all.
    """

    def __init__(self) -> None:
        self.steps: dict[str, ParkedStep] = {}
        self.early: list[str] = []
        """Answers that came before a step waited for them."""
        self.checks: dict[str, str] = {}
        """The parked step of each check of a deadline, by the key of the check."""

    def heard(self, world: World, message: m.Message, before: Frozen, events: list[Event]) -> None:
        if isinstance(message, m.CallAnswered):
            self._answered(world, message, before, events)
        self._compare(world)

    def _answered(self, world: World, message: m.CallAnswered, before: Frozen, events: list[Event]) -> None:
        told = [event.data["call"] for event in events if event.kind is EventKind.CALL_ANSWERED]
        key = next((key for key, one in self.steps.items() if message.call in one.calls), "")
        check(told == [message.call] * bool(key), "which answer is told", told, message)
        if not key:
            self.early.append(message.call)
            return
        step = self.steps[key]
        step.calls.discard(message.call)
        if step.overdue:  # the step may have run again and looked before the answer came
            self.early.append(message.call)
        mended = not step.calls and before["causes"].get(key, {}).get("code") == NOT_ANSWERED
        if not step.calls:
            del self.steps[key]
        gone = set(before["causes"]) - set(world.state.causes)
        check(key in gone or not mended, "answered, and still suspended", key)
        stays = gone & machine.wanted(world.state).keys() - ({key} if mended else set())
        check(not stays, "an answer ends the cause of something else", stays)

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        if key := self.checks.pop(running.key, ""):
            ended = running.wanted and isinstance(output, CheckDeadlineOutput) and key in self.steps
            if ended and not self._deadline(world, key):
                self._overdue(world, key, before, events)
        elif isinstance(output, Pending):
            self._pending(world, running, output, events)
        elif not isinstance(output, StepFailure):
            self.steps.pop(running.key, None)
        self._compare(world)

    def _pending(self, world: World, running: Running, output: Pending, events: list[Event]) -> None:
        key, calls, state = running.key, set(output.waiting_calls), world.state
        told = [event.data for event in events if event.kind is EventKind.CALLS_WAITING]
        if not running.wanted:
            check(not told, "a step that nobody wants waits for calls", told)
            return
        self.steps.pop(key, None)
        if isinstance(running.step.input, ProjectInput) and self._several(state, key, running):
            check(not told, "a step of several turns is parked", told)
            return
        answered = [call for call in output.waiting_calls if call in self.early]
        known = [event.data["call"] for event in events if event.kind is EventKind.CALL_ANSWERED]
        check(known == answered, "answers that came before", known, "expected", answered)
        calls -= set(answered)
        self.early = [call for call in self.early if call not in output.waiting_calls]
        check(told == [{"step": key, "calls": len(calls)}] * bool(calls), "what waits", told, calls)
        if calls:
            self.steps[key] = ParkedStep(running.step.input, calls, state.phase.value, state.round, state.plan_revision)

    def _several(self, state: Any, key: str, running: Running) -> bool:
        """Return whether the step was split into steps of one turn each."""
        batch = int(key.rpartition("/")[2])
        assert isinstance(running.step.input, ProjectInput)
        asked = [turn.alias for turn in running.step.input.turns]
        here = [alias for alias in asked if alias in state.turns and state.turns[alias].outcome is None]
        return not any(state.turns[alias].batch == batch for alias in here)

    def _overdue(self, world: World, key: str, before: Frozen, events: list[Event]) -> None:
        """Check the effect of a passed deadline: turns fail, and any other step suspends the process."""
        step = self.steps[key]
        step.overdue = True
        if not isinstance(step.input, ProjectInput):
            cause = world.state.causes.get(key)
            check(cause is not None and (cause.kind, cause.code) == ("operator", NOT_ANSWERED), "cause", cause)
            return
        batch = int(key.rpartition("/")[2])
        waited = [a for a, one in before["turns"].items() if one["outcome"] is None and one["batch"] == batch]
        told = [
            (event.data["alias"], event.data["outcome"])
            for event in events
            if event.kind is EventKind.PROJECTION_RECEIVED
        ]
        check(told[: len(waited)] == [(alias, "failed") for alias in sorted(waited)], "failed turns", told, waited)

    def ticked(self, world: World, before: Frozen, events: list[Event]) -> None:
        self._compare(world)

    def started(self, world: World, running: Running) -> None:
        step = self.steps.get(running.key)
        check(step is None or not step.waits, "runs before its calls are answered", running.key, step)
        if running.step.contract.name == "check_deadline":
            number = int(running.key.split("/")[1])
            parked = world.state.parked.items()
            key = next((key for key, one in parked if one.deadline and one.deadline.number == number), "")
            if key:
                self.checks[running.key] = key

    def _deadline(self, world: World, key: str) -> Any:
        one = world.state.parked.get(key)
        return one.deadline if one is not None else None

    def _compare(self, world: World) -> None:
        """Forget steps that are not wanted any more, and compare the others with the state."""
        state = world.state
        for key, one in list(self.steps.items()):
            same = (one.phase, one.round, one.revision) == (state.phase.value, state.round, state.plan_revision)
            if same and isinstance(one.input, ProjectInput):
                batch = int(key.rpartition("/")[2])
                turns = state.turns.values()
                same = state.gate_open and any(turn.outcome is None and turn.batch == batch for turn in turns)
            if not same:
                del self.steps[key]
        found = {key: (set(one.calls), one.deadline is None) for key, one in state.parked.items()}
        expected = {key: (one.calls, one.overdue) for key, one in self.steps.items()}
        check(found == expected, "parked", found, "expected", expected)
        check(list(state.answered_calls) == self.early, "early answers", state.answered_calls, self.early)


def parking(world: World) -> Parking:
    """Return this oracle among those of the world."""
    return next(oracle for oracle in world.oracles if isinstance(oracle, Parking))
