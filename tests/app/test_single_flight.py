"""Many who ask for the same at the same time cost one piece of work. `get_later`: none of them gets one that began before they asked."""

from __future__ import annotations

import asyncio
import time

import pytest

from tongyao.app.errors import Unavailable
from tongyao.single_flight import SingleFlight


class Work:
    """Reads `value` when it begins, and returns it when it is let."""

    def __init__(self, value: str = "") -> None:
        self.value, self.begun, self.at_once = value, 0, 0
        self.most_at_once = 0
        self.may_end = asyncio.Event()

    async def do(self) -> str:
        self.begun += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        read = self.value
        await self.may_end.wait()
        self.at_once -= 1
        if read == "away":
            raise Unavailable("away", "the records are away")
        return read

    async def until_begun(self, times: int) -> None:
        while self.begun < times:
            await asyncio.sleep(0)


async def test_those_who_ask_at_the_same_time_share_one_piece_of_work() -> None:
    shared, work = SingleFlight[str](), Work("words")
    asking = [asyncio.create_task(shared.get_later("page", work.do)) for _ in range(200)]
    work.may_end.set()
    assert await asyncio.gather(*asking) == ["words"] * 200
    assert work.begun == 1


async def test_whoever_asks_while_it_goes_on_gets_what_is_read_after_they_asked() -> None:
    shared, work = SingleFlight[str](), Work("words")
    early = asyncio.create_task(shared.get_later("page", work.do))
    await work.until_begun(1)
    work.value = "[erased]"
    late = [asyncio.create_task(shared.get_later("page", work.do)) for _ in range(3)]
    await asyncio.sleep(0)
    work.may_end.set()
    assert await early == "words"
    assert await asyncio.gather(*late) == ["[erased]"] * 3
    assert (work.begun, work.most_at_once) == (2, 1)


async def test_nothing_is_kept_and_other_keys_have_work_of_their_own() -> None:
    shared, work = SingleFlight[str](), Work("words")
    work.may_end.set()
    await asyncio.gather(shared.get_later("page", work.do), shared.get_later("another", work.do))
    await shared.get_later("page", work.do)
    assert work.begun == 3


async def test_a_failure_is_told_to_those_who_waited_and_the_next_asks_anew() -> None:
    shared, work = SingleFlight[str](), Work("away")
    asking = [asyncio.create_task(shared.get_later("page", work.do)) for _ in range(2)]
    await work.until_begun(1)
    later = asyncio.create_task(shared.get_later("page", work.do))
    work.value = "words"
    work.may_end.set()
    for one in asking:
        with pytest.raises(Unavailable):
            await one
    assert await later == "words"


async def test_whoever_gives_up_does_not_take_it_from_the_others() -> None:
    shared, work = SingleFlight[str](), Work("words")
    impatient, patient = (asyncio.create_task(shared.get_later("page", work.do)) for _ in range(2))
    await work.until_begun(1)
    impatient.cancel()
    work.may_end.set()
    assert await patient == "words"


async def test_readers_of_one_transition_share_one_question_and_its_kept_answer() -> None:
    shared, work = SingleFlight[str](keep=2, seconds=60), Work("state")
    asking = [asyncio.create_task(shared.get(("process", 1), work.do)) for _ in range(200)]
    work.may_end.set()
    assert await asyncio.gather(*asking) == ["state"] * 200
    assert await shared.get(("process", 1), work.do) == "state"
    assert work.begun == 1
    await shared.get(("process", 2), work.do)
    await shared.get(("process", 3), work.do)
    assert work.begun == 3
    await shared.get(("process", 1), work.do)
    assert work.begun == 4, "two results are kept, the last ones"


async def test_a_result_counts_for_its_seconds() -> None:
    shared, work = SingleFlight[str](keep=1, seconds=0.05), Work("age")
    work.may_end.set()
    await shared.get("queue", work.do)
    await shared.get("queue", work.do)
    assert work.begun == 1
    await asyncio.sleep(0.06)
    await shared.get("queue", work.do)
    assert work.begun == 2


async def test_readers_of_an_expired_result_share_one_piece_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, work = SingleFlight[str](keep=1, seconds=60), Work("age")
    work.may_end.set()
    await shared.get("queue", work.do)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert await asyncio.gather(*(shared.get("queue", work.do) for _ in range(10))) == ["age"] * 10
    assert work.begun == 2


async def test_work_that_failed_is_not_kept() -> None:
    shared, work = SingleFlight[str](keep=1), Work("away")
    work.may_end.set()
    with pytest.raises(Unavailable):
        await shared.get("page", work.do)
    work.value = "words"
    assert await shared.get("page", work.do) == "words"


async def test_a_reader_who_gives_up_leaves_the_work_to_the_others() -> None:
    shared, work = SingleFlight[str](), Work("words")
    impatient, patient = (asyncio.create_task(shared.get("page", work.do)) for _ in range(2))
    await work.until_begun(1)
    impatient.cancel()
    work.may_end.set()
    assert await patient == "words"
    assert work.begun == 1
