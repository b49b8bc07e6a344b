"""The Highway in a process: recited on registration, sought for each tension, strengthened by what was used."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from temporalio.client import Client

from crystalline_highway.highway import Highway
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tongyao.protocol.contracts.maintenance import RecitationInput
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.requests import EndpointRequest

LONG = (Path(__file__).parents[2] / "examples" / "extra" / "long.zh.md").read_text(encoding="utf-8").strip()
SHORT = "我在镇上修钟表。我可以教两个人认零件。冬天我不出门。我想学做木工。"


@pytest.mark.parametrize("retriever", ["highway", "both"])
async def test_a_long_profile_is_recited_sought_and_strengthened(
    temporal: Client, database_url: str, retriever: Literal["highway", "both"]
) -> None:
    engine = ScriptedEngine(Script(verdicts=[Verdict.EXHAUSTED], quote_chars=12))
    async with open_stack(temporal, database_url, engine, long_profiles=retriever) as here:
        long, short = await here.people({"chang": LONG, "duan": SHORT})
        recited = RecitationInput(profile_id=long, version=1).workflow_id
        await here.handle(recited).result()
        pid = await here.start([long, short], intent=LONG[400:700], auto_confirm=True)
        record = await here.end(pid)
        again = await Highway(here.repositories.pool).write_back(long, 1, pid, [])

    alias = next(one.alias for one in record.participants if one.profile and one.profile.profile_id == long)
    asked = [one.request for one in engine.received if one.key.step == "project" and one.key.alias == alias]
    assert asked and all(isinstance(request, EndpointRequest) for request in asked)
    for request in asked:
        assert isinstance(request, EndpointRequest)
        material = request.material
        assert material.total_chars == len(LONG)
        assert 0 < material.shown_chars <= 15_000
    assert again is False, "what this process used has been written back, once"
    assert record.phase is Phase.COMPLETED
    quoted = [quote for one in record.projections if one.alias == alias for item in one.items for quote in item.quotes]
    assert quoted, "evidence from a retrieved piece stands in the whole profile"
