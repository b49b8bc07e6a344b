"""The state machine under generated schedules: nothing that the oracles exclude happens, and everything was met often enough."""

from __future__ import annotations

import pytest

from tests.simulation import phase_table
from tests.simulation.__main__ import SCHEDULES, simulate
from tests.simulation.coverage import Coverage
from tests.simulation.shell_world import ShellWorld
from tongyao.protocol.life.state import CARRIED_LOGIC, LOGIC

THROUGH_THE_CLASS = 150
"""`make simulate-workflow` runs 5,000."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("logic", CARRIED_LOGIC)
def test_no_schedule_breaks_an_oracle_and_every_kind_meets_every_phase(logic: int) -> None:
    coverage = Coverage()

    simulate(0, SCHEDULES, logic=logic, coverage=coverage)

    assert not coverage.gaps(), coverage.table()
    assert coverage.expired < 1 / 3, coverage.table()
    if logic == LOGIC:
        written = "write it by `python -m tests.simulation --write-table`"
        assert phase_table.table(coverage.followed) == phase_table.committed(), written


@pytest.mark.timeout(300)
def test_no_schedule_breaks_an_oracle_through_the_workflow_class() -> None:
    coverage = Coverage()

    simulate(0, THROUGH_THE_CLASS, logic=LOGIC, coverage=coverage, kind=ShellWorld)

    assert coverage.expired < 1 / 3, coverage.table()
