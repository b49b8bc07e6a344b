"""Whoever has much work done on their texts waits themself, and nobody else does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from tongyao.heavy_work import HeavyWork, on_behalf_of, one_at_a_time
from tongyao.single_flight import SingleFlight


class Work:
    """Work that ends when it is told to."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.may_end.wait(60)
        return "done"


async def _begun(work: Work) -> bool:
    return await asyncio.to_thread(work.begun.wait, 60)


async def test_one_person_never_has_all_threads() -> None:
    threads = HeavyWork(2, "test")
    first, second, other = Work(), Work(), Work()
    theirs = [asyncio.ensure_future(threads.run(one, person="hog")) for one in (first, second)]
    assert await _begun(first)
    another = asyncio.ensure_future(threads.run(other, person="ann"))
    assert await _begun(other), "the second thread is not for somebody who has one"
    assert not second.begun.is_set()
    for work in (first, second, other):
        work.may_end.set()
    assert await asyncio.gather(*theirs, another) == ["done"] * 3


async def test_those_who_wait_take_turns() -> None:
    threads = HeavyWork(1, "test")
    held, order = Work(), list[str]()
    holding = asyncio.ensure_future(threads.run(held, person="somebody"))
    assert await _begun(held)

    def note(who: str) -> Callable[[], None]:
        return lambda: order.append(who)

    waiting = [asyncio.ensure_future(threads.run(note(who), person=who)) for who in ("hog", "hog", "ann", "bert")]
    await asyncio.sleep(0)  # each is in the row now
    held.may_end.set()
    await asyncio.gather(holding, *waiting)
    assert order == ["hog", "ann", "bert", "hog"]


async def test_work_that_was_not_begun_is_not_done_for_whoever_no_longer_waits() -> None:
    threads = HeavyWork(1, "test")
    held, never = Work(), Work()
    holding = asyncio.ensure_future(threads.run(held, person="ann"))
    assert await _begun(held)
    waiting = asyncio.ensure_future(threads.run(never, person="bert"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    held.may_end.set()
    await holding
    assert await threads.run(lambda: "next", person="bert") == "next"
    assert not never.begun.is_set()


async def test_work_is_charged_to_whom_the_task_acts_for() -> None:
    threads = HeavyWork(2, "test")

    async def acting(work: Work) -> str:
        on_behalf_of("hog")
        return await threads.run(work)

    first, second, other = Work(), Work(), Work()
    theirs = [asyncio.ensure_future(acting(one)) for one in (first, second)]
    assert await _begun(first)
    another = asyncio.ensure_future(threads.run(other))
    assert await _begun(other)
    assert not second.begun.is_set()
    for work in (first, second, other):
        work.may_end.set()
    await asyncio.gather(*theirs, another)


async def test_errors_reach_whoever_waits() -> None:
    def fails() -> None:
        raise ValueError("it is wrong")

    threads = HeavyWork(1, "test")
    with pytest.raises(ValueError, match="wrong"):
        await threads.run(fails, person="ann")
    assert await threads.run(lambda: 1, person="ann") == 1


async def test_a_result_is_made_once_also_for_a_step_whose_time_was_over() -> None:
    kept, threads, work, made = SingleFlight[str](keep=2), HeavyWork(1, "test"), Work(), list[int]()

    async def make() -> str:
        made.append(1)
        return await threads.run(work, person="ann")

    first = asyncio.ensure_future(kept.get("key", make))
    assert await _begun(work)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    again = asyncio.ensure_future(kept.get("key", make))
    await asyncio.sleep(0)
    work.may_end.set()
    assert await again == "done"
    assert await kept.get("key", make) == "done"
    assert made == [1]


async def test_only_one_is_inside_with_the_same_name() -> None:
    inside = list[str]()

    async def visit(what: str, who: str) -> None:
        async with one_at_a_time(what):
            assert not [other for other in inside if other.startswith(what)]
            inside.append(f"{what}/{who}")
            await asyncio.sleep(0.01)
            inside.remove(f"{what}/{who}")

    together = asyncio.gather(visit("page", "ann"), visit("page", "bert"), visit("scene", "cy"))
    await asyncio.sleep(0.005)
    assert inside == ["page/ann", "scene/cy"]
    await together
