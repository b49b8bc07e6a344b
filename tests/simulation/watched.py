"""Calls the oracles of a simulated process at each call of the state machine by the workflow class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tests.simulation.oracles.base import check
from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.life import machine
from tongyao.protocol.life.state import State, StepFailure, Success, WantedStep
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import Event
from workflows import crystallization, handlers
from workflows.crystallization import Crystallization

if TYPE_CHECKING:
    from tests.simulation.shell_world import ShellWorld


class Watched:
    """The functions of the state machine for the workflow class. Each call also calls the oracles."""

    def __init__(self, world: ShellWorld) -> None:
        self.world = world
        self.offered: m.Message | None = None

    def begin(self, start: ProcessInput, now: datetime, seed: str, logic: int) -> State:
        state = machine.begin(start, now, seed, logic)

        def told(events: list[Event]) -> None:
            for oracle in self.world.oracles:
                oracle.begun(self.world, events)

        self._tell(state, told)
        return state

    def repeated(self, state: State, message: m.Message) -> bool:
        return machine.repeated(state, message)

    def refuse(self, state: State, message: m.Message) -> Any:
        code = machine.refuse(state, message)
        self.offered = message
        world, stands = self.world, (state.phase, state.suspended)

        def told(_: list[Event]) -> None:
            self._offer(message)
            if code is not None:
                for oracle in world.oracles:
                    oracle.refused(world, message, code.value)
                world._saw(f"refused {message.kind}", stands)

        self._tell(state, told)
        return code

    def _offer(self, message: m.Message) -> None:
        for oracle in self.world.oracles:
            oracle.offered(self.world, message)

    def hear(self, state: State, message: m.Message, now: datetime) -> None:
        world = self.world
        check(message.number or message.kind in ("resume", "cancel"), "is applied and was not stored:", message)
        if message != self.offered:  # a cancellation in the UI
            self._tell(state, lambda _: self._offer(message))
        self.offered = None  # an equal later message is offered again
        before, stands = self._before(state), (state.phase, state.suspended)
        machine.hear(state, message, now)
        if message.number and not world.replays:
            world.applied[message.lane] = message.number

        def told(events: list[Event]) -> None:
            for oracle in world.oracles:
                oracle.heard(world, message, before, events)
            world._saw(message.kind, stands)

        self._tell(state, told)

    def finish(self, state: State, key: str, ended: Success | StepFailure, now: datetime) -> None:
        world = self.world
        wanted = key in machine.wanted(state)
        before, stands = self._before(state), (state.phase, state.suspended)
        machine.finish(state, key, ended, now)

        def told(events: list[Event]) -> None:
            running = world.ending.pop(key)
            running.wanted = wanted
            output = ended.output if isinstance(ended, Success) else ended
            for oracle in world.oracles:
                oracle.finished(world, running, output, before, events)
            how = f"fails: {ended.kind}" if isinstance(ended, StepFailure) else "succeeds"
            world._saw(f"step {running.step.contract.name} {how}", stands)

        self._tell(state, told)

    def tick(self, state: State, now: datetime) -> None:
        world = self.world
        before, stands = self._before(state), (state.phase, state.suspended)
        machine.tick(state, now)

        def told(events: list[Event]) -> None:
            for oracle in world.oracles:
                oracle.ticked(world, before, events)
            world._saw("time", stands)

        self._tell(state, told)

    def wanted(self, state: State) -> dict[str, WantedStep]:
        return machine.wanted(state)

    def wake(self, state: State) -> datetime | None:
        return machine.wake(state)

    def _before(self, state: State) -> dict[str, Any]:
        """Return the state before a call, after taking over events that did not come from the state machine."""
        world = self.world
        if world.replays or world.broken is not None:
            return {}
        world.see(state)
        world._new_events()
        return world.frozen

    def _tell(self, state: State, tell: Callable[[list[Event]], None]) -> None:
        """Call the oracles. Their exceptions are stored, because a validator would turn them into refusals."""
        world = self.world
        if world.replays or world.broken is not None:
            return
        world.see(state)
        try:
            tell(world._new_events())
        except BaseException as broken:
            world.broken = broken
            raise


@contextmanager
def watching(world: ShellWorld) -> Iterator[None]:
    """Let the workflow class use a watched state machine inside the block, and note the steps that it starts."""
    start, run = Crystallization._start, Crystallization._run
    keys: dict[int, str] = {}

    def _start(self: Crystallization, key: str, step: WantedStep) -> None:
        keys[id(step)] = key
        start(self, key, step)
        if not world.replays:
            world.begins(key, step, self._running[key])

    async def _run(self: Crystallization, step: WantedStep, what: Any) -> Any:
        if not world.replays:
            world.scheduling.append(keys[id(step)])
        return await run(self, step, what)

    watched = Watched(world)
    with ExitStack() as stack:
        for module in (crystallization, handlers):
            stack.enter_context(patch.object(module, "machine", watched))
        stack.enter_context(patch.object(Crystallization, "_start", _start))
        stack.enter_context(patch.object(Crystallization, "_run", _run))
        yield
