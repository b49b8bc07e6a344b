"""A plan that a check complains of is sent back once; then it stands, marked. Without a readable answer it is made of the record."""

from __future__ import annotations

from typing import Any

from tests.support.scripted import Rule
from tests.workflows.conftest import Opened
from tests.workflows.test_repairs import calls_of, played

FIRST = ["R1/P01/1"]


def drafted(text: str, sources: list[str]) -> dict[str, Any]:
    return {"possible": [{"text": text, "sources": sources}]}


async def test_a_plan_with_a_claim_without_a_source_is_replaced_by_its_second_answer(stack: Opened) -> None:
    rules = [
        Rule(step="plan", reask=0, draft=drafted("A ferry runs at noon.", ["R9/P09/9"])),
        Rule(step="plan", reask=1, draft=drafted("P01 repairs tide gauges.", FIRST)),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, engine):
        _, record = await played(here)
    (plan,) = record.plans
    assert [(claim.text, claim.sources) for claim in plan.possible] == [("P01 repairs tide gauges.", tuple(FIRST))]
    assert calls_of(engine, "plan") == [0, 1]
    (again,) = (call for call in engine.received if call.key.step == "plan" and call.key.reask == 1)
    assert "A ferry runs at noon." in again.complaints[0]


async def test_a_plan_that_is_too_long_twice_stands_and_says_its_length(stack: Opened) -> None:
    long = [{"text": f"P01 repairs tide gauges. {'word ' * 900}", "sources": FIRST}] * 2
    async with stack(verdicts=["exhausted"], rules=[Rule(step="plan", draft={"offsets": long})]) as (here, engine):
        _, record = await played(here)
    (plan,) = record.plans
    assert len(plan.offsets) == 2 and not plan.reduced
    assert plan.remarks[0].endswith("at most 1500 were asked for.")
    assert calls_of(engine, "plan") == [0, 1]


async def test_a_plan_that_cannot_be_read_is_made_of_what_stands(stack: Opened) -> None:
    rules = [
        Rule(step="plan", do="unreadable"),
        Rule(step="observe", relate={"P01-P02": "offsetting"}, gaps=[""]),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, _):
        _, record = await played(here)
    (plan,) = record.plans
    assert plan.reduced
    assert {task.assignee for task in plan.tasks} == {"P01", "P02", "P03"}
    assert [claim.sources for claim in plan.offsets] == [("R1/r1",)]
    assert "R1/n1" in [one.id for one in plan.unused], "the open gap"
    assert {delivery.alias for delivery in record.deliveries} == {"P01", "P02", "P03"}
