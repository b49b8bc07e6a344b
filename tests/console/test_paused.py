"""What whoever asked reads while their process is held by something that only an operator can mend."""

from __future__ import annotations

import uuid

from tests.console.room import ferry
from tests.gateway.conftest import GatewayHarness, gateway
from tests.support.scripted import Rule
from tests.support.until import until

__all__ = ["gateway"]


async def test_the_demander_of_a_held_process_reads_who_mends_it_and_never_that_it_goes_on(
    gateway: GatewayHarness,
) -> None:
    house, engine, flag = await ferry(gateway), gateway.engine, uuid.uuid4().hex
    rule = Rule(step="formulate", do="operator_needed", until=flag, message="the account is empty")
    engine.script.rules.append(rule)
    await house.start()
    await house.stack.until_suspended(house.pid)
    at = f"/processes/{house.pid}"
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        assert "you asked · paused" in (await visitor.get("/")).main.text
        page = await visitor.get(at)
        assert "This process is paused: a step cannot be done until an operator" in page.main.text
        page = await visitor.submit("Try the step again")
        assert "?message=" in page.place

        async def held_again() -> bool:
            return "This process is paused" in (await visitor.again()).main.text

        await until(held_again)
        assert "The process continues." not in visitor.page.main.text
        engine.mend(flag)
        await visitor.get(at)
        await visitor.submit("Try the step again")
    engine.script.rules.remove(rule)
    await house.stack.asked(house.pid, house.human, 1)
    await house.stack.say(house.pid, "cancel")
