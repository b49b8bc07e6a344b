"""The stored index: the same people found as in memory, fresh at once, forgotten whole, made anew beside the live one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from psycopg.rows import dict_row
from temporalio.client import Client
from temporalio.worker import Worker

from activities.maintain import Reindexing
from tests.support.scan import find_in_database
from tongyao.field.index.indexer import Indexer
from tongyao.field.intent_field import IntentField
from tongyao.protocol.contracts.maintenance import REINDEX_PROGRESS, ModelSpec, ReindexInput, ReindexProgress
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import Pool, open_pool
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes
from workflows.maintenance import Reindex

PEOPLE = {
    "baker": "技能：天然酵母面包、开烤箱、揉面\n在找：想学做网页的人教我",
    "coder": "技能：前端网页开发、小程序\n兴趣：想让老人也能用上网页",
    "diver": "技能：潜水救援、水下摄影\n限制：冬天不下水",
    "farmer": "我种茶，做有机土壤。希望把茶园变成孩子的自然课堂。不接待旅游团。",
    "luthier": "技能：修小提琴、做琴弓\n兴趣：老木头和声音",
    "nurse": "技能：急诊护理、伤口处理\n在找：愿意陪老人说话的人",
}
TENSION = Tension(transition="让老人用上网页", barriers=("没有人会前端网页开发",), exchange="教做面包", language="zh")


@pytest.fixture
async def pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url)
    profiles = Profiles(pool)
    await Scenes(pool).put("s", "A scene")
    for id, text in PEOPLE.items():
        await save(profiles, id, text)
    yield pool
    await pool.close()


async def save(profiles: Profiles, id: str, text: str) -> None:
    await profiles.save(id, scene_id="s", display_name=id, text=text, grade="B", language="zh")


async def index_all(indexer: Indexer, *, kind: str = "lexical", refit: bool = False) -> int:
    index = await indexer.begin("s", kind, refit=refit)
    while await indexer.fill(index, most=2):
        pass
    await indexer.finish(index)
    return index.id


async def ids(field: IntentField, need: str, *, top: int = 3) -> list[str]:
    [found] = await field.relevant([need], scene="s", top=top)
    return [one.profile_id for one in found]


async def test_the_index_finds_whom_memory_finds_with_the_same_reasons(pool: Pool) -> None:
    needs = ["谁会做前端网页", "想找人做酵母面包", "水下拍摄要有人救援"]
    held = IntentField(pool)
    before = await held.relevant(needs, scene="s", top=1)
    lists = await held.perspectives(TENSION, scene="s", top=3)
    await index_all(held.indexer)
    after = await IntentField(pool).relevant(needs, scene="s", top=1)
    assert [one.profile_id for [one] in after] == [one.profile_id for [one] in before]
    for [one], [other] in zip(before, after, strict=True):
        assert {**one.reasons[0], "score": 0} == {**other.reasons[0], "score": 0}
    stored = await IntentField(pool).perspectives(TENSION, scene="s", top=3)
    assert stored["complement"][0].profile_id == lists["complement"][0].profile_id == "coder"


async def test_whoever_is_near_has_the_score_that_memory_gives_them(pool: Pool) -> None:
    needs = ["谁会做前端网页", "想找人做酵母面包", "水下拍摄要有人救援，也要会护理"]
    held = IntentField(pool)
    before = await held.relevant(needs, scene="s", top=len(PEOPLE))
    await index_all(held.indexer)
    after = await IntentField(pool).relevant(needs, scene="s", top=len(PEOPLE))
    for in_memory, found in zip(before, after, strict=True):
        scores = {one.profile_id: one.score for one in in_memory}
        # vectors are stored as halves
        assert {one.profile_id: one.score for one in found} == pytest.approx(scores, abs=0.02)


async def test_who_comes_changes_or_leaves_is_found_or_forgotten_by_the_next_search(pool: Pool) -> None:
    field = IntentField(pool)
    profiles = Profiles(pool)
    await index_all(field.indexer)
    assert (await ids(field, "谁会做前端网页"))[0] == "coder"
    await save(profiles, "welder", "技能：氩弧焊焊接、前端网页焊接演示")
    assert "welder" in await ids(field, "氩弧焊焊接", top=10)
    await save(profiles, "coder", "技能：养蜂、割蜜")
    assert "coder" in (await ids(field, "养蜂割蜜"))[:2]
    await profiles.delete("welder")
    assert "welder" not in await ids(field, "氩弧焊焊接", top=10)


async def test_a_deletion_leaves_nothing_in_any_table_of_the_field(pool: Pool, fresh_database_url: str) -> None:
    field = IntentField(pool)
    await index_all(field.indexer)
    await save(Profiles(pool), "diver", "技能：深潜")  # waits in field_changes
    assert any(place.startswith("field_") for place in find_in_database(fresh_database_url, "diver"))
    await Profiles(pool).delete("diver")
    assert not [place for place in find_in_database(fresh_database_url, "diver") if place.startswith("field_")]


async def test_nobody_left_out_is_found_and_the_others_fill_their_place(pool: Pool) -> None:
    field = IntentField(pool)
    await index_all(field.indexer)
    rows = await field.discover(TENSION, scene="s", limit=3, excluded=["coder"])
    assert rows
    assert "coder" not in {row.profile_id for row in rows}


async def test_an_index_is_made_beside_the_live_one_and_replaces_it(pool: Pool) -> None:
    indexer = Indexer(pool)
    first = await index_all(indexer)
    begun = await indexer.begin("s", "lexical", refit=True)
    assert begun.id != first
    assert {(index.id, index.state) for index in await indexer.store.indexes("s")} == {
        (first, "live"), (begun.id, "filling")
    }  # fmt: skip
    await indexer.fill(begun, most=2)
    again = await Indexer(pool).begin("s", "lexical")  # another worker, after a crash
    assert again.id == begun.id
    assert await index_all(Indexer(pool)) == begun.id
    [index] = await indexer.store.indexes("s")
    assert (index.id, index.state, await indexer.store.counts(index)) == (begun.id, "live", (6, 6))
    async with pool.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute("SELECT to_regclass(%s) AS there", [f"field_chunks_{first}"])
        row = await cursor.fetchone()
    assert row is not None and row["there"] is None, "the old partition is dropped"


async def test_the_workflow_fills_with_progress_and_goes_on_after_a_failure(pool: Pool, temporal: Client) -> None:
    class Shaky(Indexer):
        calls = 0

        async def fill_some(self, index: int, *, most: int) -> ReindexProgress:
            Shaky.calls += 1
            if Shaky.calls == 2:
                raise ConnectionError("the database is away")
            return await super().fill_some(index, most=4)

    steps = Reindexing(Shaky(pool))
    what = ReindexInput(scene="s", per_second=1000)
    async with Worker(
        temporal, task_queue="test-reindex", workflows=[Reindex],
        activities=[steps.open_index, steps.fill_index, steps.switch_index],
    ):  # fmt: skip
        handle = await temporal.start_workflow(Reindex.run, what, id=what.workflow_id, task_queue="test-reindex")
        done = await handle.result()
        asked = await handle.query(REINDEX_PROGRESS, result_type=ReindexProgress)
    assert (done.held, done.people, done.live, asked) == (6, 6, True, done)
    assert (await ids(IntentField(pool), "谁会做前端网页"))[0] == "coder"


async def test_a_search_goes_on_without_a_model_that_cannot_be_loaded(pool: Pool) -> None:
    from tongyao.field.encoders.encoder import EncoderUnusable
    from tongyao.field.encoders.lexical import LexicalEncoder

    spec = ModelSpec(model="somewhere/else")
    indexer = Indexer(pool, load=lambda spec: LexicalEncoder.fit(list(PEOPLE.values())), model=spec)
    await index_all(indexer, kind="model")

    def gone(spec: ModelSpec) -> LexicalEncoder:
        raise EncoderUnusable("no weights")

    assert (await ids(IntentField(pool, load=gone), "谁会做前端网页"))[0] == "coder"


async def test_searches_at_once_take_in_a_change_once(pool: Pool) -> None:
    fields = [IntentField(pool) for _ in range(3)]
    await index_all(fields[0].indexer)
    await save(Profiles(pool), "welder", "技能：氩弧焊焊接")
    answers = await asyncio.gather(*(ids(field, "氩弧焊焊接", top=10) for field in fields))
    assert all("welder" in answer for answer in answers)
