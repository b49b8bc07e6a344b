"""Runs schedules from a seed or a script, and lets the processes end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.simulation import generator, talk
from tests.simulation.oracles import watch
from tests.simulation.oracles.base import Oracle, Violation
from tests.simulation.script import Script
from tests.simulation.world import World
from tongyao.protocol.life import machine
from tongyao.protocol.life.state import LOGIC
from tongyao.protocol.model.process import Phase

MAX_DRAIN = 700
"""Limit of the inputs with which `drain` ends a process."""

Seen = Callable[[str, str, bool, str], None]


@dataclass
class Ended:
    """The end of a schedule. `phase`: the last phase. `before_drain`: the phase before `drain`."""

    phase: Phase
    before_drain: Phase
    script: Script


class Failed(Exception):
    """A schedule broke an oracle, or the state machine raised."""

    def __init__(self, script: Script, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.script = script
        self.cause = cause


def run_seed(seed: int, *, logic: int = LOGIC, seen: Seen | None = None, kind: type[World] = World) -> Ended:
    """Generate and run one schedule. `kind`: the class of the world. Raises `Failed`."""
    rng = Random(seed)
    how = generator.manner(rng, seed)
    script: Script = [["begin", generator.start(rng, how)]]
    world = kind(oracles=watch(), logic=logic, on_input=seen)
    try:
        world.apply(script[0])
        for _ in range(generator.LENGTH + generator.FURTHER * how.direct):
            if world.state.phase.ended and rng.random() < 0.3:
                break
            given = generator.next_input(rng, world, how)
            script.append(given)
            world.apply(given)
        before = world.state.phase
        drain(world)
    except Exception as cause:
        raise Failed(script, cause) from cause
    return Ended(world.state.phase, before, script)


def play(
    script: Script, *, oracles: Sequence[Oracle] | None = None, logic: int = LOGIC, kind: type[World] = World
) -> World:
    """Play a script and drain the process. Raises any exception of the state machine or an oracle."""
    world = kind(oracles=watch() if oracles is None else oracles, logic=logic)
    for given in script:
        world.apply(given)
    drain(world)
    return world


def _child(world: World) -> str:
    """Return a running child for which the process waits, or an empty string."""
    waits = world.state.phase is Phase.AWAITING_CHILDREN
    return next((one.child for one in world.state.residuals.values() if waits and one.status == "started"), "")


def drain(world: World) -> None:
    """Let a process end: deliver stored messages, resume it, let every step succeed, and wake it at its times.

    Some of its children complete. For the others, the process waits until the deadline.
    """
    for _ in range(MAX_DRAIN):
        if world.on_their_way:
            world.apply(["deliver", world.on_their_way[0]])
        elif any(cause.kind == "operator" for cause in world.state.causes.values()):
            world.apply(["say", {"kind": "resume", "role": "operator", "alias_of_author": ""}])
        elif (child := _child(world)) and world.inputs % 2:
            ended = {
                "kind": "child_ended",
                "role": "child",
                "alias_of_author": child,
                "child": child,
                "outcome": "completed",
            }
            world.apply(["say", ended])
        elif world.state.parked and world.inputs % 3:
            call = next(call for parked in world.state.parked.values() for call in parked.calls)
            world.apply(["say", talk.answer_of(call)])
        elif world.running:
            world.apply(["succeed", next(iter(world.running)), {}])
        elif world.state.phase.ended and not machine.wanted(world.state):
            return
        elif not world.apply(["alarm"]):
            wanted = list(machine.wanted(world.state))
            raise Violation(f"stuck in {world.state.phase}: nothing runs, nothing is due; wanted: {wanted}")
    raise Violation(f"a drain of {MAX_DRAIN} inputs did not end it: {world.state.phase}")
