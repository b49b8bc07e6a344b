"""One round: every endpoint speaks blind to the others, a gate waits for all of them, the catalyst observes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from pydantic import JsonValue
from temporalio import workflow

from tongyao.protocol.contracts.process import OBSERVE, PROJECT, ObserveInput, ProjectInput, TurnInput, TurnOutput
from tongyao.protocol.life import effects
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Seat, Turn
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.settings import REMINDERS, Fallback
from tongyao.protocol.rules.convergence import RoundResult
from workflows import options
from workflows.presentation import turns_summary
from workflows.steps import Steps, give_up


class Rounds(Steps):
    """The rounds of a process, one at a time."""

    async def one_round(self) -> None:
        """Open a round, wait at its gate, let the catalyst observe, and add the result to the state.

        When every turn failed for one cause, the process is suspended and those turns are taken again: emptiness is
        never catalysed (docs/protocol.md §5.1).
        """
        self._open_round()
        while True:
            await self._gate()
            cause = self._one_cause_of_failure()
            if cause is None and await self._corrected():
                continue
            if cause is None:
                break
            await self.suspended(cause)
            for turn in self.state.turns.values():
                if turn.outcome is Outcome.FAILED:
                    turn.outcome = None
        self.state.gate_open = False
        self.journal.note(EventKind.GATE_COMPLETE, {"round": self.state.round}, urgent=False)
        verdict = await self._observe() if self.anyone_spoke() else Verdict.MORE
        outcomes = {alias: turn.outcome for alias, turn in self.state.turns.items() if turn.outcome is not None}
        self.state.results.append(RoundResult(number=self.state.round, outcomes=outcomes, verdict=verdict))

    async def _corrected(self) -> bool:
        """Leave people time to see how their words were sorted. True: somebody said it anew."""
        seconds, turns = self.start.settings.correcting_seconds, self.state.turns.values()
        if not seconds or not any(turn.submission for turn in turns):
            return False
        await self.write()  # that they were heard, before they look
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: any(turn.open for turn in turns),
                timeout=timedelta(seconds=seconds),
                timeout_summary="time to correct what was said",
            )
        return any(turn.open for turn in turns)

    def anyone_spoke(self) -> bool:
        return any(turn.outcome is not None and turn.outcome.spoken for turn in self.state.turns.values())

    def _open_round(self) -> None:
        state = self.state
        state.round += 1
        state.turns = {alias: Turn(alias=alias, round=state.round) for alias in state.present}
        state.gate_open = True
        self._failures: dict[str, str] = {}
        self.journal.note(EventKind.ROUND_OPENED, {"round": state.round, "aliases": list(state.turns)}, urgent=False)
        for turn in state.turns.values():
            if state.seats[turn.alias].endpoint is not EndpointKind.PROXY:
                self._wait_for(turn)
        self.show()

    async def _gate(self) -> None:
        """Return when every turn has an outcome and nothing is being taken down any more."""
        running: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                self._begin(running)
                await workflow.wait_condition(
                    lambda: (
                        all(task.done() for task in running.values())
                        or any(turn.open and running[turn.alias].done() for turn in self.state.turns.values())
                    )
                )
                for task in running.values():
                    if task.done():
                        task.result()
                if all(task.done() for task in running.values()) and not any(t.open for t in self.state.turns.values()):
                    return
        finally:
            for task in running.values():
                give_up(task)

    def _begin(self, running: dict[str, asyncio.Task[None]]) -> None:
        """Start the open turns that nobody is at: all proxies in one step, everybody else in a step of their own."""
        turns, seats = self.state.turns, self.state.seats
        idle = [
            turn for turn in turns.values() if turn.open and (turn.alias not in running or running[turn.alias].done())
        ]
        proxies = [turn for turn in idle if seats[turn.alias].endpoint is EndpointKind.PROXY and not _answered(turn)]
        if proxies:
            together = asyncio.create_task(self._ask_proxies(proxies))
            running.update((turn.alias, together) for turn in proxies)
        asked = {turn.alias for turn in proxies}
        running.update((turn.alias, asyncio.create_task(self._turn(turn))) for turn in idle if turn.alias not in asked)

    async def _turn(self, turn: Turn) -> None:
        """Bring one turn to an outcome, whoever speaks in it and however often that changes."""
        seat, spoke = self.state.seats[turn.alias], False
        while turn.open:
            if turn.answered:
                await self._take_down(turn)
                spoke = True
            elif seat.endpoint is EndpointKind.PROXY:
                await self._ask_proxies([turn])
                spoke = True
            elif not await self._person(turn, seat):
                self._fall_back(turn, seat)
        if not spoke:
            await self._write_down(turn)

    async def _ask_proxies(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            turn.due = None
            turn.revision = turn.revision or 1  # whoever takes over meanwhile says something else, under another key
        await self._project([(turn, TurnInput(alias=turn.alias, revision=turn.revision)) for turn in turns])

    async def _take_down(self, turn: Turn) -> None:
        """Take down what a person or their agent said."""
        said = TurnInput(
            alias=turn.alias,
            submission=turn.submission or "",
            nothing_new=turn.nothing_new,
            author=(turn.author or EndpointKind.HUMAN).value,
            revision=turn.revision,
        )
        await self._project([(turn, said)])

    async def _write_down(self, turn: Turn) -> None:
        """Put a turn in the record in which nobody spoke."""
        await self._project([(turn, TurnInput(alias=turn.alias, outcome=turn.outcome))])

    async def _project(self, turns: Sequence[tuple[Turn, TurnInput]]) -> None:
        """Bring turns into the record. One in which somebody said more meanwhile stays open: that is taken down next."""
        revisions = [turn.revision for turn, _ in turns]
        output = await self.call(
            PROJECT,
            ProjectInput(
                process_id=self.start.process_id, round=self.state.round, turns=tuple(what for _, what in turns)
            ),
            summary=turns_summary([turn.alias for turn, _ in turns], self.state.round),
            using=options.models(PROJECT, self.start.settings),
            on_models=True,
        )
        for (turn, what), revision, ended in zip(turns, revisions, output.turns, strict=True):
            if ended.outcome is Outcome.FAILED:
                self._failures[turn.alias] = ended.reason
            if turn.revision == revision and what.outcome is None:
                self._end(turn, ended)

    async def _person(self, turn: Turn, seat: Seat) -> bool:
        """Wait until somebody said something, the endpoint was switched, or they left. False: the deadline has passed."""
        if turn.due is None:
            self._wait_for(turn)
        reminders = self._reminders(turn)
        while turn.open and turn.due is not None:
            due = turn.due
            if self.still:  # their time stands still; `resume` gives it back
                await workflow.wait_condition(lambda: not self.still or _answered(turn))
                reminders = self._reminders(turn)
                continue
            upcoming = [at for at, _ in reminders if at < due]
            until = upcoming[0] if upcoming else due
            if workflow.now() >= due:
                return False
            try:
                await workflow.wait_condition(
                    partial(_woken, turn, seat, due),
                    timeout=max(until - workflow.now(), timedelta(0)),
                    timeout_summary=f"{turn.alias}: {'reminder' if upcoming else 'deadline'}",
                )
            except TimeoutError:
                if upcoming and not self.still:
                    _, share = reminders.pop(0)
                    self.journal.note(EventKind.REMINDER, {"alias": turn.alias, "round": turn.round, "share": share})
                    self.show()
                continue
            if turn.due != due and not _answered(turn) and seat.endpoint is not EndpointKind.PROXY:
                reminders = self._reminders(turn)
                self.show()
                continue
            return True
        return True

    def _wait_for(self, turn: Turn) -> None:
        turn.due = workflow.now() + timedelta(seconds=self.start.settings.turn_seconds)
        data: dict[str, JsonValue] = {"alias": turn.alias, "round": turn.round, "due": turn.due.isoformat()}
        self.journal.note(EventKind.TURN_WAITING, data)

    def _reminders(self, turn: Turn) -> list[tuple[datetime, float]]:
        assert turn.due is not None
        now = workflow.now()
        return [(now + (turn.due - now) * share, share) for share in REMINDERS]

    def _fall_back(self, turn: Turn, seat: Seat) -> None:
        """A person's time is over: what they chose for this case happens."""
        self.journal.note(EventKind.ESCALATED, {"alias": turn.alias, "round": turn.round})
        if seat.fallback is Fallback.PROXY:
            seat.endpoint = EndpointKind.PROXY
            self.journal.note(EventKind.ENDPOINT_SWITCHED, {"alias": turn.alias, "to": seat.endpoint.value})
        elif seat.fallback is Fallback.LEAVE:
            for kind, data in effects.leave(self.state, turn.alias):
                self.journal.note(kind, data)
        else:
            turn.outcome = Outcome.LAPSED
            self._received(turn, TurnOutput(outcome=Outcome.LAPSED))

    def _end(self, turn: Turn, ended: TurnOutput) -> None:
        if turn.open:
            turn.outcome = ended.outcome
        self._received(turn, ended)

    def _received(self, turn: Turn, ended: TurnOutput) -> None:
        """Note the end of a turn. It rides along with the next call, unless only people are left to wait for."""
        others = [other for other in self.state.turns.values() if other.open]
        only_people = bool(others) and all(other.due is not None for other in others)
        data: dict[str, JsonValue] = {
            "alias": turn.alias,
            "round": turn.round,
            "outcome": (turn.outcome or ended.outcome).value,
            "items": ended.items,
            "struck": ended.struck,
        }
        self.journal.note(EventKind.PROJECTION_RECEIVED, data, urgent=only_people)
        self.show()

    def _one_cause_of_failure(self) -> str | None:
        """The reason, when every turn of this round failed for the same one. A budget is for the demander to decide on."""
        if self.over_budget:
            return None
        failed = [turn for turn in self.state.turns.values() if turn.outcome is Outcome.FAILED]
        present = [turn for turn in self.state.turns.values() if turn.outcome is not Outcome.LEFT]
        if not failed or len(failed) < len(present):
            return None
        reasons = {self._failures.get(turn.alias, "") for turn in failed}
        return f"every endpoint failed: {reasons.pop()}" if len(reasons) == 1 else None

    async def _observe(self) -> Verdict:
        output = await self.call(
            OBSERVE,
            ObserveInput(process_id=self.start.process_id, round=self.state.round),
            summary=f"catalyst · round {self.state.round}",
            using=options.models(OBSERVE, self.start.settings),
            on_models=True,
        )
        self.journal.note(
            EventKind.OBSERVATION_READY,
            {
                "round": self.state.round,
                "verdict": output.verdict.value,
                "relations": output.relations,
                "struck": output.struck,
            },
            urgent=False,
        )
        return output.verdict


def _woken(turn: Turn, seat: Seat, due: datetime) -> bool:
    """Somebody answered, a proxy speaks from now on, or the deadline that was `due` is another one."""
    return _answered(turn) or seat.endpoint is EndpointKind.PROXY or turn.due != due


def _answered(turn: Turn) -> bool:
    return not turn.open or turn.answered
