"""A dozen faults, of every kind but one, while people, an agent and proxies live through processes. The long form: `python -m tests.chaos`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.faults import KINDS
from tests.chaos.paid_calls import PaidCall, paid_again
from tests.chaos.run import Size, run


@pytest.fixture
def directory() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="tongyao-chaos-"))
    made.chmod(0o711)  # as root, PostgreSQL is another user, who must be let through to homes below it
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_after_a_dozen_faults_everything_is_as_if_nothing_had_been(directory: Path) -> None:
    kinds = tuple(kind for kind in KINDS if kind != "kill all")  # which takes long to come back from
    size = Size(processes=2, faults=len(KINDS), workers=1, longest=1.0, pause=1.0, end=400, kinds=kinds)
    report = await run(directory / "home", directory, 7, size, print)
    assert report.wrong == {}
    assert sum(report.processes.values()) >= size.processes
    assert set(report.processes) == {"completed"}
    assert set(report.faults) == set(kinds) - {kind for kind in kinds if any(kind in why for why in report.skipped)}


def call(asked: str, began: float, ended: float) -> PaidCall:
    return PaidCall(asked, "project", began, ended)


def test_an_answer_may_be_paid_for_again_only_if_something_was_wrong_before_it_was_settled() -> None:
    twice = [call("a", 10, 11), call("b", 11, 12), call("a", 30, 31)]
    assert paid_again([call("a", 10, 11), call("b", 11, 12)], []) == (0, [])
    assert paid_again(twice, []) == (1, ["paid again without a fault: project, 19.0 s after its answer"])
    assert paid_again(twice, [(20, 25)])[1], "its answer was long settled then"
    assert paid_again(twice, [(12, 13)]) == (1, []), "the fault came before it was certainly settled"
    assert paid_again(twice, [(9, 10.5)]) == (1, [])
