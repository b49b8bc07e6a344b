"""The wait for answers and children, and the phases after a delivery (docs/protocol.md §3.6, §7.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.oracles.base import Frozen, Oracle, check
from tongyao.protocol.contracts.process import CheckDeadlineOutput, DeliverOutput, PlanOutput
from tongyao.protocol.life.snapshot import inbox
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.messages import Message

if TYPE_CHECKING:
    from tests.simulation.world import Running, World


class Answers(Oracle):
    """The wait ends if nothing is open, if the demander ends it, or at the deadline."""

    def __init__(self) -> None:
        self.told_to_stop = False
        self.last: str | None = None
        """The hole on which a decision ends the answers, from the inbox before a message is applied."""

    def offered(self, world: World, message: Message) -> None:
        self.last = next((one.subject for one in inbox(world.state, world.now) if one.ends_answers), None)

    def heard(self, world: World, message: Message, before: Frozen, events: list[Event]) -> None:
        if message.kind == "conclude" and before["phase"].value in ("answering", "awaiting_children"):
            self.told_to_stop = True
        if message.kind == "approve_residual" and before["phase"].value == "answering":
            ended = world.state.phase.value != "answering"
            check(ended == (message.residual == self.last), "a decision ends the answers:", ended, "told:", self.last)
        self._look(world.state, before, events)

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        if isinstance(output, CheckDeadlineOutput) and before["phase"].value in ("answering", "awaiting_children"):
            self.told_to_stop = True
        if isinstance(output, DeliverOutput) and before["phase"].value == "delivering":
            self._delivered(world.state, output, before, events)
        if isinstance(output, PlanOutput) and any(one.kind is EventKind.PLAN_READY for one in events):
            self._left_open(world.state, output, before, events)
        self._look(world.state, before, events)

    def ticked(self, world: World, before: Frozen, events: list[Event]) -> None:
        self._look(world.state, before, events)

    def _look(self, state: State, before: Frozen, events: list[Event]) -> None:
        for event in events:
            if event.kind is not EventKind.PHASE_CHANGED:
                continue
            origin, target = event.data["from"], event.data["to"]
            if origin == "answering" and target in ("awaiting_children", "completed"):
                missing = [
                    alias
                    for alias in self._people(state)
                    if alias not in before["answers"] and alias not in state.answers
                ]
                check(self.told_to_stop or not missing, "answers are not waited for:", missing)
                check(self.told_to_stop or state.replanned or not self._open(state), "what follows an answer is open")
                undecided = [name for name, one in state.residuals.items() if one.status == "open"]
                check(self.told_to_stop or self._people(state) or not undecided, "nobody was asked about", undecided)
            ends = target in ("planning", "completed")
            if origin == "awaiting_children" and ends and before["phase"].value == origin:
                waits = state.start.settings.wait_for_children and not before["folded"]
                check(self.told_to_stop or not waits or not self._children(state), "children are not waited for")
            if origin in ("answering", "awaiting_children"):
                self.told_to_stop = False

    def _left_open(self, state: State, output: PlanOutput, before: Frozen, events: list[Event]) -> None:
        """Check that the settings decide what happens to the residuals of a new plan."""
        settings = state.start.settings
        may = settings.residuals != "off" and state.start.depth < settings.depth_limit and not before["folded"]
        asked = [one.data["residual"] for one in events if one.kind is EventKind.RESIDUAL_OPEN]
        new = list(output.residuals) if may else []
        check(asked == (new if settings.residuals == "ask" else []), "residuals on which the demander decides", asked)
        status = "open" if settings.residuals == "ask" else "approved"
        kept = {name: one["status"] for name, one in before["residuals"].items() if one["status"] != "open"}
        kept = {name: one["status"] for name, one in before["residuals"].items()} if before["folded"] else kept
        found = {name: one.status for name, one in state.residuals.items()}
        check(found == kept | dict.fromkeys(new, status), "residuals of the plan", found, kept, new)

    def _people(self, state: State) -> list[str]:
        """Return the people who are asked for an answer: present, without a proxy, and not left out by a re-plan."""
        people = [alias for alias, seat in state.seats.items() if seat.active and seat.endpoint.value != "proxy"]
        return [alias for alias in people if alias not in state.left_out]

    def _open(self, state: State) -> list[str]:
        """Return the people with a proposal, or with a decline whose hole has no decision."""
        holes = (state.residuals.get(f"plan/{state.plan_revision}/hole/{alias}") for alias in state.answers)
        undecided = {
            alias for alias, hole in zip(state.answers, holes, strict=True) if hole is None or hole.status == "open"
        }
        return [
            alias
            for alias, given in state.answers.items()
            if given == "propose" or (given == "decline" and alias in undecided)
        ]

    def _children(self, state: State) -> list[str]:
        return [name for name, one in state.residuals.items() if one.status in ("approved", "started")]

    def _delivered(self, state: State, output: DeliverOutput, before: Frozen, events: list[Event]) -> None:
        """Check that people are asked for answers, except for a plan into which children were folded."""
        told = [one.data for one in events if one.kind is EventKind.DELIVERY_READY]
        revision = before["plan_revision"]
        aliases = list(dict.fromkeys((*output.delivered, "P00")))
        check(told == [{"alias": alias, "revision": revision} for alias in aliases], "delivered", told)
        path = [one.data["to"] for one in events if one.kind is EventKind.PHASE_CHANGED]
        residuals = before["residuals"].values()
        settings = state.start.settings
        completed = any(one["outcome"] == "completed" for one in residuals)
        open_ones = any(one["status"] in ("approved", "started") for one in residuals)
        asked = any(one["status"] == "open" for one in residuals)
        waits = settings.wait_for_children and not before["folded"] and (open_ones or completed)
        if (self._people(state) or asked) and not before["folded"]:
            check(path[0] == "answering", "nobody is asked for an answer", path)
        elif waits or any(one["status"] == "approved" for one in residuals):
            check(path[0] == "awaiting_children", "children are not waited for", path)
        else:
            check(path == ["completed"], "delivered, and then", path)
