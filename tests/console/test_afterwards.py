"""What the demander of a process that has ended is shown as theirs to do: their steps, what stayed open, what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.console.room import Ferry, ferry
from tests.console.test_plan import ended
from tests.support.scripted import Rule
from tests.support.until import until
from tongyao.gateway.console.pages import environment
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.read_access import PartyView

DECIDES = {"id": "t9", "title": "Say which sailing is meant", "assignee": DEMANDER, "sources": ["T/B1"]}


@pytest.fixture
async def house(console: Console) -> AsyncIterator[Ferry]:
    found = await ferry(console.harness)
    yield found
    for row in await found.stack.repositories.lineage.children(found.pid):
        await found.stack.say(row.id, "cancel")


async def answered(house: Ferry, *, declines: str) -> str:
    """A process that has ended after the human committed and `declines` did not."""
    await house.start(residuals="ask")
    await house.until_answering()
    await house.stack.say(house.pid, "answer_plan", alias=declines, revision=1, answer="decline")
    await house.stack.say(house.pid, "answer_plan", alias=house.human, revision=1, answer="commit")
    await house.stack.say(house.pid, "conclude")
    await house.stack.end(house.pid)
    return house.pid


async def test_after_the_end_what_somebody_declined_goes_back_to_the_field_from_the_page(
    console: Console, house: Ferry
) -> None:
    pid = await answered(house, declines="P04")
    lineage = house.stack.repositories.lineage
    async with console.visitor(house.tokens[DEMANDER], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{pid}")
        now = page.locator("#now")
        assert await now.get_by_role("heading", name="What you can do now").is_visible()
        assert "There is no deadline" in await now.inner_text()
        await looks_right(page)
        await page.goto(f"{console.url}/console/processes/{pid}/plan")
        declined = page.locator("#declined")
        assert "What P04 was to give" in await declined.inner_text()
        await looks_right(page)
        await declined.get_by_role("button", name="Look for other people for this").click()
        await declined.get_by_role("link", name="People are already being looked for").wait_for()
        assert [row.id for row in await lineage.children(pid)] == [f"{pid}.1-P04"]
        assert not await declined.get_by_role("button").count()


async def test_the_page_after_looking_for_other_people_leads_to_their_process(
    console: Console, house: Ferry, database_url: str
) -> None:
    """The new process is held back until the answer to the button is decided: the page waits for its row."""
    console.harness.engine.script.residuals = 1
    await house.start(residuals="ask")
    await house.until_answering()
    await house.stack.asked(house.pid, DEMANDER, 1, what="residual")
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'processes'::regclass"
    decided = (
        "SELECT count(*) FROM messages WHERE process_id = %s AND kind = 'approve_residual' AND verdict IS NOT NULL"
    )
    async with (
        console.visitor(house.tokens[DEMANDER], viewport=PHONE) as page,
        await psycopg.AsyncConnection.connect(database_url, autocommit=True) as looking,
        await psycopg.AsyncConnection.connect(database_url) as holding,
    ):
        await page.goto(f"{console.url}/console/processes/{house.pid}/plan")
        lacking = page.locator("#open")
        await holding.execute("LOCK TABLE processes IN SHARE MODE")
        button = lacking.get_by_role("button", name="Look for other people for this")
        answered = asyncio.ensure_future(
            page.wait_for_event("response", lambda response: response.request.method == "POST")
        )
        pressing = asyncio.create_task(button.click())

        async def held() -> bool:
            rows = [await (await looking.execute(*one)).fetchone() for one in ((waiting,), (decided, [house.pid]))]
            return all(row and row[0] for row in rows)

        await until(held)
        early, _ = await asyncio.wait({answered}, timeout=2)
        assert not early, "the page is shown before the process that it should lead to"
        await holding.rollback()
        await asyncio.gather(pressing, answered)
        await lacking.get_by_role("link", name="People are already being looked for").wait_for()
    console.harness.engine.script.residuals = 0
    await house.stack.say(house.pid, "conclude")


async def test_a_plan_made_anew_leads_to_the_process_that_took_up_the_same_point_before(
    console: Console, house: Ferry
) -> None:
    script = console.harness.engine.script
    script.residuals = 1
    await house.start(residuals="ask")
    await house.until_answering()
    async with console.visitor(house.tokens[DEMANDER], viewport=PHONE) as page:
        at = f"{console.url}/console/processes/{house.pid}/plan"
        await house.stack.asked(house.pid, DEMANDER, 1, what="residual")
        await page.goto(at)
        lacking = page.locator("#open")
        await lacking.get_by_role("button", name="Look for other people for this").first.click()
        link = lacking.get_by_role("link", name="People are already being looked for")
        await link.wait_for()
        child = await link.get_attribute("href")

        async def child_is_formulated() -> bool:
            return len(await house.stack.repositories.lineage.tensions(house.pid)) == 2

        await until(child_is_formulated)
        said = {"kind": "answer_plan", "revision": 1, "answer": "propose", "text": "Not on Sundays."}
        messages = f"/processes/{house.pid}/messages"
        sent = await console.harness.ask("POST", messages, house.tokens[house.human], json=said)
        assert sent.status_code == 200, sent.text
        assert (await house.stack.say(house.pid, "replan", proposals=[house.human])).accepted
        await house.stack.asked(house.pid, house.human, 2, what="answer")
        script.residuals = 0
        await page.goto(at)
        await page.get_by_text("Plan, version 2").wait_for()
        assert await link.get_attribute("href") == child
        assert await lacking.get_by_role("button").count() == await lacking.locator("form").count()
    await house.stack.say(house.pid, "conclude")


@pytest.mark.parametrize(
    ("language", "question", "until_when", "came_out"),
    [
        ("en", "Start a process for the open point?", "The plan can be answered until", "look for people for points"),
        ("zh", "要为这一处再找人吗？", "方案可以答复到", "没有解决的几处，另开"),
    ],
)
async def test_the_page_of_a_process_says_what_it_asks_and_names_the_processes_that_came_out_of_it(
    console: Console, house: Ferry, language: str, question: str, until_when: str, came_out: str
) -> None:
    script = console.harness.engine.script
    script.residuals = 1
    await house.start(residuals="ask")
    await house.until_answering()
    await house.stack.asked(house.pid, DEMANDER, 1, what="residual")
    script.residuals = 0
    plan = (await house.stack.repositories.record(house.pid)).plans[-1]
    at = f"{console.url}/console/processes/{house.pid}"
    async with console.visitor(house.tokens[DEMANDER], viewport=PHONE, language=language) as page:
        await page.goto(at)
        header = await page.locator("main > header").inner_text()
        assert question in header and plan.residuals[0].title in header and until_when in header
        assert not await page.locator("#children").count()
        await looks_right(page)
        assert (
            await house.stack.say(house.pid, "approve_residual", residual=plan.residuals[0].id, approve=True)
        ).accepted

        async def child_is_there() -> bool:
            return bool(await house.stack.repositories.lineage.children(house.pid))

        await until(child_is_there)
        [child] = await house.stack.repositories.lineage.children(house.pid)
        await page.goto(at)
        assert came_out in await page.locator("#children h2").inner_text()
        await looks_right(page)
        await page.locator("#children a").click()
        await page.wait_for_url(f"**/processes/{child.id}")
    async with console.visitor(house.tokens[house.human]) as page:
        await page.goto(at)
        assert not await page.locator("#children").count(), "nobody else is told what was taken up"
    await house.stack.say(house.pid, "conclude")


@pytest.mark.parametrize("script", [True, False])
async def test_the_demander_reads_which_steps_are_theirs_and_says_what_came_of_the_plan(
    console: Console, script: bool
) -> None:
    rule = Rule(step="plan", draft={"possible": [], "tasks": [DECIDES]})
    console.harness.engine.script.rules.append(rule)
    pid, demander, _ = await ended(console)
    console.harness.engine.script.rules.remove(rule)
    async with console.visitor(demander, viewport=PHONE, java_script_enabled=script) as page:
        await page.goto(f"{console.url}/console/processes/{pid}")
        await page.locator("#now").get_by_role("link", name="Step 1 of the plan is for you").click()
        await page.wait_for_url("**/plan#roles")
        now = await page.locator("#now").inner_text()
        assert "Say which sailing is meant" in now
        assert "Nobody was asked about this plan: it has no part for anybody, or a proxy spoke for everybody" in now
        assert not await page.locator("#tell").count(), "nobody would read it"
        came = page.locator("#came")
        await came.get_by_label("What you asked for").select_option("partly")
        await came.get_by_label("In your words").fill("It is the Thursday sailing.")
        await came.get_by_role("button", name="Save").click()
        await page.get_by_role("status").filter(has_text="Noted.").wait_for()
        assert await came.get_by_label("In your words").input_value() == "It is the Thursday sailing."
    [row] = await console.harness.stack.repositories.feedback.of_process(pid)
    assert (row.alias, row.outcome) == (DEMANDER, "partly")


async def test_where_nothing_can_go_back_to_the_field_the_page_says_why(console: Console) -> None:
    engine = console.harness.engine
    engine.script.residuals = 1
    pid, demander, participant = await ended(console, depth_limit=0)
    engine.script.residuals = 0
    async with console.visitor(demander, language="zh") as page:
        await page.goto(f"{console.url}/console/processes/{pid}/plan")
        assert "开始时没有允许再往下" in await page.locator("#now").inner_text()
        assert not await page.get_by_role("button", name="为这一点再去找人").count()
        await looks_right(page)
    async with console.visitor(participant) as page:
        await page.goto(f"{console.url}/console/processes/{pid}/plan")
        assert not await page.locator("#now, #came, #declined").count(), "these are the demander's"


@pytest.mark.parametrize("script", [True, False])
async def test_who_commits_says_how_to_be_reached_and_reads_what_whoever_asked_decided(
    console: Console, house: Ferry, script: bool
) -> None:
    rule = Rule(step="plan", draft={"tasks": [DECIDES]})
    console.harness.engine.script.rules.append(rule)
    await house.start(residuals="off")
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    console.harness.engine.script.rules.remove(rule)
    plan = f"{console.url}/console/processes/{house.pid}"
    async with console.visitor(house.tokens[DEMANDER], viewport=PHONE, java_script_enabled=script) as page:
        await page.goto(f"{plan}/plan#tell")
        tell = page.locator("#tell")
        assert "Nobody has committed so far." in await tell.inner_text()
        assert "Say which sailing is meant" in await tell.inner_text()
        assert "The plan can be answered until" in await page.locator("#answers").inner_text()
        await tell.get_by_label("What you decided").fill("The Thursday sailing. Ring 0123.")
        await tell.get_by_role("button", name="Save it for them").click()
        await page.get_by_role("status").filter(has_text="Saved.").wait_for()
        if script:
            await looks_right(page)
    async with console.visitor(house.tokens[house.human], viewport=PHONE, java_script_enabled=script) as page:
        await page.goto(f"{plan}/delivery")
        assert "Ring 0123." not in await page.content(), "they have not committed"
        await page.get_by_label("How to reach you").fill("At the pier office.")
        if script:
            await looks_right(page)
        await page.get_by_role("button", name="I commit to this part").click()
        await page.wait_for_url("**/delivery?done=commit")
        await house.stack.end(house.pid)
        await page.reload()
        known = await page.locator("section:has(#who-h)").inner_text()
        assert "The Thursday sailing. Ring 0123." in known
        assert "Nobody else can commit any more." in await page.locator("#next").inner_text()
        if script:
            await looks_right(page)
    async with console.visitor(house.tokens[DEMANDER], language="zh", java_script_enabled=script) as page:
        await page.goto(f"{plan}/plan")
        assert "At the pier office." in await page.locator("#tell").inner_text()
        assert "接下的那一个人读得到" in await page.locator("#now").inner_text()


def test_what_a_demander_without_a_name_tells_is_shown_to_those_who_committed() -> None:
    view = PartyView(
        id="c-1", phase=Phase.COMPLETED, round=2, you="P02",
        identities={"P02": "Ilse"}, contacts={"P00": "Ring the school before noon."},
    )  # fmt: skip
    page = "{% import 'parts/afterwards.html' as after with context %}{{ after.people_known() }}"
    shown = environment().from_string(page).render(view=view, language="en", t=lambda key, **_: f"[{key}]")
    assert "[delivery.demander]</dt><dd><span" in shown
    assert "Ring the school before noon." in shown
