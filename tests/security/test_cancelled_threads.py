"""A step without a model that is cancelled, or that takes too long, does not keep the processor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.llm.extractive.extractive_process import ENGINE, call
from tests.llm.extractive.extractive_requests import room, said, turn
from tongyao.llm.errors import StepFailed
from tongyao.llm.extractive import catalyst, endpoint, engine, stopping
from tongyao.protocol.model import steps

LONG = "".join(f"I can lend tractor number {number} to anybody who ploughs. " for number in range(20_000))
STATEMENT = " ".join(f"word{number} harbour{number} lantern{number}" for number in range(30))
LARGE_ROOM = room(
    *(said(f"P{alias:02d}", number, f"{STATEMENT} {alias} {number}") for alias in range(8) for number in range(1, 60))
)


class Watched:
    """A step's function that tells when it begins, and how it ended."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.begun, self.ended, self._function = threading.Event(), threading.Event(), function
        self.how: object = None

    def __call__(self, request: Any) -> Any:
        self.begun.set()
        try:
            self.how = self._function(request)
            return self.how
        except BaseException as error:
            self.how = error
            raise
        finally:
            self.ended.set()


@pytest.mark.parametrize("what", ["project", "observe"])
async def test_the_thread_of_a_cancelled_step_ends_before_its_work_is_done(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(endpoint.project if what == "project" else catalyst.observe)
    monkeypatch.setattr(engine, "_ANSWERS", {what: watched})
    asked = (
        ENGINE.answer(steps.PROJECT, turn(words=LONG), call())
        if what == "project"
        else ENGINE.answer(steps.OBSERVE, LARGE_ROOM, call())
    )
    task: asyncio.Task[Any] = asyncio.ensure_future(asked)
    assert await asyncio.to_thread(watched.begun.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(watched.ended.wait, 60)
    assert isinstance(watched.how, stopping.Stopped), "it did not work to its end"


async def test_a_step_that_used_its_processor_time_fails_and_says_what_to_do() -> None:
    with pytest.raises(StepFailed, match="shorten"):
        await stopping.in_thread(lambda: endpoint.project(turn(words=LONG)), seconds=0.05)


async def test_a_step_within_its_processor_time_is_not_disturbed() -> None:
    words = "I can lend a tractor."
    assert (await stopping.in_thread(lambda: endpoint.project(turn(words=words)))) == endpoint.project(
        turn(words=words)
    )
