"""Brings in-process workflows to a certain point, for tests of the workflow class and its use of the state machine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from temporalio.worker._workflow_instance import _WorkflowLogicFlag

from tests.simulation.in_process import InProcess
from tongyao.protocol.contracts.process import (
    CheckDeadlineOutput,
    ConsentOutput,
    DeliverOutput,
    FormulateOutput,
    FreezeOutput,
    ObserveOutput,
    PlanOutput,
    ProcessInput,
    ProjectOutput,
    TurnOutput,
)
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import DEMANDER, Choice, ProfileRef, Seat, TensionRef
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.tension import Grade, Lineage

TENSION = TensionRef(text_id="tension", grade=Grade.A, barriers=2)


class Room(InProcess):
    """A process with participants P01, P02, … in the order of `endpoints`."""

    def __init__(
        self,
        *endpoints: EndpointKind,
        flags: frozenset[_WorkflowLogicFlag] = frozenset(),
        fallback: str | None = None,
        confirmed: bool = True,
        lineage: Lineage | None = None,
        **settings: Any,
    ) -> None:
        choices = tuple(
            Choice.model_validate({"profile_id": f"p-{number}", "endpoint": endpoint, "fallback": fallback})
            for number, endpoint in enumerate(endpoints, 1)
        )
        given = ProcessSettings.model_validate(
            {"aliases_as_named": True, "auto_confirm": confirmed, "correcting_seconds": 0, **settings}
        )
        start = ProcessInput(
            process_id="c-1",
            demander="d",
            intent_text_id="intent",
            participants=choices,
            settings=given,
            lineage=lineage,
        )
        self.numbers: dict[str, int] = {}
        super().__init__(start, flags=flags)
        self.finish("formulate", FormulateOutput(tension=TENSION))
        if confirmed:
            self.seat()

    def seat(self) -> None:
        """Seat the chosen people without asking for consent. Round 1 opens."""
        self.finish("consent", ConsentOutput())
        given = self.named("freeze")[0].input
        seats = [
            Seat(
                alias=alias,
                profile=ProfileRef(profile_id=choice["profile_id"], version=1),
                endpoint=choice.get("endpoint", "proxy"),
                fallback=choice.get("fallback") or "lapse",
            )
            for alias, choice in zip(given["aliases"], given["choices"], strict=True)
        ]
        self.finish("freeze", FreezeOutput(seats=tuple(seats)))
        self.write_everything()

    def finish(self, name: str, output: Any) -> None:
        """Let the one activity of this name succeed."""
        (activity,) = self.named(name)
        self.activate(self.completed(activity, output))

    def project(self, outcome: Outcome = Outcome.REPLIED) -> None:
        """Let every turn of a running step end with this outcome."""
        for activity in self.named("project"):
            turns = [
                TurnOutput(alias=turn["alias"], revision=turn.get("revision", 1), outcome=outcome)
                for turn in activity.input["turns"]
            ]
            self.activate(self.completed(activity, ProjectOutput(turns=tuple(turns))))

    def observe(self, verdict: Verdict = Verdict.MORE) -> None:
        self.finish("observe", ObserveOutput(verdict=verdict))
        self.write_everything()

    def to_answers(self, *residuals: str, has_parts: bool = True) -> None:
        """Go from an open round 1 with people to the answers: all speak, the demander concludes, the plan is made."""
        self.by_demander("conclude")
        for alias in [turn.alias for turn in self.state.waiting_for]:
            self.words(alias)
        self.project()
        self.observe()
        self.plan(*residuals, has_parts=has_parts)

    def plan(self, *residuals: str, has_parts: bool = True) -> None:
        self.finish("plan", PlanOutput(claims=1, supported=1, residuals=residuals, has_parts=has_parts))
        (deliver,) = self.named("deliver")
        self.activate(self.completed(deliver, DeliverOutput(delivered=tuple(deliver.input["aliases"]))))
        self.write_everything()

    def check_deadline(self, *, undelivered: bool = False, shut_seconds: float = 0.0) -> None:
        """Finish the check of a deadline with this result."""
        self.finish("check_deadline", CheckDeadlineOutput(undelivered=undelivered, shut_seconds=shut_seconds))

    # ---- messages, as the relay would deliver them

    def message(self, kind: str, author: m.Author, **fields: Any) -> m.Message:
        lane = m.lane_of(author, kind)
        self.numbers[lane] = self.numbers.get(lane, 0) + 1
        number = self.numbers[lane]
        return m.MESSAGE.validate_python(
            {"kind": kind, "key": f"{lane}/{number}", "author": author, "lane": lane, "number": number, **fields}
        )

    def words(self, alias: str, text_id: str = "words", *, round_number: int | None = None) -> Any:
        author = m.Author(role="participant", alias=alias)
        number = round_number or self.state.round
        return self.say(self.message("submit_projection", author, alias=alias, round=number, text_id=text_id))

    def by_participant(self, alias: str, kind: str, **fields: Any) -> Any:
        return self.say(self.message(kind, m.Author(role="participant", alias=alias), alias=alias, **fields))

    def by_demander(self, kind: str, **fields: Any) -> Any:
        return self.say(self.message(kind, m.Author(role="demander", alias=DEMANDER), **fields))

    def by_operator(self, kind: str, **fields: Any) -> Any:
        return self.say(self.message(kind, m.Author(role="operator"), **fields))

    @property
    def phase(self) -> str:
        return self.state.phase.value

    # ---- time

    def pass_time(self, **duration: float) -> None:
        """Let wall time pass. Due timers fire one after the other, each in its own workflow task."""
        end = self.now + timedelta(**duration)
        while self.timers and min(self.timers.values()) <= end:
            self.activate(self.fired())
        self.now = end
