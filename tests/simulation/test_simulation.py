"""The state machine under generated schedules: no oracle is violated, and every kind of message meets every phase."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation import phase_table
from tests.simulation.__main__ import simulate
from tests.simulation.coverage import Coverage
from tests.simulation.oracles import watch
from tests.simulation.script import Input
from tests.simulation.shell_world import ShellWorld
from tongyao.protocol.life.state import CARRIED_LOGIC, LOGIC
from tongyao.protocol.model.process import Phase

SCHEDULES = 700
"""Schedules for each supported logic. `make nightly` runs 100,000."""

THROUGH_THE_CLASS = 60
"""Schedules with the workflow class. `make nightly` runs 5,000."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("logic", CARRIED_LOGIC)
def test_no_schedule_breaks_an_oracle_and_every_kind_meets_every_phase(logic: int) -> None:
    coverage = Coverage()

    simulate(0, SCHEDULES, logic=logic, coverage=coverage)

    assert not coverage.gaps(least=1), coverage.table()
    assert coverage.expired < 1 / 3, coverage.table()
    if logic == LOGIC:
        written = "write it by `python -m tests.simulation --write-table`"
        assert not phase_table.lacking(phase_table.table(coverage.followed)), written


@pytest.mark.timeout(300)
def test_no_schedule_breaks_an_oracle_through_the_workflow_class() -> None:
    coverage = Coverage()

    simulate(0, THROUGH_THE_CLASS, logic=LOGIC, coverage=coverage, kind=ShellWorld)

    assert coverage.expired < 1 / 3, coverage.table()


def test_a_decision_may_end_the_answers_while_a_process_is_about_to_continue_as_new() -> None:
    """The oracle uses the inbox before the decision. While the process waits for steps, no input is checked."""
    world = ShellWorld(oracles=watch())
    people = [{"profile_id": name, "endpoint": "agent", "fallback": "lapse"} for name in ("n1", "n2")]
    settings = {"auto_confirm": True, "correcting_seconds": 0, "residuals": "ask", "depth_limit": 2}
    named = {"process_id": "c-1", "demander": "d", "intent_text_id": "intent", "participants": people}
    put_in(world, ["begin", named | {"settings": settings}])
    succeed_until(world, Phase.CRYSTALLIZING)
    put_in(world, said("P00", "conclude"))
    for alias in ("P01", "P02"):
        put_in(world, said(alias, "submit_projection", alias=alias, round=1, text_id="words"))
    succeed_until(world, Phase.ANSWERING)

    put_in(world, said("P01", "answer_plan", alias="P01", revision=1, answer="commit"))
    put_in(world, ["say", {"kind": "upgrade", "role": "operator", "alias_of_author": ""}])
    put_in(world, said("P02", "answer_plan", alias="P02", revision=1, answer="decline"))
    assert world.draining
    put_in(world, said("P00", "approve_residual", residual="plan/1/hole/P02", approve=False))
    assert world.state.phase is Phase.COMPLETED


def said(author: str, kind: str, **fields: Any) -> Input:
    role = "demander" if author == "P00" else "participant"
    return ["say", {"kind": kind, "role": role, "alias_of_author": author, **fields}]


def put_in(world: ShellWorld, given: Input) -> None:
    """Apply one input, without holding back a job for the next input."""
    world.apply(given)
    world.apply(["pass", 0])


def succeed_until(world: ShellWorld, phase: Phase) -> None:
    """Let steps succeed until the process is in `phase`."""
    while world.state.phase is not phase:
        put_in(world, ["succeed", next(iter(world.running)), {}])
