"""What whoever asked reads while their process is held by something that only an operator can mend."""

from __future__ import annotations

import uuid

from tests.console.conftest import PHONE, Console
from tests.console.room import ferry
from tests.support.scripted import Rule
from tests.support.until import until


async def test_the_demander_of_a_held_process_reads_who_mends_it_and_never_that_it_goes_on(console: Console) -> None:
    house, engine, flag = await ferry(console.harness), console.harness.engine, uuid.uuid4().hex
    rule = Rule(step="formulate", do="operator_needed", until=flag, message="the account is empty")
    engine.script.rules.append(rule)
    await house.start()
    await house.stack.until_suspended(house.pid)
    at = f"{console.url}/console/processes/{house.pid}"
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.get_by_text("you asked · paused").wait_for()
        await page.goto(at)
        await page.get_by_text("This process is paused: a step cannot be done until an operator").wait_for()
        await page.get_by_role("button", name="Try the step again").click()
        await page.wait_for_url("**?message=*")

        async def held_again() -> bool:
            await page.reload()
            return await page.get_by_text("This process is paused").count() > 0

        await until(held_again)
        assert not await page.get_by_text("The process continues.").count()
        engine.mend(flag)
        await page.goto(at)
        await page.get_by_role("button", name="Try the step again").click()
    engine.script.rules.remove(rule)
    await house.stack.asked(house.pid, house.human, 1)
    await house.stack.say(house.pid, "cancel")
