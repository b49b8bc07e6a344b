"""The base of all oracles. An oracle is a part of the specification that checks a simulated process."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tongyao.protocol.life.state import Cause, Deadline, InvitedPerson, Parked, ResidualOutcome, State, Turn
from tongyao.protocol.model.events import Event
from tongyao.protocol.model.messages import Message
from tongyao.protocol.model.process import Seat, Spent

if TYPE_CHECKING:
    from tests.simulation.world import Running, World

Frozen = dict[str, Any]
"""The fields of a state as plain values, with models as dicts. It is never changed."""

_SKIPPED = frozenset({"start", "outbox"})
_SCALARS = frozenset({str, int, bool, tuple, type(None), datetime, timedelta})
_CHANGED_IN_PLACE = frozenset({Cause, Deadline, Turn, InvitedPerson, Parked, ResidualOutcome, Seat, Spent})


class Violation(AssertionError):
    """The state machine violated the specification."""


def frozen(state: State) -> Frozen:
    """Return a copy of the state as plain values, without the start and the outbox."""
    return {name: _plain(value) for name, value in state.__dict__.items() if name not in _SKIPPED}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        return {key: _plain(one) for key, one in value.items()}
    if kind is list:
        return [_plain(one) for one in value]
    if kind in _CHANGED_IN_PLACE:
        return {key: _plain(one) for key, one in value.__dict__.items()}
    return value


class Oracle:
    """Its methods are called around every input. They may raise `Violation`, and do not change the world.

    An oracle has its memory in its attributes. A checkpoint copies them, and a reset restores them.
    """

    def begun(self, world: World, events: list[Event]) -> None:
        """A process has begun."""

    def offered(self, world: World, message: Message) -> None:
        """A message is about to be refused or accepted."""

    def refused(self, world: World, message: Message, code: str) -> None:
        """A message was refused. The state has not changed."""

    def heard(self, world: World, message: Message, before: Frozen, events: list[Event]) -> None:
        """A message was accepted and applied."""

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        """A step ended. `output`: its result, or a `StepFailure`. `before`: the state before the end."""

    def ticked(self, world: World, before: Frozen, events: list[Event]) -> None:
        """The process was woken."""

    def started(self, world: World, running: Running) -> None:
        """A step was started."""

    def settled(self, world: World, events: list[Event]) -> None:
        """An input was applied, and steps were started and cancelled."""


def check(condition: object, *what: object) -> None:
    """Raise a `Violation` unless `condition` holds."""
    if not condition:
        raise Violation(" ".join(str(one) for one in what))
