"""What reads people's texts runs in processes with limits: a hostile text ends its own process and stops nobody else."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.llm.requests import call, endpoint
from tongyao import limited_process
from tongyao.limited_process import LimitReached
from tongyao.llm.errors import StepFailed
from tongyao.llm.extractive import engine
from tongyao.protocol.model import steps

ENGINE = engine.ExtractiveEngine()
CELLS = "\n".join(("|a" * 1_000 + "|", "|-" * 1_000 + "|", *["|"] * 60)) + "\n"


async def test_a_call_without_end_is_ended_and_others_are_answered_meanwhile(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    os.mkfifo(told)
    hostile = asyncio.create_task(limited_process.run(_work_for_ever, told, seconds=3))
    await asyncio.to_thread(told.read_text)
    assert (await ENGINE.answer(steps.PROJECT, endpoint(), call("project"))).draft.items
    with pytest.raises(LimitReached, match="shorten"):
        await hostile


async def test_a_step_that_used_its_processor_time_fails_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_SECONDS", 1.0)
    monkeypatch.setattr(engine, "_answer", _answer_never)
    with pytest.raises(StepFailed, match="shorten"):
        await ENGINE.answer(steps.PROJECT, endpoint(), call("project"))


async def test_tables_without_cells_do_not_fill_the_memory_of_the_worker() -> None:
    before = psutil.Process().memory_info().rss
    with suppress(StepFailed):
        await ENGINE.answer(steps.PROJECT, endpoint(profile=CELLS * 8), call("project"))
    assert psutil.Process().memory_info().rss - before < 200 * 1024**2


async def test_more_memory_than_allowed_ends_the_call() -> None:
    with pytest.raises(LimitReached, match="shorten"):
        await limited_process.run(_fill, limited_process.MOST_BYTES, seconds=60)


async def test_the_process_of_a_cancelled_call_ends(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    os.mkfifo(told)
    working = asyncio.create_task(limited_process.run(_work_for_ever, told, seconds=60))
    worker = psutil.Process(int(await asyncio.to_thread(told.read_text)))
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    await asyncio.to_thread(worker.wait, 60)


async def test_calls_go_on_after_all_processes_were_killed_from_outside() -> None:
    ids = {await limited_process.run(os.getpid, seconds=60) for _ in range(4)}
    for one in ids:
        os.kill(one, signal.SIGKILL)
    for _ in range(20):  # a call may meet the process that is just ending
        try:
            assert await limited_process.run(os.getpid, seconds=60) not in ids
            break
        except LimitReached:
            continue
    else:
        pytest.fail("no process came back")


async def test_what_a_function_raises_comes_back() -> None:
    with pytest.raises(ZeroDivisionError):
        await limited_process.run(_divide, 1, 0, seconds=60)


def _fill(size: int) -> int:
    return len(bytearray(size))


def _work_for_ever(told: Path) -> None:
    told.write_text(str(os.getpid()))
    while True:
        pass


def _answer_never(step: str, request: object) -> None:
    while True:
        pass


def _divide(a: int, b: int) -> float:
    return a / b
