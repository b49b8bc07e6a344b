"""The life of a fork: nobody is asked, and it is decided as in the origin (docs/forks.md §2)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tongyao.protocol.contracts.process import (
    Fork,
    ForkSeat,
    FreezeOutput,
    ObserveOutput,
    PlanOutput,
    ProcessInput,
    ProjectOutput,
    TurnOutput,
)
from tongyao.protocol.life import machine
from tongyao.protocol.life.phases import open_asks
from tongyao.protocol.life.state import State, Success
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import MESSAGE
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Choice, ProfileRef, Seat, Spent, TensionRef
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.rules.refusals import Refusal

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class ForkLife:
    """A fork of a process of a person, P01, and a proxy, P02; further seats may be given."""

    def __init__(self, *seats: ForkSeat, settings: dict[str, Any] | None = None, **fork: Any) -> None:
        own = [
            ForkSeat(alias="P01", choice=Choice(profile_id="n1", endpoint=EndpointKind.HUMAN), version=1),
            ForkSeat(alias="P02", choice=Choice(profile_id="n2"), version=1),
        ]
        self.state: State = machine.begin(
            ProcessInput(
                process_id="c-1",
                demander="d",
                intent_text_id="intent",
                tension=TensionRef(text_id="tension", grade=Grade.A, barriers=1),
                participants=tuple(seat.choice for seat in own),
                settings=ProcessSettings.model_validate({"auto_confirm": True, "residuals": "off", **(settings or {})}),
                fork=Fork(origin="c-0", seats=(*own, *seats), **fork),
            ),
            NOW,
            "seed",
        )
        self.seat("P01", "P02")

    def finish(self, name: str, output: Any) -> None:
        [key] = [key for key, step in machine.wanted(self.state).items() if step.contract.name == name]
        machine.finish(self.state, key, Success(output), NOW)

    def seat(self, *aliases: str) -> None:
        seats = [
            Seat(alias=one, profile=ProfileRef(profile_id=one, version=1), joined_round=self.state.round + 1)
            for one in aliases
        ]
        self.finish("freeze", FreezeOutput(seats=tuple(seats)))

    def projected(self, outcome: Outcome = Outcome.REPLIED) -> None:
        turns = [TurnOutput(alias=one, revision=1, outcome=outcome) for one in self.state.turns]
        self.finish("project", ProjectOutput(turns=tuple(turns)))

    def round(self, verdict: Verdict = Verdict.MORE, **output: Any) -> None:
        self.projected()
        self.finish("observe", ObserveOutput(verdict=verdict, **output))

    def events(self, kind: EventKind) -> list[dict[str, Any]]:
        return [event.data for event in self.state.outbox if event.kind is kind]

    def refused(self, kind: str, **fields: Any) -> Refusal | None:
        author = {"role": "demander", "alias": "P00"}
        message = MESSAGE.validate_python({"kind": kind, "key": "k", "author": author, **fields})
        return machine.refuse(self.state, message)


def test_people_are_not_asked_and_the_plan_is_delivered_to_nobody() -> None:
    life = ForkLife()
    assert set(life.state.turns) == {"P01", "P02"}
    assert life.refused("conclude") is Refusal.FORK
    assert life.refused("extend_deadline", alias="P00", seconds=60) is Refusal.FORK
    assert life.refused("cancel") is None
    for verdict in (Verdict.MORE, Verdict.MORE, Verdict.EXHAUSTED, Verdict.EXHAUSTED):
        assert not list(open_asks(life.state))
        life.round(verdict)
    life.finish("plan", PlanOutput(claims=1, supported=1, residuals=("plan/1/residual/1",)))

    assert life.state.phase.value == "completed"
    assert not life.events(EventKind.DELIVERY_READY)
    assert not life.events(EventKind.RESIDUAL_OPEN)


def test_a_larger_budget_is_followed_where_rounds_are_left_and_the_budget_of_the_fork_is_its_own() -> None:
    life = ForkLife(decisions={1: "raise_budget", 4: "raise_budget"}, settings={"max_rounds": 4})
    life.projected(Outcome.FAILED)  # as in a round of the origin in which its budget was used up
    assert not life.state.causes
    assert life.state.round == 2
    for _ in range(3):
        life.round()
    assert [one["decision"] for one in life.events(EventKind.DECIDED)] == ["raise_budget", "accept_as_is"]
    assert life.state.phase.value == "planning"

    life = ForkLife(decisions={1: "extend"}, settings={"token_budget": 1_000})
    life.round(spent=Spent(tokens=2_000))
    assert [one["decision"] for one in life.events(EventKind.DECIDED)] == ["accept_as_is"]


def test_a_fork_goes_on_without_who_was_to_join_and_may_no_longer() -> None:
    late = ForkSeat(alias="P03", choice=Choice(profile_id="n3"), version=1, joined_round=3)
    life = ForkLife(late, decisions={2: "add_participants"}, settings={"max_rounds": 2})
    life.round()
    life.round()
    [step] = [step for step in machine.wanted(life.state).values() if step.contract.name == "freeze"]
    assert step.input.model_dump()["aliases"] == ("P03",)
    life.seat()
    assert life.state.phase.value == "crystallizing"
    assert life.state.present == ("P01", "P02")
