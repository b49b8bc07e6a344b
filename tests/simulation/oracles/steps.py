"""The order of phases, and the permitted starts of steps (docs/protocol.md §3.7, §4.2, §8.1)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.oracles.base import Frozen, Oracle, check
from tongyao.protocol.contracts.process import Pending
from tongyao.protocol.life.state import RECORD_KEY, StepFailure
from tongyao.protocol.model.events import Event, EventKind

if TYPE_CHECKING:
    from tests.simulation.world import Running, World

NEXT: Final[dict[str, frozenset[str]]] = {
    "formulating": frozenset({"confirming"}),
    "confirming": frozenset({"discovering", "consenting"}),
    "discovering": frozenset({"selecting", "consenting"}),
    "selecting": frozenset({"consenting"}),
    "consenting": frozenset({"selecting", "crystallizing", "deciding"}),
    "crystallizing": frozenset({"deciding", "planning"}),
    "deciding": frozenset({"consenting", "crystallizing", "planning", "abandoned"}),
    "planning": frozenset({"delivering"}),
    "delivering": frozenset({"answering", "awaiting_children", "completed"}),
    "answering": frozenset({"planning", "awaiting_children", "completed"}),
    "awaiting_children": frozenset({"planning", "completed"}),
}
"""The permitted next phases (DESIGN §4). From every open phase also: cancelled, expired."""


class Steps(Oracle):
    """Checks the order of phases and the number of starts of steps."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()

    def settled(self, world: World, events: list[Event]) -> None:
        for event in events:
            if event.kind is EventKind.PHASE_CHANGED:
                origin, target = str(event.data["from"]), str(event.data["to"])
                check(target in NEXT.get(origin, ()) or (origin in NEXT and target in ("cancelled", "expired")), event)

    def started(self, world: World, running: Running) -> None:
        state, key = world.state, running.key
        if key == RECORD_KEY:
            return
        check(not self.done[key], "a step that succeeded is started again:", key)
        if state.suspended:
            cause = state.causes.get(key)
            own = cause is not None and cause.kind == "infrastructure" and cause.retry_at is None
            check(own, "a suspended process starts", key, "causes", list(state.causes))

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        if not isinstance(output, (StepFailure, Pending)):
            self.done[running.key] += 1
