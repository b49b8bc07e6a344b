"""One crystallization process, from a raw intent to a plan (docs/protocol.md §3). It reads like the protocol."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

from pydantic import JsonValue
from temporalio import workflow

from tongyao.protocol.contracts import (
    CRYSTALLIZATION,
    DELIVER,
    DISCOVER,
    FORMULATE,
    FREEZE,
    PLAN,
    REMEMBER,
    DeliverInput,
    DiscoverInput,
    FormulateInput,
    FreezeInput,
    PlanInput,
    ProcessInput,
    ProcessResult,
    RememberInput,
)
from tongyao.protocol.convergence import MORE_ROUNDS, Course, course
from tongyao.protocol.events import EventKind
from tongyao.protocol.messages import Decision
from tongyao.protocol.process import DEMANDER, Choice, DecidingCause, Phase, next_alias
from tongyao.protocol.snapshot import people
from tongyao.protocol.tension import Grade
from workflows import options
from workflows.branches import Branches
from workflows.rounds import Rounds
from workflows.steps import give_up


class _Ended(Exception):
    """The process ends here, otherwise than by completing."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase


@workflow.defn(name=CRYSTALLIZATION)
class Crystallization(Rounds, Branches):
    """Owns control; the records own content. Cancelling it in the Temporal UI is the same as the message `cancel`."""

    @workflow.init
    def __init__(self, start: ProcessInput) -> None:
        super().__init__(start)

    @workflow.run
    async def run(self, start: ProcessInput) -> ProcessResult:
        self.journal.note(EventKind.PROCESS_STARTED, {"depth": start.depth})
        self.show()
        scribe = asyncio.create_task(self.scribe())
        try:
            outcome = await self._live_within_deadline()
        finally:
            give_up(scribe)
        if outcome is Phase.CANCELLED and self.state.cancel_branch:
            await self.cancel_children()
        self.state.turns = {}
        self.move(outcome)
        self.journal.note(EventKind.PROCESS_ENDED, {"outcome": outcome.value})
        while self.journal.urgent:
            await self.write()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return ProcessResult(
            process_id=start.process_id,
            outcome=outcome,
            rounds=self.state.round,
            plan_revision=self.state.plan_revision,
        )

    async def _live_within_deadline(self) -> Phase:
        """Live, until done, cancelled, or out of time; whichever is first."""
        life = asyncio.create_task(self._life())
        try:
            await workflow.wait_condition(
                lambda: life.done() or self.state.cancel_requested,
                timeout=timedelta(seconds=self.start.settings.process_seconds),
                timeout_summary="the process's own deadline",
            )
        except TimeoutError:
            return await self._stop(life, Phase.EXPIRED)
        except asyncio.CancelledError:
            return await self._stop(life, Phase.CANCELLED)
        if not life.done():
            return await self._stop(life, Phase.CANCELLED)
        try:
            life.result()
        except _Ended as ended:
            return ended.phase
        return Phase.COMPLETED

    async def _stop(self, life: asyncio.Task[None], outcome: Phase) -> Phase:
        life.cancel()
        await _settled(life)
        return outcome

    async def _life(self) -> None:
        """The protocol, top to bottom."""
        if self.state.tension is None:
            await self._formulate()
        await self._confirm()
        choices = await self._select()
        await self._seat(choices)
        self.move(Phase.CRYSTALLIZING)
        unconverged = await self._crystallize()
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

    async def _formulate(self) -> None:
        """Raw intent → tension. Where that cannot be done, the raw text stands as T (grade C)."""
        output = await self.call(
            FORMULATE,
            FormulateInput(process_id=self.start.process_id),
            summary="formulate the intent",
            using=options.models(self.start.settings),
            on_models=True,
        )
        self.state.tension = output.tension
        data: dict[str, JsonValue] = {
            "grade": output.tension.grade.value,
            "barriers": output.tension.barriers,
            "fallback": output.fallback,
        }
        self.journal.note(EventKind.FORMULATION_READY, data, urgent=False)

    async def _confirm(self) -> None:
        """The demander may revise. It confirms itself in time, except for grade C, which needs an explicit yes."""
        settings = self.start.settings
        assert self.state.tension is not None  # formulated, or brought
        if settings.auto_confirm or (self.start.lineage and self.state.tension.grade is not Grade.C):
            self.move(Phase.CONFIRMING)
            self._confirmed_by("setting")
            return
        self.move(Phase.CONFIRMING, lasts=settings.confirm_seconds)
        while not self.state.confirmed:
            if self.state.tension.grade is Grade.C:
                self.state.due = None
                self.show()
                await workflow.wait_condition(lambda: self.state.confirmed or not self._is_grade_c())
                if not self.state.confirmed:
                    self.state.due = workflow.now() + timedelta(seconds=settings.confirm_seconds)
                continue
            assert self.state.due is not None
            try:
                await workflow.wait_condition(
                    lambda: self.state.confirmed or self._is_grade_c(),
                    timeout=max(self.state.due - workflow.now(), timedelta(0)),
                    timeout_summary="the tension confirms itself",
                )
            except TimeoutError:
                self._confirmed_by("timer")

    def _is_grade_c(self) -> bool:
        return self.state.tension is not None and self.state.tension.grade is Grade.C

    def _confirmed_by(self, what: str) -> None:
        self.state.confirmed = True
        self.journal.note(EventKind.TENSION_CONFIRMED, {"by": what}, urgent=False)

    async def _select(self) -> tuple[Choice, ...]:
        """Who takes part: as named at the start, the nearest of the field, or as the demander chooses among them."""
        if self.start.participants:
            self.state.selected = self.start.participants
            self.move(Phase.SELECTING)
            return self.start.participants
        self.move(Phase.DISCOVERING)
        assert self.state.tension is not None
        settings = self.start.settings
        found = await self.call(
            DISCOVER,
            DiscoverInput(
                process_id=self.start.process_id,
                scene=self.start.scene,
                tension_text_id=self.state.tension.text_id,
                limit=settings.max_participants,
                excluded=(*self.start.excluded, self.state.demander_profile),
            ),
            summary=f"who in {self.start.scene or 'the field'} is near",
            using=options.records(),
        )
        self.journal.note(
            EventKind.FIELD_ACTIVATED,
            {"candidates": [[c.profile_id, c.perspective, round(c.score, 4)] for c in found.candidates]},
        )
        nearest = tuple(dict.fromkeys(candidate.profile_id for candidate in found.candidates))
        if settings.auto_start and len(nearest) >= settings.quorum:
            self.state.selected = tuple(
                Choice(profile_id=profile_id) for profile_id in nearest[: settings.max_participants]
            )
        self.move(Phase.SELECTING)
        await workflow.wait_condition(lambda: self.state.selected is not None)
        assert self.state.selected is not None
        return self.state.selected

    async def _seat(self, choices: tuple[Choice, ...]) -> None:
        """Give aliases in random order and freeze what each participant will be read from."""
        shuffled = list(choices)
        if not self.start.settings.aliases_as_named:
            workflow.random().shuffle(shuffled)
        taken = len(self.state.seats)
        aliases = tuple(next_alias(taken + number) for number in range(len(shuffled)))
        frozen = await self.call(
            FREEZE,
            FreezeInput(
                process_id=self.start.process_id,
                choices=tuple(shuffled),
                aliases=aliases,
                round=self.state.round + 1,
                fallback=self.start.settings.fallback,
            ),
            summary=f"freeze {len(shuffled)} participants",
            using=options.records(),
        )
        for seat in frozen.seats:
            self.state.seats[seat.alias] = seat
            if self.state.round:
                self.journal.note(
                    EventKind.PARTICIPANT_JOINED, {"alias": seat.alias, "round": seat.joined_round}, urgent=False
                )
        self.journal.note(EventKind.PARTICIPANTS_SELECTED, {"aliases": list(aliases)}, urgent=False)

    async def _crystallize(self) -> bool:
        """Rounds until the information gap is exhausted. True when the demander ended them otherwise."""
        while True:
            await self.one_round()
            cause = self._why_decide()
            if cause is None:
                reached = course(self.state.results, limit=self.state.round_limit)
                if reached.converged:
                    self.journal.note(
                        EventKind.CONVERGED, {"round": self.state.round, "reason": reached.value}, urgent=False
                    )
                    return False
                if self.state.concluded:
                    return True
                if reached is Course.GO_ON:
                    continue
                cause = DecidingCause.LIMIT
            if await self._decide(cause):
                return True

    def _why_decide(self) -> DecidingCause | None:
        """What keeps rounds from going on, besides their number."""
        if self.over_budget:
            return DecidingCause.BUDGET
        too_few = len(self.state.present) < (1 if self.state.quorum_waived else self.start.settings.quorum)
        return DecidingCause.QUORUM if too_few or not self.anyone_spoke() else None

    async def _decide(self, cause: DecidingCause) -> bool:
        """The demander decides how to go on. True: plan with what there is, which is also what silence means."""
        state = self.state
        state.deciding_cause, state.decision = cause, None
        self.move(Phase.DECIDING, lasts=self.start.settings.deciding_seconds)
        self.journal.note(EventKind.DECISION_NEEDED, {"cause": cause.value})
        try:
            await workflow.wait_condition(
                lambda: state.decision is not None,
                timeout=timedelta(seconds=self.start.settings.deciding_seconds),
                timeout_summary="without a decision: accept as is",
            )
        except TimeoutError:
            state.decision = Decision.ACCEPT_AS_IS.value
            self.journal.note(EventKind.DECIDED, {"decision": state.decision, "by": "timer"})
        if state.decision == Decision.ACCEPT_AS_IS:
            return True
        if state.decision == Decision.ABANDON:
            raise _Ended(Phase.ABANDONED)
        if state.decision == Decision.ADD_PARTICIPANTS:
            await self._seat(state.newcomers)
            state.newcomers = ()
        if cause is DecidingCause.QUORUM:
            state.quorum_waived = True
        self._refused_by_budget = False
        if state.decision != Decision.RAISE_BUDGET:
            state.round_limit = max(state.round_limit, state.round) + MORE_ROUNDS
        self.move(Phase.CRYSTALLIZING)
        return False

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
            using=options.models(self.start.settings, calls=5),
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
            using=options.models(self.start.settings, calls=4),
            on_models=True,
        )
        for alias in (*output.delivered, DEMANDER):
            self.journal.note(
                EventKind.DELIVERY_READY, {"alias": alias, "revision": self.state.plan_revision}, urgent=False
            )

    async def _remember(self) -> None:
        """What was used of long profiles strengthens their memories; most processes have none."""
        long = tuple(alias for alias, seat in sorted(self.state.seats.items()) if seat.long)
        if long and self.start.remember:
            await self.call(
                REMEMBER,
                RememberInput(process_id=self.start.process_id, aliases=long),
                summary="strengthen what was used",
                using=options.records(),
            )

    async def _answers(self, *, unconverged: bool) -> None:
        """People answer; where only proxies took part there is nobody to. A plan is complete without its answers.

        After a decline the demander may have the plan made once more without those who declined.
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
            return set(people(state)) <= set(state.answers) and not state.may_replan

        with suppress(TimeoutError):
            await workflow.wait_condition(
                over, timeout=timedelta(seconds=seconds), timeout_summary="answers to the plan"
            )

    async def _children(self, *, unconverged: bool) -> None:
        """Wait for what went back to the field, and fold its plans into a last one of this process."""
        state, settings = self.state, self.start.settings
        if not settings.wait_for_children or not (state.children or state.children_open):
            return
        self.move(Phase.AWAITING_CHILDREN, lasts=settings.children_seconds)
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: state.concluded or not state.children_open,
                timeout=timedelta(seconds=settings.children_seconds),
                timeout_summary="children",
            )
        done = tuple(sorted(child for child, outcome in state.ended_children.items() if outcome == Phase.COMPLETED))
        if done:
            await self._plan(unconverged=unconverged, without=state.replan_without, children=done)
            await self._deliver()


async def _settled(task: asyncio.Task[None]) -> None:
    """Wait until a cancelled task has really stopped, whatever it raised."""
    try:
        await task
    except (asyncio.CancelledError, Exception):
        workflow.logger.debug("stopped")
