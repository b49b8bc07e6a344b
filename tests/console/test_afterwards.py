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
from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import Rule
from tests.support.until import until
from tongyao.gateway.console.pages import environment
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.read_access import PartyView

DECIDES = {"id": "t9", "title": "Say which sailing is meant", "assignee": DEMANDER, "sources": ["T/B1"]}
LOOK = "Look for other people for this"
LOOKED_FOR = "People are already being looked for"


@pytest.fixture
async def house(gateway: GatewayHarness) -> AsyncIterator[Ferry]:
    found = await ferry(gateway)
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
    gateway: GatewayHarness, house: Ferry
) -> None:
    pid = await answered(house, declines="P04")
    lineage = house.stack.repositories.lineage
    async with gateway.visitor(house.tokens[DEMANDER]) as visitor:
        now = (await visitor.get(f"/processes/{pid}")).one("#now")
        assert now.one("h2").text == "What you can do now"
        assert "There is no deadline" in now.text
        page = await visitor.get(f"/processes/{pid}/plan")
        assert "What P04 was to give" in page.one("#declined").text
        page = await visitor.submit(LOOK, within="#declined")
        [child] = await lineage.children(pid)
        assert child.id == f"{pid}.1-P04"
        declined = page.one("#declined")
        assert declined.one("a", LOOKED_FOR).attributes["href"].endswith(f"/processes/{child.id}")
        assert not declined.all("button")


async def test_the_page_after_looking_for_other_people_leads_to_their_process(
    gateway: GatewayHarness, house: Ferry, database_url: str
) -> None:
    """The new process is held back until the answer to the button is decided: the page waits for its row."""
    gateway.engine.script.residuals = 1
    await house.start(residuals="ask")
    await house.until_answering()
    await house.stack.asked(house.pid, DEMANDER, 1, what="residual")
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'processes'::regclass"
    decided = (
        "SELECT count(*) FROM messages WHERE process_id = %s AND kind = 'approve_residual' AND verdict IS NOT NULL"
    )
    async with (
        gateway.visitor(house.tokens[DEMANDER]) as visitor,
        await psycopg.AsyncConnection.connect(database_url, autocommit=True) as looking,
        await psycopg.AsyncConnection.connect(database_url) as holding,
    ):
        await visitor.get(f"/processes/{house.pid}/plan")
        await holding.execute("LOCK TABLE processes IN SHARE MODE")
        pressing = asyncio.create_task(visitor.submit(LOOK, within="#open"))

        async def held() -> bool:
            rows = [await (await looking.execute(*one)).fetchone() for one in ((waiting,), (decided, [house.pid]))]
            return all(row and row[0] for row in rows)

        await until(held)
        early, _ = await asyncio.wait({pressing}, timeout=2)
        assert not early, "the page is shown before the process that it should lead to"
        await holding.rollback()
        page = await pressing
        [child] = await house.stack.repositories.lineage.children(house.pid)
        assert page.one("#open").one("a", LOOKED_FOR).attributes["href"].endswith(f"/processes/{child.id}")
    gateway.engine.script.residuals = 0
    await house.stack.say(house.pid, "conclude")


async def test_a_plan_made_anew_leads_to_the_process_that_took_up_the_same_point_before(
    gateway: GatewayHarness, house: Ferry
) -> None:
    script = gateway.engine.script
    script.residuals = 1
    await house.start(residuals="ask")
    await house.until_answering()
    async with gateway.visitor(house.tokens[DEMANDER]) as visitor:
        await house.stack.asked(house.pid, DEMANDER, 1, what="residual")
        page = await visitor.get(f"/processes/{house.pid}/plan")
        page = await visitor.submit(page.one("#open").all("button", LOOK)[0])
        child = page.one("#open").one("a", LOOKED_FOR).attributes["href"]

        async def child_is_formulated() -> bool:
            return len(await house.stack.repositories.lineage.tensions(house.pid)) == 2

        await until(child_is_formulated)
        said = {"kind": "answer_plan", "revision": 1, "answer": "propose", "text": "Not on Sundays."}
        messages = f"/processes/{house.pid}/messages"
        sent = await gateway.ask("POST", messages, house.tokens[house.human], json=said)
        assert sent.status_code == 200, sent.text
        assert (await house.stack.say(house.pid, "replan", proposals=[house.human])).accepted
        await house.stack.asked(house.pid, house.human, 2, what="answer")
        script.residuals = 0
        page = await visitor.get(f"/processes/{house.pid}/plan")
        assert "Plan, version 2" in page.main.text
        lacking = page.one("#open")
        assert lacking.one("a", LOOKED_FOR).attributes["href"] == child
        assert len(lacking.all("button")) == len(lacking.all("form"))
    await house.stack.say(house.pid, "conclude")


SAYS = {
    "en": ("Start a process for the open point?", "The plan can be answered until", "look for people for points"),
    "zh": ("要为这一处再找人吗？", "方案可以答复到", "没有解决的几处，另开"),
}


async def test_the_page_of_a_process_says_what_it_asks_and_names_the_processes_that_came_out_of_it(
    gateway: GatewayHarness, house: Ferry
) -> None:
    script = gateway.engine.script
    script.residuals = 1
    await house.start(residuals="ask")
    await house.until_answering()
    await house.stack.asked(house.pid, DEMANDER, 1, what="residual")
    script.residuals = 0
    [residual] = (await house.stack.repositories.record(house.pid)).plans[-1].residuals
    at = f"/processes/{house.pid}"
    async with (
        gateway.visitor(house.tokens[DEMANDER]) as english,
        gateway.visitor(house.tokens[DEMANDER], language="zh") as chinese,
    ):
        visitors = {"en": english, "zh": chinese}
        for language, visitor in visitors.items():
            question, until_when, _ = SAYS[language]
            page = await visitor.get(at)
            header = page.one("main > header").text
            assert question in header and residual.title in header and until_when in header
            assert not page.all("#children")
        assert (await house.stack.say(house.pid, "approve_residual", residual=residual.id, approve=True)).accepted

        async def child_is_there() -> bool:
            return bool(await house.stack.repositories.lineage.children(house.pid))

        await until(child_is_there)
        [child] = await house.stack.repositories.lineage.children(house.pid)
        for language, visitor in visitors.items():
            page = await visitor.get(at)
            assert SAYS[language][2] in page.one("#children h2").text
            page = await visitor.follow("", within="#children")
            assert page.place == f"/processes/{child.id}"
    async with gateway.visitor(house.tokens[house.human]) as visitor:
        assert not (await visitor.get(at)).all("#children"), "nobody else is told what was taken up"
    await house.stack.say(house.pid, "conclude")


async def test_the_demander_reads_which_steps_are_theirs_and_says_what_came_of_the_plan(
    gateway: GatewayHarness,
) -> None:
    rule = Rule(step="plan", draft={"possible": [], "tasks": [DECIDES]})
    gateway.engine.script.rules.append(rule)
    pid, demander, _ = await ended(gateway)
    gateway.engine.script.rules.remove(rule)
    async with gateway.visitor(demander) as visitor:
        page = await visitor.get(f"/processes/{pid}")
        own = page.one("#now").one("a", "Step 1 of the plan is for you").attributes["href"]
        assert own == f"/console/processes/{pid}/plan#roles"
        page = await visitor.follow("Step 1 of the plan is for you", within="#now")
        assert page.all("#roles")
        now = page.one("#now").text
        assert "Say which sailing is meant" in now
        assert "Nobody was asked about this plan: it has no part for anybody, or a proxy spoke for everybody" in now
        assert not page.all("#tell"), "nobody would read it"
        came = {"What you asked for": "partly", "In your words": "It is the Thursday sailing."}
        page = await visitor.submit("Save", came, within="#came")
        assert any("Noted." in one for one in page.status)
        assert page.field("In your words").value == "It is the Thursday sailing."
        assert page.field("What you asked for").value == "partly"
    [row] = await gateway.stack.repositories.feedback.of_process(pid)
    assert (row.alias, row.outcome) == (DEMANDER, "partly")


async def test_where_nothing_can_go_back_to_the_field_the_page_says_why(gateway: GatewayHarness) -> None:
    gateway.engine.script.residuals = 1
    pid, demander, participant = await ended(gateway, depth_limit=0)
    gateway.engine.script.residuals = 0
    async with gateway.visitor(demander, language="zh") as visitor:
        page = await visitor.get(f"/processes/{pid}/plan")
        assert "开始时没有允许再往下" in page.one("#now").text
        assert not page.has_button("为这一点再去找人")
    async with gateway.visitor(participant) as visitor:
        page = await visitor.get(f"/processes/{pid}/plan")
        assert not page.all("#now, #came, #declined"), "these are the demander's"


async def test_who_commits_says_how_to_be_reached_and_reads_what_whoever_asked_decided(
    console: Console, house: Ferry
) -> None:
    """In a browser: the pages of the plan and of one's part of it, while it is answered and afterwards."""
    rule = Rule(step="plan", draft={"tasks": [DECIDES]})
    console.harness.engine.script.rules.append(rule)
    await house.start(residuals="off")
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    console.harness.engine.script.rules.remove(rule)
    plan = f"{console.url}/console/processes/{house.pid}"
    async with console.visitor(house.tokens[DEMANDER], viewport=PHONE) as page:
        await page.goto(f"{plan}/plan#tell")
        tell = page.locator("#tell")
        assert "Nobody has committed so far." in await tell.inner_text()
        assert "Say which sailing is meant" in await tell.inner_text()
        assert "The plan can be answered until" in await page.locator("#answers").inner_text()
        await tell.get_by_label("What you decided").fill("The Thursday sailing. Ring 0123.")
        await tell.get_by_role("button", name="Save it for them").click()
        await page.get_by_role("status").filter(has_text="Saved.").wait_for()
        await looks_right(page)
    async with console.visitor(house.tokens[house.human], viewport=PHONE) as page:
        await page.goto(f"{plan}/delivery")
        assert "Ring 0123." not in await page.content(), "they have not committed"
        await page.get_by_label("How to reach you").fill("At the pier office.")
        await looks_right(page)
        await page.get_by_role("button", name="I commit to this part").click()
        await page.wait_for_url("**/delivery?done=commit")
        await house.stack.end(house.pid)
        await page.reload()
        known = await page.locator("section:has(#who-h)").inner_text()
        assert "The Thursday sailing. Ring 0123." in known
        assert "Nobody else can commit any more." in await page.locator("#next").inner_text()
        await looks_right(page)
    async with console.harness.visitor(house.tokens[DEMANDER], language="zh") as visitor:
        shown = await visitor.get(f"/processes/{house.pid}/plan")
        assert "At the pier office." in shown.one("#tell").text
        assert "接下的那一个人读得到" in shown.one("#now").text


def test_what_a_demander_without_a_name_tells_is_shown_to_those_who_committed() -> None:
    view = PartyView(
        id="c-1", phase=Phase.COMPLETED, round=2, you="P02",
        identities={"P02": "Ilse"}, contacts={"P00": "Ring the school before noon."},
    )  # fmt: skip
    page = "{% import 'parts/afterwards.html' as after with context %}{{ after.people_known() }}"
    shown = environment().from_string(page).render(view=view, language="en", t=lambda key, **_: f"[{key}]")
    assert "[delivery.demander]</dt><dd><span" in shown
    assert "Ring the school before noon." in shown
