"""The public interface over a real database: recite, seek, explain, write back, forget."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from crystalline_highway.highway import Highway, NotRecited, UsedSpans
from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import Level
from crystalline_highway.seek.output import SeekResult
from crystalline_highway.settings import MemorySettings
from crystalline_highway.store import Store
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.requests import Material
from tongyao.protocol.model.tension import Tension
from tongyao.runtime.retrievers import HighwayRetriever

Pool = AsyncConnectionPool[Any]

PROFILE = (
    "我在城南管一片果园，种了四十亩梨树。春天剪枝，夏天疏果，秋天采收。\n"
    "果园的账由妹妹管，果园的车由我开。果园的狗叫阿黄。\n"
    "去年学会了用无人机拍树冠，能看出哪几棵缺水。"
)
DIARY = "夜里读天文，攒钱买了一架望远镜。木星有四颗大卫星。果园也在夜里。"
QUESTION = ("T", "果园靠什么挣钱")
EVIDENCE = "我在城南管一片果园，种了四十亩梨树。"


def span(text: str, part: str) -> tuple[int, int, int]:
    return 0, text.index(part), text.index(part) + len(part)


def light(found: SeekResult, text: str) -> float:
    return next(piece.score for piece in found.fitted if piece.text == text)


async def stored(pool: Pool, owner: str) -> Memory:
    memory = await Store(pool).memory(owner, 1)
    assert memory is not None
    return memory


async def test_a_profile_is_recited_level_by_level_and_then_sought(pool: Pool, owner: str) -> None:
    highway = Highway(pool)
    levels: list[Level] = []
    await highway.recite(owner, 1, [PROFILE], levels.append)
    assert levels == [Level.PHRASE, Level.SHORT, Level.LONG, Level.PARAGRAPH]
    found, session = await highway.seek(owner, 1, [PROFILE], [("T", "谁会用无人机")], budget=60)
    assert found.fitted[0].text == "去年学会了用无人机拍树冠，能看出哪几棵缺水。"
    assert highway.explain(session, found.fitted[0]).touches


async def test_what_was_recited_outlives_the_process_that_recited_it(pool: Pool, owner: str) -> None:
    await Highway(pool).recite(owner, 1, [PROFILE])
    found, _ = await Highway(pool).seek(owner, 1, [PROFILE], [QUESTION])
    assert found.long


async def test_an_interrupted_recitation_goes_on_where_it_was(pool: Pool, owner: str) -> None:
    first = await Highway(pool).recite_level(owner, 1, [PROFILE])
    second = await Highway(pool).recite_level(owner, 1, [PROFILE])
    assert (first.level, second.level) == (Level.PHRASE, Level.SHORT)
    rest: list[Level] = []
    await Highway(pool).recite(owner, 1, [PROFILE], rest.append)
    assert rest == [Level.LONG, Level.PARAGRAPH]
    assert (await Highway(pool).recite_level(owner, 1, [PROFILE])).level is None, "nothing is left to do"


async def test_other_texts_under_the_same_version_are_recited_anew(pool: Pool, owner: str) -> None:
    highway = Highway(pool)
    await highway.recite(owner, 1, [PROFILE])
    await highway.recite(owner, 1, [DIARY])
    with pytest.raises(ValueError, match="not the texts that were recited"):
        await highway.seek(owner, 1, [PROFILE], [QUESTION])
    found, _ = await highway.seek(owner, 1, [DIARY], [("T", "望远镜")])
    assert found.paragraphs[0].text == DIARY


async def test_seeking_before_reciting_says_so(pool: Pool, owner: str) -> None:
    with pytest.raises(NotRecited, match="recite it first"):
        await Highway(pool).seek(owner, 1, [PROFILE], [QUESTION])


async def test_a_memory_that_another_build_recited_is_recited_again(pool: Pool, owner: str) -> None:
    await Highway(pool).recite(owner, 1, [PROFILE])
    other = io.BytesIO()
    np.savez(other, sources=np.zeros(1))
    async with pool.connection() as connection:
        await connection.execute(
            "UPDATE highway_memories SET arrays = %s, fingerprint = 'other' WHERE owner = %s", [other.getvalue(), owner]
        )
    with pytest.raises(NotRecited, match="made by another build"):
        await Highway(pool).seek(owner, 1, [PROFILE], [QUESTION])
    await Highway(pool).recite(owner, 1, [PROFILE])
    found, _ = await Highway(pool).seek(owner, 1, [PROFILE], [QUESTION])
    assert found.long


async def test_what_was_used_is_lit_more_the_next_time(pool: Pool, owner: str) -> None:
    highway = Highway(pool)
    await highway.recite(owner, 1, [PROFILE])
    before, _ = await highway.seek(owner, 1, [PROFILE], [QUESTION], budget=500)
    for occasion in ("process-1", "process-2", "process-3"):
        assert await highway.write_back(owner, 1, occasion, [UsedSpans((QUESTION[1],), (span(PROFILE, EVIDENCE),))])
    after, _ = await highway.seek(owner, 1, [PROFILE], [QUESTION], budget=500)
    assert light(after, EVIDENCE) > light(before, EVIDENCE)
    rival = "果园的账由妹妹管，果园的车由我开。"
    assert light(after, EVIDENCE) / light(after, rival) > light(before, EVIDENCE) / light(before, rival)
    other, _ = await highway.seek(owner, 1, [PROFILE], [("T", "谁会用无人机")])
    assert other.long[0].text.startswith("去年学会了"), "where little meets, use says nothing"


async def test_the_same_process_is_written_back_once(pool: Pool, owner: str) -> None:
    highway = Highway(pool)
    await highway.recite(owner, 1, [PROFILE])
    walk = UsedSpans((QUESTION[1],), (span(PROFILE, EVIDENCE),))
    assert await highway.write_back(owner, 1, "process", [walk])
    once, _ = await highway.seek(owner, 1, [PROFILE], [QUESTION])
    assert not await highway.write_back(owner, 1, "process", [walk])
    again, _ = await Highway(pool).seek(owner, 1, [PROFILE], [QUESTION])
    assert once.long == again.long


async def test_direct_paths_are_bounded_and_the_most_walked_stay(pool: Pool, owner: str) -> None:
    async def paths() -> list[tuple[int, int]]:
        async with pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT start, target FROM highway_directs WHERE owner = %s ORDER BY 1, 2", (owner,)
            )
            return [(start, target) for start, target in await cursor.fetchall()]

    often = UsedSpans((QUESTION[1],), (span(PROFILE, EVIDENCE),))
    once = UsedSpans(("谁会用无人机",), (span(PROFILE, "果园的账由妹妹管，果园的车由我开。"),))
    await Highway(pool).recite(owner, 1, [PROFILE])
    for occasion in ("first", "second"):
        await Highway(pool).write_back(owner, 1, occasion, [often])
    walked_often = await paths()
    bounded = Highway(pool, settings=MemorySettings(most_directs=len(walked_often)))
    assert await bounded.write_back(owner, 1, "third", [once])
    assert await paths() == walked_often


async def test_nothing_of_a_tension_is_kept_but_counts_on_the_owners_own_units(
    pool: Pool, owner: str, database_url: str
) -> None:
    highway = Highway(pool)
    await highway.recite(owner, 1, [PROFILE])
    secret = "canary 泄密 四十亩"
    await highway.write_back(owner, 1, "process", [UsedSpans((secret,), (span(PROFILE, EVIDENCE),))])
    async with pool.connection() as connection:
        cursor = await connection.execute("SELECT unit FROM highway_starts WHERE owner = %s", (owner,))
        kept = {row[0] for row in await cursor.fetchall()}
    memory = await stored(pool, owner)
    assert kept
    assert kept <= set(memory.units.keys.tolist())
    assert "canary" not in dump(database_url)
    assert "泄密" not in dump(database_url)


async def test_no_text_of_the_profile_is_kept_either(pool: Pool, owner: str, database_url: str) -> None:
    await Highway(pool).recite(owner, 1, [PROFILE])
    assert not any(part in dump(database_url) for part in ("果园", "梨树", "无人机"))


def dump(database_url: str) -> str:
    """Everything in the Highway's tables, bytes read as UTF-8 wherever they can be."""
    tables = ("memories", "stages", "starts", "targets", "directs", "written", "dictionary")
    with psycopg.connect(database_url) as connection:
        rows = [row for table in tables for row in connection.execute(f"SELECT * FROM highway_{table}").fetchall()]
    parts = (bytes(v).decode("utf-8", "ignore") if isinstance(v, bytes) else str(v) for row in rows for v in row)
    return "".join(parts)


async def test_forgetting_a_source_leaves_nothing_that_only_it_supported(pool: Pool, owner: str) -> None:
    highway = Highway(pool)
    await highway.recite(owner, 1, [PROFILE, DIARY])
    await highway.write_back(owner, 1, "p", [UsedSpans(("望远镜 果园",), ((1, 0, 10), (0, 0, 10)))])
    await highway.forget(owner, 1, source=1, texts=[PROFILE, DIARY])
    found, _ = await highway.seek(owner, 1, [PROFILE], [("T", "望远镜"), ("B1", "果园")])
    assert found.unknown == {"T": 1.0, "B1": 0.0}
    fresh = Highway(pool)
    await fresh.recite(f"{owner} elsewhere", 1, [PROFILE])
    ours, theirs = await stored(pool, owner), await stored(pool, f"{owner} elsewhere")
    assert ours.dump() == theirs.dump(), "as if the source had never been recited"
    async with pool.connection() as connection:
        cursor = await connection.execute("SELECT unit FROM highway_starts WHERE owner = %s", (owner,))
        kept = {row[0] for row in await cursor.fetchall()}
    assert kept
    assert kept <= set(ours.units.keys.tolist())


async def test_a_source_that_is_not_there_cannot_be_forgotten(pool: Pool, owner: str) -> None:
    highway = Highway(pool)
    await highway.recite(owner, 1, [PROFILE])
    with pytest.raises(IndexError, match="the memory has 1"):
        await highway.forget(owner, 1, source=1, texts=[PROFILE, DIARY])


async def test_forgetting_an_owner_removes_every_row(pool: Pool, owner: str) -> None:
    highway = Highway(pool)
    await highway.recite(owner, 1, [PROFILE])
    await highway.recite_level(owner, 2, [DIARY])
    own, over_all = await highway.dictionary(owner, 1)
    await highway.write_back(owner, 1, "p", [UsedSpans((QUESTION[1],), (span(PROFILE, EVIDENCE),))])
    memory = await stored(pool, owner)
    await highway.forget(owner)
    async with pool.connection() as connection:
        for table in ("memories", "stages", "starts", "targets", "directs", "written"):
            cursor = await connection.execute(f"SELECT count(*) FROM highway_{table} WHERE owner = %s", (owner,))
            assert await cursor.fetchone() == (0,)
    with pytest.raises(NotRecited):
        await highway.seek(owner, 1, [PROFILE], [QUESTION])
    left = await highway._store.dictionary(memory.units.keys[: memory.base])
    assert (left == over_all - own).all(), "the dictionary over all owners no longer counts it"


async def test_the_dictionary_counts_over_all_owners(pool: Pool, owner: str) -> None:
    highway = Highway(pool)
    await highway.recite(f"{owner} a", 1, ["齉齉爩"])
    await highway.recite(f"{owner} b", 1, ["齉龘"])
    own, over_all = await highway.dictionary(f"{owner} a", 1)
    assert sorted(zip(own.tolist(), over_all.tolist(), strict=True)) == [(1, 1), (2, 3)]


async def test_the_cache_keeps_to_its_bound(pool: Pool, owner: str) -> None:
    highway = Highway(pool, cache_bytes=1)
    for version in (1, 2):
        await highway.recite(owner, version, [PROFILE])
        await highway.seek(owner, version, [PROFILE], [QUESTION])
    assert list(highway._cache) == [(owner, 2)]


async def test_strengths_count_towards_the_bound_of_the_cache(
    pool: Pool, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[int] = []
    load = Memory.load

    def loaded(data: bytes) -> Memory:
        loads.append(len(data))
        return load(data)

    monkeypatch.setattr(Memory, "load", loaded)
    for version in (1, 2):
        await Highway(pool).recite(owner, version, [PROFILE])
    await Highway(pool).write_back(owner, 1, "process", [UsedSpans((QUESTION[1],), (span(PROFILE, EVIDENCE),))])
    memory = await stored(pool, owner)

    async def seek_in_both_twice(highway: Highway) -> int:
        loads.clear()
        for version in (1, 2, 1, 2):
            await highway.seek(owner, version, [PROFILE], [QUESTION])
        return len(loads)

    assert await seek_in_both_twice(Highway(pool, cache_bytes=10 * memory.nbytes())) == 2
    assert await seek_in_both_twice(Highway(pool, cache_bytes=2 * memory.nbytes())) == 4


async def test_the_retriever_shows_what_is_found_within_the_budget_in_text_order(pool: Pool, owner: str) -> None:
    tension = Tension(transition="谁会用无人机", initial_state="有狗", barriers=("没有账",), exchange="梨树")
    retriever = HighwayRetriever(highway := Highway(pool), budget_chars=60)
    shown = (await retriever.retrieve(ProfileRef(profile_id=owner, version=3), PROFILE, tension)).pieces
    assert shown
    assert sum(len(piece.text) for piece in shown) <= 60
    assert all(set(piece.labels) <= {"T", "I", "B1", "E"} for piece in shown)
    found, _ = await highway.seek(owner, 3, [PROFILE], list(tension.targets().items()), 60)
    brightest = found.fitted[0]
    assert "无人机" in brightest.text or "狗" in brightest.text
    assert [piece.start for piece in shown] == sorted(piece.start for piece in found.fitted)
    assert (await highway.seek(owner, 3, [PROFILE], [], 60))[0].fitted == ()


async def test_an_index_is_packed_and_unpacked_beside_the_event_loop(
    pool: Pool, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    dump, load = Memory.dump, Memory.load

    def dumped(memory: Memory) -> bytes:
        threads.append(threading.current_thread())
        return dump(memory)

    def loaded(data: bytes) -> Memory:
        threads.append(threading.current_thread())
        return load(data)

    monkeypatch.setattr(Memory, "dump", dumped)
    monkeypatch.setattr(Memory, "load", loaded)
    highway = Highway(pool)
    await highway.recite(owner, 1, [PROFILE])
    await highway.seek(owner, 1, [PROFILE], [QUESTION])
    assert len(threads) == 2
    assert threading.main_thread() not in threads


async def test_searches_at_once_index_a_profile_once_and_one_after_a_failure_tries_again(
    pool: Pool, owner: str
) -> None:
    recited: list[str] = []
    missed, all_missed = [0], asyncio.Event()

    class Fails(Highway):
        """The first recitation fails, and each begins when three searches have found nothing recited."""

        async def seek(self, *what: Any) -> Any:
            try:
                return await super().seek(*what)
            except NotRecited:
                missed[0] += 1
                if missed[0] % 3 == 0:
                    all_missed.set()
                raise

        async def recite(self, owner: str, version: int, texts: Sequence[str], *rest: Any, **named: Any) -> None:
            recited.append(owner)
            await all_missed.wait()
            all_missed.clear()
            if len(recited) == 1:
                raise ConnectionError
            await super().recite(owner, version, texts, *rest, **named)

    retriever, profile = HighwayRetriever(Fails(pool)), ProfileRef(profile_id=owner, version=1)

    async def at_once() -> list[type]:
        searches = (retriever.retrieve(profile, PROFILE, Tension(transition="谁会用无人机")) for _ in range(3))
        return [type(found) for found in await asyncio.gather(*searches, return_exceptions=True)]

    assert await at_once() == [ConnectionError] * 3
    assert await at_once() == [Material] * 3
    assert len(recited) == 2
