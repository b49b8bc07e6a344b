"""A proxy speaks only for people who agreed, or who switched to a proxy themselves (docs/protocol.md §3.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.oracles.base import Frozen, Oracle, check
from tongyao.protocol.contracts.process import ConsentInput, ConsentOutput, FreezeOutput, PlanInput, ProjectInput
from tongyao.protocol.life.snapshot import inbox
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import AskName, Event, EventKind

if TYPE_CHECKING:
    from tests.simulation.world import Running, World


class Consents(Oracle):
    def __init__(self) -> None:
        self.allowed: set[str] = set()
        self.seats: set[str] = set()
        self.answers: dict[int, bool] = {}
        self.expected = 0
        self.closed = False

    def heard(self, world: World, message: m.Message, before: Frozen, events: list[Event]) -> None:
        if isinstance(message, m.ConsentAnswer):
            check(message.author.role == "invited" and message.number > 0, "somebody else said yes", message)
            self.answers[message.invitation] = message.allow
            for one in before["invitations"]:
                yes = message.allow and message.endpoint.value == "proxy"
                if one["number"] == message.invitation and yes:
                    self.allowed.add(one["choice"].profile_id)
        if isinstance(message, m.SwitchEndpoint):
            proxy = "proxy" in (message.endpoint.value, message.fallback.value if message.fallback else "")
            if proxy and message.author.role != "operator" and message.number:
                self.seats.add(message.alias)
            check(not proxy or message.alias in self.seats, "switched to a proxy by somebody else", message)
        self._asked(world, before, events)
        self._back(world)

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        if isinstance(output, ConsentOutput) and before["phase"] == "consenting" and not before["consents_known"]:
            given = running.step.input
            assert isinstance(given, ConsentInput)
            check(given.others_expected == self.expected, "how many would sit there", given)
            names = [choice.profile_id for choice in before["selected"]]
            unasked = set(names) - {*output.ask, *output.refused}
            self.allowed = unasked - set(output.without_proxy)
            asked = [one for one in names if one in output.ask]
            closed = [one.data for one in events if one.kind is EventKind.CONSENT_CLOSED]
            told = [{"asked": len(output.refused), "allowed": 0}] if output.refused and not asked else []
            check(closed == told, "counts", closed, told)
        if isinstance(output, FreezeOutput) and EventKind.PARTICIPANTS_SELECTED in [one.kind for one in events]:
            for seat in output.seats:
                profile = seat.profile.profile_id if seat.profile is not None else ""
                if profile in self.allowed or (seat.alias == "P00" and profile):
                    self.seats.add(seat.alias)
        self._asked(world, before, events)
        self._back(world)

    def begun(self, world: World, events: list[Event]) -> None:
        self._asked(world, {"seats": {}}, events)

    def ticked(self, world: World, before: Frozen, events: list[Event]) -> None:
        self._back(world)

    def _asked(self, world: World, before: Frozen, events: list[Event]) -> None:
        """Keep the number of others that invited people are told: that at the time of the choice."""
        if any(one.kind is EventKind.PHASE_CHANGED and one.data["to"] == "consenting" for one in events):
            self.expected = _others(before) + len(world.state.selected)

    def _back(self, world: World) -> None:
        """When all have answered, check that a person who agreed to be one of several is not alone with the demander.

        Somebody who leaves while the seats are made has left a room that these people belong to already.
        """
        state, before = world.state, self.closed
        waits = any(one.waits for one in state.invitations)
        self.closed = state.phase.value == "consenting" and state.consents_known and not waits
        if self.closed and not before:
            there = _others(world.frozen) + len(state.selected)
            check(there >= 2 or self.expected < 2, "left alone with the demander", state.selected)

    def started(self, world: World, running: Running) -> None:
        given = running.step.input
        if isinstance(given, ProjectInput):
            for turn in given.turns:
                allowed = turn.alias in self.seats or turn.alias == "P00"  # the demander chose their own proxy
                check(turn.submissions or allowed, "a proxy speaks, and nobody allowed it:", turn)
        if isinstance(given, PlanInput):
            check(set(given.readable) == self.seats, "profiles read without consent", given.readable, self.seats)

    def settled(self, world: World, events: list[Event]) -> None:
        state = world.state
        may = {alias for alias, seat in state.seats.items() if seat.consented}
        check(may == self.seats, "for whom a proxy may speak", may, self.seats)
        for alias, seat in state.seats.items():
            check(seat.endpoint.value != "proxy" or alias in self.seats, "a proxy sits there without consent", alias)
        for one in inbox(state, world.now):
            check((one.others == self.expected - 1) == (one.ask is AskName.CONSENT), "how many others", one)


def _others(before: Frozen) -> int:
    return sum(seat["active"] and alias != "P00" for alias, seat in before["seats"].items())
