"""From relations to commitment: plan, deliveries, answers, and what comes back from children (docs/protocol.md §7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow

from tongyao.protocol.contracts.process import DELIVER, PLAN, REMEMBER, DeliverInput, PlanInput, RememberInput
from tongyao.protocol.life.snapshot import people
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.lineage import hole_of
from workflows import options
from workflows.branches import Branches
from workflows.steps import give_up


class Commitment(Branches):
    """What people do with what became visible."""

    async def commit(self, *, unconverged: bool) -> None:
        """From the last round to the last answer. `unconverged`: the plan names what is open."""
        await self._plan(unconverged=unconverged)
        await self._deliver()
        branching = asyncio.create_task(self.branch())
        try:
            await self._answers(unconverged=unconverged)
            await workflow.wait_condition(lambda: not self.state.to_start)  # what was approved is on its way
            await self._children(unconverged=unconverged)
            await self._remember()
        finally:
            give_up(branching)

    async def _plan(self, *, unconverged: bool, without: tuple[str, ...] = (), children: tuple[str, ...] = ()) -> None:
        """The plan, by a step of its own: during the rounds nobody recommends anything."""
        self.move(Phase.PLANNING)
        self.state.concluded = False
        revision = self.state.plan_revision + 1
        output = await self.call(
            PLAN,
            PlanInput(
                process_id=self.start.process_id,
                revision=revision,
                unconverged=unconverged,
                without=without,
                children=children,
            ),
            summary=f"plan {revision}",
            using=options.models(PLAN, self.start.settings),
            on_models=True,
        )
        self.state.plan_revision = revision
        self.state.answers = {}
        if not children:  # what came back from below is not sent there again
            self.open_residuals(output.residuals)
        self.journal.note(
            EventKind.PLAN_READY,
            {
                "revision": revision,
                "claims": output.claims,
                "supported": output.supported,
                "residuals": len(output.residuals),
                "reduced": output.reduced,
            },
            urgent=False,
        )

    async def _deliver(self) -> None:
        """Each participant gets their own part; the demander the whole."""
        self.move(Phase.DELIVERING)
        output = await self.call(
            DELIVER,
            DeliverInput(
                process_id=self.start.process_id, revision=self.state.plan_revision, aliases=self.state.present
            ),
            summary=f"deliver plan {self.state.plan_revision}",
            using=options.models(DELIVER, self.start.settings),
            on_models=True,
        )
        for alias in dict.fromkeys((*output.delivered, DEMANDER)):
            self.journal.note(
                EventKind.DELIVERY_READY, {"alias": alias, "revision": self.state.plan_revision}, urgent=False
            )

    async def _answers(self, *, unconverged: bool) -> None:
        """People answer; where only proxies took part there is nobody to. A plan is complete without its answers.

        After a decline the demander may have the plan made once more without those who declined, send the hole they
        leave back to the field, or leave it.
        """
        if not people(self.state):
            return
        await self._wait_for_answers()
        if self.state.replan_without:
            await self._plan(unconverged=unconverged, without=self.state.replan_without)
            await self._deliver()
            await self._wait_for_answers()

    async def _wait_for_answers(self) -> None:
        state, seconds = self.state, self.start.settings.answering_seconds
        self.move(Phase.ANSWERING, lasts=seconds)

        def over() -> bool:
            if state.concluded or (state.replan_without and state.plan_revision == 1):
                return True
            return set(people(state)) <= set(state.answers) and not state.decline_open

        await self._until(over, seconds=seconds, summary="answers to the plan")

    async def _children(self, *, unconverged: bool) -> None:
        """Wait for what went back to the field, and fold its plans into a last one of this process."""
        state, settings = self.state, self.start.settings
        if not settings.wait_for_children or not (state.children or state.children_open):
            return
        self.move(Phase.AWAITING_CHILDREN, lasts=settings.children_seconds)
        await self._until(
            lambda: state.concluded or not state.children_open, seconds=settings.children_seconds, summary="children"
        )
        done = tuple(sorted(child for child, outcome in state.ended_children.items() if outcome == Phase.COMPLETED))
        if done:
            filled = {hole[1] for one, child in state.children.items() if child in done and (hole := hole_of(one))}
            without = tuple(sorted({*state.replan_without, *filled}))
            await self._plan(unconverged=unconverged, without=without, children=done)
            await self._deliver()

    async def _remember(self) -> None:
        """What was used of long profiles strengthens their memories. A plan that was answered waits for no memory."""
        long = tuple(alias for alias, seat in sorted(self.state.seats.items()) if seat.long)
        if long and self.start.remember:
            what = RememberInput(process_id=self.start.process_id, aliases=long)
            await self.attempt(REMEMBER, what, summary="strengthen what was used")

    async def _until(self, over: Callable[[], bool], *, seconds: int, summary: str) -> None:
        """Wait until `over`, `seconds` at most; then until the process does not stand still, for it could not move on."""
        with suppress(TimeoutError):
            await workflow.wait_condition(over, timeout=timedelta(seconds=seconds), timeout_summary=summary)
        await workflow.wait_condition(lambda: not self.still)
