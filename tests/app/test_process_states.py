"""Many readers of one process cost its workflow one question."""

from __future__ import annotations

import asyncio
from typing import Final, cast

import pytest

from tongyao.app.errors import Unavailable
from tongyao.app.process_states import ProcessStates
from tongyao.protocol.life.state import State

STATE: Final = cast(State, object())
"""What is told is passed on and not looked at."""


class Workflow:
    """Counts the questions, and answers each when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.away = False

    async def ask(self, process_id: str) -> State:
        self.asked += 1
        await self.may_answer.wait()
        if self.away:
            raise Unavailable("no_worker", f"no worker answered for {process_id}")
        return STATE


async def read(states: ProcessStates, seq: int = 1, run_id: str = "run") -> State:
    return await states.of("process", run_id=run_id, seq=seq)


async def test_concurrent_readers_share_one_question() -> None:
    workflow = Workflow()
    states = ProcessStates(workflow.ask)
    readers = [asyncio.create_task(read(states)) for _ in range(200)]
    workflow.may_answer.set()
    told = await asyncio.gather(*readers)
    assert workflow.asked == 1
    assert all(state is told[0] for state in told)


async def test_a_later_transition_or_another_run_is_asked_for_anew() -> None:
    workflow = Workflow()
    workflow.may_answer.set()
    states = ProcessStates(workflow.ask)
    for seq, run_id, asked in ((1, "run", 1), (1, "run", 1), (2, "run", 2), (1, "next run", 3)):
        await read(states, seq, run_id)
        assert workflow.asked == asked


async def test_a_reader_who_gives_up_does_not_take_the_answer_from_the_others() -> None:
    workflow = Workflow()
    states = ProcessStates(workflow.ask)
    impatient, patient = (asyncio.create_task(read(states)) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    workflow.may_answer.set()
    assert await patient is STATE
    assert workflow.asked == 1


async def test_a_question_that_failed_is_asked_again() -> None:
    workflow = Workflow()
    workflow.may_answer.set()
    states = ProcessStates(workflow.ask)
    workflow.away = True
    with pytest.raises(Unavailable):
        await read(states)
    workflow.away = False
    assert await read(states) is STATE
    assert workflow.asked == 2
