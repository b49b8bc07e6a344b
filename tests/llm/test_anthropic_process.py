"""Whole processes through the Messages API: real engine, real HTTP, real Temporal, real records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from temporalio.client import Client

from tests.support.messages_api.fixtures import Engines, Serve
from tests.support.messages_api.responder import Responder
from tests.support.stack import open_stack
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.record import Record
from tongyao.protocol.rules.standing import not_examined, rounds_of, standing

INTENT = (
    "我想让山上九个村的老人按时拿到药。现在一周只有一趟车，雨季还会断。"
    "试过让邻居捎，两次都送错了人。我们卫生站能出一间带锁的屋子，白天有人。"
)
PEOPLE = {
    "driver": "我开东坡的校车九年了。早上五点四十空车上到柳尾。七点零五孩子们才跟我下来。车上有孩子的时候我不带货。"
    "雨季三号桥一断我就停。我认得沿路每一家的门。",
    "keeper": "我替二十六户人家收着门钥匙。没人起床的钟点也能把东西放进去。我不在本子上点数。"
    "上一回就是断在一张表上。我只走西坡。冬天我去儿子家住两个月。",
    "signal": "我在铁路上当了二十年信号工。灯不灭就是没有人按。我做过一块七格的提示板。"
    "板子用纽扣电池，能亮一年。我不爬梯子了。我可以教年轻人装。",
}
HOLLOW = frozenset[str]()


def in_prose(request: Mapping[str, Any]) -> str:
    return f"好的，我先想一想 {{需要 JSON}}。\n\n```json\n{Responder()(request)}\n```\n\n以上就是 {{全部}}。"


def bent(request: Mapping[str, Any]) -> str:
    """The right answer in other words: closed words of the seeds, bracketed ids, texts where lists belong, nulls."""
    answer = json.loads(Responder()(request))
    for relation in answer.get("relations", []):
        relation["kind"] = {"complementary": "互补", "aligned": "Aligned"}.get(relation["kind"], "offset")
        relation["sources"] = ", ".join(f"[{source}]" for source in relation["sources"])
    for item in answer.get("items", []):
        item |= {"about": item["about"][0], "kind": item["kind"].title(), "score": 5}
    if "verdict" in answer:
        answer["verdict"] = {"more": "CONTINUE", "exhausted": "CONVERGED"}[answer["verdict"]]
    return json.dumps({"answer": answer}, ensure_ascii=False)


def holds(record: Record) -> None:
    """What every process that ran through has to show."""
    assert record.phase is Phase.COMPLETED
    assert record.language == "zh"
    assert {said.alias for said in record.projections if said.items} == {"P01", "P02", "P03"}
    assert all(item.quotes for said in record.projections for item in said.items)
    for seen in record.observations:
        assert seen.relations or seen.round > 1
    (plan,) = record.plans
    assert not not_examined(standing(rounds_of(record.projections, record.observations)), ["P01", "P02", "P03"])
    assert not plan.reduced
    assert plan.claims()
    assert all(claim.supported for claim in plan.claims())
    assert {delivery.alias for delivery in record.deliveries} == {"P01", "P02", "P03"}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="a service that knows everything"),
        pytest.param({"respond": in_prose, "knows": HOLLOW, "thoughts": "Hm. {"}, id="no schemas, thoughts, prose"),
        pytest.param({"respond": bent, "knows": HOLLOW, "vague": True}, id="says not what it refuses, bends words"),
    ],
)
async def test_a_process_runs_through(
    temporal: Client, database_url: str, serve: Serve, engine_at: Engines, options: dict[str, Any]
) -> None:
    server = serve(**options)
    async with open_stack(temporal, database_url, engine_at(server)) as stack:
        people = await stack.people(PEOPLE)
        process = await stack.start(people, intent=INTENT, auto_confirm=True)
        record = await stack.end(process)
        calls = await stack.repositories.ledger.calls(process)

    holds(record)
    assert {call.step for call in calls} == {"formulate", "project", "observe", "plan", "deliver"}
    assert all(call.state == "settled" for call in calls)
    assert not [call for call in calls if call.reask]
    refused = [served for served in server.served if served.status == 400]
    assert len(refused) <= 2 * len({served.request["model"] for served in server.served}) + 3, "learnt, and remembered"
