"""One crystallization process, from a raw intent to a plan (docs/protocol.md §3). It reads like the protocol."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from pydantic import JsonValue
from temporalio import workflow

from tongyao.protocol.contracts.process import (
    CRYSTALLIZATION,
    DISCOVER,
    FORMULATE,
    FREEZE,
    PROPOSE,
    DiscoverInput,
    DiscoverOutput,
    FormulateInput,
    FreezeInput,
    ProcessInput,
    ProcessResult,
    ProposeInput,
)
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import Decision
from tongyao.protocol.model.process import DEMANDER, Choice, DecidingCause, Phase, next_alias
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.rules.convergence import MORE_ROUNDS, Course, course
from workflows import options
from workflows.commitment import Commitment
from workflows.rounds import Rounds
from workflows.steps import give_up


class _Ended(Exception):
    """The process ends here, otherwise than by completing."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase


@workflow.defn(name=CRYSTALLIZATION)
class Crystallization(Rounds, Commitment):
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
        await self.commit(unconverged=unconverged)

    async def _formulate(self) -> None:
        """Raw intent → tension. Where that cannot be done, the raw text stands as T (grade C)."""
        output = await self.call(
            FORMULATE,
            FormulateInput(process_id=self.start.process_id),
            summary="formulate the intent",
            using=options.models(FORMULATE, self.start.settings),
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
                limit=settings.max_others,
                excluded=(*self.start.excluded, self.state.demander_profile),
            ),
            summary=f"who in {self.start.scene or 'the field'} is near",
            using=options.records(),
        )
        self._activated(found)
        nearest = tuple(dict.fromkeys(candidate.profile_id for candidate in found.candidates))
        if settings.auto_start and len(nearest) >= settings.quorum:
            self.state.selected = tuple(Choice(profile_id=profile_id) for profile_id in nearest[: settings.max_others])
        self.move(Phase.SELECTING)
        await workflow.wait_condition(lambda: self.state.selected is not None)
        assert self.state.selected is not None
        return self.state.selected

    async def _seat(self, choices: tuple[Choice, ...]) -> None:
        """Give aliases in random order and freeze what each participant will be read from.

        A demander who takes part sits down with the first ones, and is P00 there as well.
        """
        shuffled = list(choices)
        if not self.start.settings.aliases_as_named:
            workflow.random().shuffle(shuffled)
        taken = sum(alias != DEMANDER for alias in self.state.seats)
        aliases = tuple(next_alias(taken + number) for number in range(len(shuffled)))
        settings = self.start.settings
        if settings.demander_takes_part and DEMANDER not in self.state.seats:
            shuffled.insert(0, Choice(profile_id=self.start.demander, endpoint=settings.demander_endpoint))
            aliases = (DEMANDER, *aliases)
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
            await self._propose()
            if self.state.concluded or await self._decide(cause):
                return True

    def _why_decide(self) -> DecidingCause | None:
        """What keeps rounds from going on, besides their number."""
        if self.over_budget:
            return DecidingCause.BUDGET
        too_few = len(self.state.present) < (1 if self.state.quorum_waived else self.start.settings.quorum)
        alone = not self.state.others  # a demander with nobody to meet is no room
        return DecidingCause.QUORUM if too_few or alone or not self.anyone_spoke() else None

    async def _propose(self) -> None:
        """Find who could be added for what is open, before the demander is asked. Where there is no scene, nobody."""
        free = self.start.settings.max_others - len(self.state.others)
        if not self.start.scene or free < 1:
            return
        seated = tuple(seat.profile.profile_id for seat in self.state.seats.values() if seat.profile)
        found = await self.attempt(
            PROPOSE,
            ProposeInput(
                process_id=self.start.process_id,
                scene=self.start.scene,
                round=self.state.round,
                limit=free,
                excluded=(*self.start.excluded, *seated, self.state.demander_profile),
            ),
            summary="who else is near what is open",
        )
        if found is not None:
            self._activated(found, round=self.state.round)

    def _activated(self, found: DiscoverOutput, **more: JsonValue) -> None:
        candidates: list[JsonValue] = [[c.profile_id, c.perspective, round(c.score, 4)] for c in found.candidates]
        self.journal.note(EventKind.FIELD_ACTIVATED, {"candidates": candidates, **more})

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


async def _settled(task: asyncio.Task[None]) -> None:
    """Wait until a cancelled task has really stopped, whatever it raised."""
    try:
        await task
    except (asyncio.CancelledError, Exception):
        workflow.logger.debug("stopped")
