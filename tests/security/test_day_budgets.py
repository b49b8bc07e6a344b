"""Nobody's processes use up, in one day, more model calls than the installation gives one person, or has for all."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest

from activities.llm.budget import SpendingLimits
from tests.gateway.conftest import GatewayHarness
from tongyao.app.context import AppContext
from tongyao.llm.engine import CallKey, Usage
from tongyao.llm.errors import DayBudgetUsed
from tongyao.records.budgets import DayBudgets
from tongyao.records.model_calls import CallClaim

MANY = 10**15


def day(**limits: int) -> DayBudgets:
    """Budgets that only `limits` make small: other tests of the session use the same ledger."""
    return DayBudgets.model_validate(dict.fromkeys(DayBudgets.model_fields, MANY) | limits)


async def use(context: AppContext, process_id: str, *, tokens: int = 0, cost: str = "0") -> None:
    """A call of this process, as it stands in the ledger when it has failed."""
    key = CallKey(process_id, "observe", round=1, alias=uuid.uuid4().hex)
    attempt = await context.repositories.ledger.claim(key, input_hash="-", engine="test", model="", worker="test")
    assert isinstance(attempt, CallClaim)
    usage = Usage(input_tokens=tokens)
    await context.repositories.ledger.fail(key, attempt, "cut", usage=usage, cost=Decimal(cost))


async def demand(gateway: GatewayHarness, token: str, people: list[str], *, status: int = 201) -> str:
    said = {"intent": "I want to sail.", "participants": people}
    answer = await gateway.ask("POST", "/processes", token, json=said)
    assert answer.status_code == status, answer.text
    return str(answer.json()["id"] if status == 201 else answer.json()["code"])


@pytest.mark.parametrize("used", [{"tokens": 100}, {"cost": "0.50"}])
async def test_who_has_used_up_their_day_starts_nothing_more_and_others_do(
    gateway: GatewayHarness, used: dict[str, int | str]
) -> None:
    scene = await gateway.scene()
    one, other, *people = [await gateway.join(scene) for _ in range(4)]
    named = [person["profile_id"] for person in people]
    few = gateway.also(day_budgets=DayBudgets(cost=MANY, tokens=MANY, person_tokens=100, person_cost=Decimal("0.5")))
    first = await demand(few, one["token"], named)
    await use(few.context, first, **used)  # type: ignore[arg-type]  # reason: one of the two keywords
    assert await demand(few, one["token"], named, status=409) == "day_budget_of_person"
    second = await demand(few, other["token"], named)
    for pid in (first, second):
        await gateway.stack.handle(pid).cancel()


async def test_when_the_installations_day_is_used_up_nobody_starts_anything(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    one, other, *people = [await gateway.join(scene) for _ in range(4)]
    named = [person["profile_id"] for person in people]
    first = await demand(gateway, one["token"], named)
    await use(gateway.context, first, tokens=1)
    few = gateway.also(day_budgets=day(tokens=1))
    assert await demand(few, other["token"], named, status=409) == "day_budget_of_installation"
    await gateway.stack.handle(first).cancel()


async def test_processes_that_run_make_no_call_beyond_the_day_of_whoever_started_them(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    one, *people = [await gateway.join(scene) for _ in range(3)]
    named = [person["profile_id"] for person in people]
    over_the_network = await demand(gateway, one["token"], named)
    on_the_machine = await gateway.stack.start(named, demander=one["profile_id"])
    await use(gateway.context, over_the_network, tokens=100)
    repositories = gateway.context.repositories
    limits = SpendingLimits(repositories.budgets, repositories.ledger, day=day(person_tokens=100))
    with pytest.raises(DayBudgetUsed):
        await limits.check_day(over_the_network)
    await limits.check_day(on_the_machine)
    for pid in (over_the_network, on_the_machine):
        await gateway.stack.handle(pid).cancel()
