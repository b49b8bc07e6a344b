"""Before the rounds: help with an intent, the countdown of a tension, whose words are shown, and who is asked for consent."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from psycopg.types.json import Jsonb

from tests.console.conftest import PHONE, Console
from tests.console.room import Ferry, ferry
from tests.support.until import until
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.choosing.candidates import nearest_first
from tongyao.app.messaging import records_follow
from tongyao.app.people.consents import SceneConsentBody, set_consent
from tongyao.app.people.profiles import MandateBody, set_mandate
from tongyao.commands.next_steps import commands_for
from tongyao.gateway.console.routes import preparing
from tongyao.protocol.rules.consent import Consent

INTENT = "I want the whole street to keep honey. I can give two hives and my weekends."


@pytest.fixture
async def house(console: Console) -> AsyncIterator[Ferry]:
    found = await ferry(console.harness)
    for alias in found.seats:
        await allow(found, alias, Consent.ALLOW)
    yield found
    if found.pid:
        await found.stack.say(found.pid, "cancel")


async def allow(house: Ferry, alias: str, consent: Consent) -> None:
    caller = Caller(Role.PERSON, house.people[alias])
    await set_consent(
        house.harness.context, caller, house.people[alias], house.scene, SceneConsentBody(consent=consent)
    )


async def test_the_countdown_of_a_tension_is_seen_and_stopped(console: Console, house: Ferry) -> None:
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/tension")
        before = await page.get_by_role("timer").inner_text()
        await page.wait_for_function(
            "before => document.querySelector('[role=timer]').textContent !== before", arg=before
        )
        await page.get_by_role("button", name="Stop the countdown").click()
        await page.get_by_role("button", name="Yes, this is it").wait_for()
        await page.get_by_text("The process waits until").wait_for()
        assert not await page.get_by_role("timer").count()
        assert await page.get_by_text(
            "If you have not answered by then, the process begins with these words as they are"
        ).is_visible()
        words, parts, answer = [
            await page.locator(f"section:has(> #{one}-h)").bounding_box() for one in ("words", "tension", "yes")
        ]
        assert words and parts and answer
        gap = answer["y"] - words["y"] - words["height"]
        assert answer["x"] == words["x"] and 0 <= gap < 120, "right below the words"
        assert answer["x"] + answer["width"] <= parts["x"], "beside the four parts"
    assert (await house.stack.repositories.processes.get(house.pid)).phase == "confirming"


@pytest.mark.parametrize("script", [True, False])
async def test_others_read_marks_for_the_names_that_the_demander_writes_down(
    console: Console, house: Ferry, script: bool
) -> None:
    change = "With Quillan Orr of Vessel Works, whoever decides sees what hangs on a sailing. Norrland Pier stays."
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    async with console.visitor(house.tokens["P00"], viewport=PHONE, java_script_enabled=script) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/tension")
        await page.get_by_text("Change it", exact=True).click()
        await page.get_by_label("T · What changes").fill(change)
        await page.get_by_label("Names that others do not read").fill(" Quillan Orr\n\nVessel Works (firm)\n")
        await page.get_by_role("button", name="Use my wording").click()
        await page.wait_for_url("**/tension?message=*")
        shown = page.get_by_text("Others read marks, such as [person 1], in place of these names:")
        assert await shown.locator("b").all_inner_texts() == ["Quillan Orr", "Vessel Works"], "the next page shows it"
        assert change in await page.locator(".tibe").inner_text()

        async def taken() -> bool:  # without script the page waits for somebody to look again
            if await page.get_by_role("link", name="Look again").count() and not script:
                await page.get_by_role("link", name="Look again").click()
            return await page.get_by_text("Change it", exact=True).count() > 0

        await until(taken)
        await page.get_by_text("Change it", exact=True).click()
        kept = await page.get_by_label("Names that others do not read").input_value()
        assert kept == "Quillan Orr\nVessel Works (firm)"
        await page.get_by_role("button", name="Yes, this is it").click()
        await page.wait_for_url(f"**/console/processes/{house.pid}?message=*")
    tension = (await house.stack.repositories.record(house.pid, own=["P00"])).own_tension
    assert tension is not None
    assert [(one.name, one.kind) for one in tension.names] == [("Quillan Orr", "person"), ("Vessel Works", "firm")]
    await house.stack.asked(house.pid, house.human, 1)
    async with console.visitor(house.tokens[house.human], viewport=PHONE) as page:
        about = await page.locator(".tibe").first.inner_text()
    assert "With [person 1] of [firm 2], whoever decides" in about
    assert "Norrland Pier stays." in about, "a place is no name"


@pytest.mark.parametrize("script", [True, False])
async def test_a_wording_that_the_records_do_not_show_yet_is_shown_as_it_was_sent(
    console: Console, house: Ferry, monkeypatch: pytest.MonkeyPatch, script: bool
) -> None:
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    monkeypatch.setattr(preparing, "wait_for_records", _not_waited_for)
    monkeypatch.setattr(records_follow, "_behind", _behind)
    async with console.visitor(house.tokens["P00"], viewport=PHONE, java_script_enabled=script) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/tension")
        await page.get_by_text("Change it", exact=True).click()
        await page.get_by_label("T · What changes").fill("The ferry office says on Monday what sails on Thursday.")
        await page.get_by_role("button", name="Use my wording").click()
        await page.get_by_role("status").filter(has_text="Your wording was received.").wait_for()
        assert "says on Monday what sails" in await page.locator(".tibe").inner_text()
        assert not await page.get_by_role("button", name="Yes, this is it").count()
        monkeypatch.undo()
        if not script:
            await page.get_by_role("link", name="Look again").click()
        await page.get_by_role("button", name="Yes, this is it").wait_for()
        assert "says on Monday what sails" in await page.locator(".tibe").inner_text()


async def _not_waited_for(*_: object, **__: object) -> None:
    """As if the records took longer than the page waits."""


async def _behind(*_: object) -> bool:
    return True


async def test_a_name_that_is_too_long_is_refused_and_nothing_written_is_lost(console: Console, house: Ferry) -> None:
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/tension")
        await page.get_by_text("Change it", exact=True).click()
        await page.get_by_label("Names that others do not read").fill("x" * 81)
        await page.get_by_role("button", name="Use my wording").click()
        assert await page.get_by_role("alert").is_visible()
        assert await page.get_by_label("Names that others do not read").input_value() == "x" * 81


async def test_the_sentence_that_matched_is_shown_only_of_those_who_allow_it(console: Console, house: Ferry) -> None:
    await allow(house, "P01", Consent.ASK)
    mandate = MandateBody(may_speak=True, never=["freight"])
    person = house.people["P02"]
    await set_mandate(house.harness.context, Caller(Role.PERSON, person), person, mandate)
    await house.start(chosen=False)
    await house.stack.until(house.pid, "selecting")
    rows = [{"part": "B1", "facet": facet, "start": 0, "end": 40, "score": 3.0} for facet in ("offers", "needs")]
    pool = house.stack.repositories.pool
    async with pool.connection() as connection:  # the stack's field gives no reasons
        await connection.execute("UPDATE candidates SET reasons = %s WHERE process_id = %s", [Jsonb(rows), house.pid])
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/people")
        assert await page.get_by_role("checkbox").count() == len(house.seats), "everybody stands once"
        shown = await page.locator("main blockquote").all_inner_texts()
        assert len(shown) == len(house.seats) - 2
        text = await page.locator("main").inner_text()
        for alias in house.seats:
            begins = house.case.people[alias][1][:30]
            assert (begins in text) is (alias not in ("P01", "P02")), alias
        assert text.count("The same sentence also matched") == len(shown), "it is quoted once"
        assert text.count("What they need is similar to") == 2, "of those who are not quoted"
        assert await page.get_by_text("has not opened their words").count() == 1


async def test_every_door_preselects_the_same_people(console: Console, house: Ferry) -> None:
    await house.start(chosen=False, max_participants=3)
    await house.stack.until(house.pid, "selecting")
    repositories = house.stack.repositories
    nearest = await nearest_first(repositories, house.pid)
    assert len(nearest) == 3
    reason = {"part": "B1", "facet": "offers", "start": 0, "end": 5, "score": 3.0}  # shares no word with the tension
    async with repositories.pool.connection() as connection:
        await connection.execute(
            "UPDATE candidates SET reasons = %s WHERE process_id = %s AND profile_id = %s",
            [Jsonb([reason]), house.pid, nearest[0]],
        )
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/people")
        boxes = await page.locator("[name=person]:checked").all()
        assert [await box.get_attribute("value") for box in boxes] == nearest
    told = await house.harness.ask("GET", f"/processes/{house.pid}/candidates", house.tokens["P00"])
    assert [one["profile_id"] for one in told.json() if one["taken"]] == nearest
    inbox = await house.harness.ask("GET", "/inbox", house.tokens["P00"])
    [ask] = [one for one in inbox.json() if one["process_id"] == house.pid]
    assert [one["profile_id"] for one in ask["choices"]["proposals"] if one["taken"]] == nearest
    [row] = await repositories.inbox.of_process(house.pid, open_only=True)
    [command, *_] = await commands_for(repositories, row)
    assert all(f" {person}" in command for person in nearest)


@pytest.mark.parametrize("script", [True, False])
async def test_who_chooses_reads_that_only_who_is_asked_themselves_can_commit(
    console: Console, house: Ferry, script: bool
) -> None:
    await house.start(chosen=False)
    await house.stack.until(house.pid, "selecting")
    person = house.people["P02"]
    async with console.visitor(house.tokens["P00"], viewport=PHONE, java_script_enabled=script) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/people")
        assert "it cannot commit to anything" in await page.locator("main").inner_text()
        if script:
            await page.get_by_text("A proxy speaks for all 5 people. Nobody is asked about the plan").wait_for()
        else:
            assert await page.get_by_text("If a proxy speaks for everybody, nobody is asked").is_visible()
        await page.locator(f'[name="endpoint-{person}"]').select_option("human")
        if script:
            await page.get_by_text("1 of 5 people answer for themselves and can commit.").wait_for()
        await page.get_by_role("button", name="Ask them").click()
        await page.wait_for_url(f"**/console/processes/{house.pid}?message=*")
    await house.stack.until(house.pid, "crystallizing")
    seats = await house.stack.repositories.seats.seats(house.pid)
    assert [seat.endpoint for seat in seats if seat.person == person] == ["human"]
    assert {seat.endpoint for seat in seats if seat.person != person} == {"proxy"}


@pytest.mark.parametrize(
    ("script", "answer", "endpoint", "said"),
    [
        (True, "Yes, this time", "proxy", "You said yes, this time."),
        (False, "I take part and speak for myself", "human", "You said that you take part and speak for yourself."),
    ],
)
async def test_somebody_is_asked_in_the_browser_whether_a_proxy_may_speak(
    console: Console, house: Ferry, script: bool, answer: str, endpoint: str, said: str
) -> None:
    await allow(house, "P05", Consent.ASK)
    await house.start()
    await house.stack.until(house.pid, "consenting")
    async with console.visitor(house.tokens["P05"], viewport=PHONE, java_script_enabled=script) as page:
        assert await page.get_by_role("heading", name="May your proxy speak for you?").is_visible()
        main = await page.locator("main").inner_text()
        places = [
            main.index(words) for words in ("Somebody in “Skerrow Sound” asks", "Tongyao is a program", "Your answer:")
        ]
        heading = main.index("May your proxy speak for you?")
        assert [*places, heading] == sorted([*places, heading]), "who asks, what this is and what follows stand first"
        assert house.scene not in main
        assert "a data person to tell our ferry co-op" in main, "what it is about"
        assert "quote it word for word" in main, "what would be said of them"
        await page.get_by_role("button", name=answer).click()
        await page.get_by_role("status").get_by_text(f"{said} You cannot change this answer.").wait_for()
    await house.stack.until(house.pid, "crystallizing")
    seats = await house.stack.repositories.seats.seats(house.pid)
    assert [seat.endpoint for seat in seats if seat.person == house.people["P05"]] == [endpoint]


async def test_where_too_few_gave_their_consent_the_demander_reads_how_many_did(console: Console, house: Ferry) -> None:
    await allow(house, "P05", Consent.ASK)
    await house.start(quorum=len(house.seats))
    await house.stack.until(house.pid, "consenting")
    async with console.visitor(house.tokens["P05"], viewport=PHONE) as page:
        await page.locator("button[value=no]").click()
        await page.get_by_role("status").get_by_text("You said no. You cannot change this answer.").wait_for()
    await house.stack.until(house.pid, "selecting")
    await house.stack.asked(house.pid, "P00", 0, what="select_participants")
    told = "One person was asked whether a proxy may speak for them. 0 said yes."
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        for path in ("", "/people"):
            await page.goto(f"{console.url}/console/processes/{house.pid}{path}")
            assert told in await page.locator("main").inner_text()


async def test_before_the_search_has_ended_nobody_reads_that_nobody_was_found(console: Console, house: Ferry) -> None:
    await house.start(auto_confirm=False, chosen=False)
    await house.stack.until(house.pid, "confirming")
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/people")
        main = await page.locator("main").inner_text()
        assert "The search for people has not ended." in main and "Nobody was found" not in main
        live = await page.locator("header[data-live]").get_attribute("data-live")
        assert live is not None and f"/processes/{house.pid}/live?shown=" in live, "it is told when they are found"


async def test_the_same_intent_begins_once_also_from_an_older_page(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        older = await page.context.new_page()
        for one in (page, older):
            await one.goto(f"{console.url}/console/start")
            await one.get_by_label("Your intent").fill(INTENT)
        await page.get_by_role("button", name="Begin").click()
        await page.wait_for_url("**/console/processes/c-*")
        await older.get_by_role("button", name="Begin").click()
        assert "You have begun this already" in await older.get_by_role("alert").inner_text()
        begun = await older.get_by_role("link", name="Open the process").get_attribute("href")
        assert begun and page.url.endswith(begun)
        await older.get_by_role("button", name="Begin a second process").click()
        await older.wait_for_url("**/console/processes/c-*")
        assert older.url != page.url, "whoever wants a second one gets it"
    for one in (page, older):
        await house.stack.say(one.url.rsplit("/", 1)[-1], "cancel")


async def test_an_empty_box_is_refused_in_words(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/start")
        await page.get_by_role("button", name="Begin").click()
        assert await page.get_by_role("alert").inner_text() == "First write what you want, in your own words."


async def test_an_id_that_nobody_has_is_refused_beside_its_box_in_the_language_of_the_page(
    console: Console, house: Ferry
) -> None:
    await house.start(chosen=False)
    await house.stack.until(house.pid, "selecting")
    async with console.visitor(house.tokens["P00"], language="zh", viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/people")
        box = page.locator("#others")
        await box.fill("王小明")
        await page.get_by_role("button", name="去请他们").click()
        told = page.get_by_role("alert")
        assert "这里没有这个编号：王小明。" in await told.inner_text()
        beside = page.locator("div", has=box).last
        assert "王小明" in await beside.get_by_role("alert").inner_text()
        assert await box.input_value() == "王小明", "what was written stays"
