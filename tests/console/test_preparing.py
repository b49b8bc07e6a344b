"""Before the rounds: help with an intent, the countdown of a tension, whose words are shown, and who is asked for consent."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from psycopg.types.json import Jsonb

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.console.room import Ferry, ferry
from tests.gateway.conftest import GatewayHarness
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
async def house(gateway: GatewayHarness) -> AsyncIterator[Ferry]:
    found = await ferry(gateway)
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
        await looks_right(page)
    assert (await house.stack.repositories.processes.get(house.pid)).phase == "confirming"


CHANGE = "With Quillan Orr of Vessel Works, whoever decides sees what hangs on a sailing. Norrland Pier stays."


async def test_others_read_marks_for_the_names_that_the_demander_writes_down(
    gateway: GatewayHarness, house: Ferry
) -> None:
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get(f"/processes/{house.pid}/tension")
        written = {
            "T · What changes": CHANGE,
            "Names that others do not read": " Quillan Orr\n\nVessel Works (firm)\n",
        }
        page = await visitor.submit("Use my wording", written)
        assert page.place.startswith(f"/processes/{house.pid}/tension?message=")
        shown = page.main.one("p", "Others read marks, such as [person 1], in place of these names:")
        assert [one.text for one in shown.all("b")] == ["Quillan Orr", "Vessel Works"], "the next page shows it"
        assert CHANGE in page.one("section > .tibe").text

        async def taken() -> bool:  # without script the page waits for somebody to look again
            if visitor.page.has_link("Look again"):
                await visitor.follow("Look again")
            return bool(visitor.page.all("summary", "Change it"))

        await until(taken)
        assert visitor.page.field("Names that others do not read").value == "Quillan Orr\nVessel Works (firm)"
        page = await visitor.submit("Yes, this is it")
        assert page.place.startswith(f"/processes/{house.pid}?message=")
    tension = (await house.stack.repositories.record(house.pid, own=["P00"])).own_tension
    assert tension is not None
    assert [(one.name, one.kind) for one in tension.names] == [("Quillan Orr", "person"), ("Vessel Works", "firm")]
    await house.stack.asked(house.pid, house.human, 1)
    async with gateway.visitor(house.tokens[house.human]) as visitor:
        about = (await visitor.get("/")).all(".tibe")[0].text
    assert "With [person 1] of [firm 2], whoever decides" in about
    assert "Norrland Pier stays." in about, "a place is no name"


async def test_a_wording_that_the_records_do_not_show_yet_is_shown_as_it_was_sent(
    console: Console, house: Ferry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By script the page then loads itself anew; without script a link does."""
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    for by_script, day in ((True, "Monday"), (False, "Tuesday")):
        words = f"The ferry office says on {day} what sails on Thursday."
        with monkeypatch.context() as patch:
            patch.setattr(preparing, "wait_for_records", _not_waited_for)
            patch.setattr(records_follow, "_behind", _behind)
            if by_script:
                await _reworded_by_script(console, house, words, patch)
            else:
                await _reworded_without_script(console.harness, house, words, patch)


async def _reworded_by_script(console: Console, house: Ferry, words: str, patch: pytest.MonkeyPatch) -> None:
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/tension")
        await page.get_by_text("Change it", exact=True).click()
        await page.get_by_label("T · What changes").fill(words)
        await page.get_by_role("button", name="Use my wording").click()
        await page.get_by_role("status").filter(has_text="Your wording was received.").wait_for()
        assert words in await page.locator(".tibe").inner_text()
        assert not await page.get_by_role("button", name="Yes, this is it").count()
        patch.undo()
        await page.get_by_role("button", name="Yes, this is it").wait_for()
        assert words in await page.locator(".tibe").inner_text()


async def _reworded_without_script(
    gateway: GatewayHarness, house: Ferry, words: str, patch: pytest.MonkeyPatch
) -> None:
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get(f"/processes/{house.pid}/tension")
        page = await visitor.submit("Use my wording", {"T · What changes": words})
        assert any("Your wording was received." in one for one in page.status)
        assert words in page.one("section > .tibe").text
        assert not page.has_button("Yes, this is it")
        patch.undo()

        async def shown() -> bool:
            await visitor.follow("Look again")
            return visitor.page.has_button("Yes, this is it")

        await until(shown)
        assert words in visitor.page.one("section > .tibe").text


async def _not_waited_for(*_: object, **__: object) -> None:
    """As if the records took longer than the page waits."""


async def _behind(*_: object) -> bool:
    return True


async def test_a_name_that_is_too_long_is_refused_and_nothing_written_is_lost(
    gateway: GatewayHarness, house: Ferry
) -> None:
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get(f"/processes/{house.pid}/tension")
        page = await visitor.submit("Use my wording", {"Names that others do not read": "x" * 81}, code=422)
        assert page.alert
        kept = page.field("Names that others do not read")
        assert kept.value == "x" * 81
        assert "open" in kept.within("details").attributes


async def test_the_sentence_that_matched_is_shown_only_of_those_who_allow_it(
    gateway: GatewayHarness, house: Ferry
) -> None:
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
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get(f"/processes/{house.pid}/people")
        assert len(page.main.all("[type=checkbox]")) == len(house.seats), "everybody stands once"
        shown = page.main.all("blockquote")
        assert len(shown) == len(house.seats) - 2
        text = page.main.text
        for alias in house.seats:
            begins = house.case.people[alias][1][:30]
            assert (begins in text) is (alias not in ("P01", "P02")), alias
        assert text.count("The same sentence also matched") == len(shown), "it is quoted once"
        assert text.count("What they need is similar to") == 2, "of those who are not quoted"
        assert text.count("has not opened their words") == 1


async def test_every_door_preselects_the_same_people(gateway: GatewayHarness, house: Ferry) -> None:
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
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get(f"/processes/{house.pid}/people")
        assert [box.value for box in page.all("[name=person][checked]")] == nearest
    told = await house.harness.ask("GET", f"/processes/{house.pid}/candidates", house.tokens["P00"])
    assert [one["profile_id"] for one in told.json() if one["taken"]] == nearest
    inbox = await house.harness.ask("GET", "/inbox", house.tokens["P00"])
    [ask] = [one for one in inbox.json() if one["process_id"] == house.pid]
    assert [one["profile_id"] for one in ask["choices"]["proposals"] if one["taken"]] == nearest
    [row] = await repositories.inbox.of_process(house.pid, open_only=True)
    [command, *_] = await commands_for(repositories, row)
    assert all(f" {person}" in command for person in nearest)


async def test_who_chooses_reads_that_only_who_is_asked_themselves_can_commit(console: Console, house: Ferry) -> None:
    await house.start(chosen=False)
    await house.stack.until(house.pid, "selecting")
    person = house.people["P02"]
    async with console.harness.visitor(house.tokens["P00"]) as visitor:
        shown = await visitor.get(f"/processes/{house.pid}/people")
        assert "If a proxy speaks for everybody, nobody is asked" in shown.one("p.no-script").text
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/people")
        assert "it cannot commit to anything" in await page.locator("main").inner_text()
        assert not await page.get_by_text("If a proxy speaks for everybody, nobody is asked").is_visible()
        await page.get_by_text("A proxy speaks for all 5 people. Nobody is asked about the plan").wait_for()
        await page.locator(f'[name="endpoint-{person}"]').select_option("human")
        await page.get_by_text("1 of 5 people answer for themselves and can commit.").wait_for()
        await looks_right(page)
        await page.get_by_role("button", name="Ask them").click()
        await page.wait_for_url(f"**/console/processes/{house.pid}?message=*")
    await house.stack.until(house.pid, "crystallizing")
    seats = await house.stack.repositories.seats.seats(house.pid)
    assert [seat.endpoint for seat in seats if seat.person == person] == ["human"]
    assert {seat.endpoint for seat in seats if seat.person != person} == {"proxy"}


async def test_without_script_whoever_is_chosen_is_asked_and_nobody_else(gateway: GatewayHarness, house: Ferry) -> None:
    await house.start(chosen=False)
    await house.stack.until(house.pid, "selecting")
    some = [house.people[alias] for alias in ("P01", "P02", "P05")]
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get(f"/processes/{house.pid}/people")
        page = await visitor.submit("Ask them", {"[name=person]": some, f"[name=endpoint-{some[1]}]": "human"})
        assert page.place.startswith(f"/processes/{house.pid}?message=")
    await house.stack.until(house.pid, "crystallizing")
    seats = await house.stack.repositories.seats.seats(house.pid)
    assert {seat.person: seat.endpoint for seat in seats} == dict(zip(some, ("proxy", "human", "proxy"), strict=True))


async def test_somebody_is_asked_in_the_console_whether_a_proxy_may_speak(
    gateway: GatewayHarness, house: Ferry
) -> None:
    answers = {
        "P05": ("Yes, this time", "proxy", "You said yes, this time."),
        "P04": ("I take part and speak for myself", "human", "You said that you take part and speak for yourself."),
    }
    for alias in answers:
        await allow(house, alias, Consent.ASK)
    await house.start()
    await house.stack.until(house.pid, "consenting")
    for alias, (answer, _, said) in answers.items():
        async with gateway.visitor(house.tokens[alias]) as visitor:
            await visitor.get("/")
            page = await visitor.until("May your proxy speak for you?", "#ask")
            main = page.main.text
            parts = ("Somebody in “Skerrow Sound” asks", "Tongyao is a program", "Your answer:")
            places = [main.index(words) for words in (*parts, "May your proxy speak for you?")]
            assert places == sorted(places), "who asks, what this is and what follows stand first"
            assert house.scene not in main
            assert "a data person to tell our ferry co-op" in main, "what it is about"
            assert "quote it word for word" in main, "what would be said of them"
            page = await visitor.submit(answer)
            assert any(f"{said} You cannot change this answer." in one for one in page.status)
    await house.stack.until(house.pid, "crystallizing")
    seats = await house.stack.repositories.seats.seats(house.pid)
    for alias, (_, endpoint, _) in answers.items():
        assert [seat.endpoint for seat in seats if seat.person == house.people[alias]] == [endpoint]


async def test_where_too_few_gave_their_consent_the_demander_reads_how_many_did(
    gateway: GatewayHarness, house: Ferry
) -> None:
    await allow(house, "P05", Consent.ASK)
    await house.start(quorum=len(house.seats))
    await house.stack.until(house.pid, "consenting")
    async with gateway.visitor(house.tokens["P05"]) as visitor:
        await visitor.get("/")
        await visitor.until("May your proxy speak for you?", "#ask")
        page = await visitor.submit("[value=no]")
        assert any("You said no. You cannot change this answer." in one for one in page.status)
    await house.stack.until(house.pid, "selecting")
    await house.stack.asked(house.pid, "P00", 0, what="select_participants")
    told = "One person was asked whether a proxy may speak for them. 0 said yes."
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        for path in ("", "/people"):
            assert told in (await visitor.get(f"/processes/{house.pid}{path}")).main.text


async def test_before_the_search_has_ended_nobody_reads_that_nobody_was_found(
    gateway: GatewayHarness, house: Ferry
) -> None:
    await house.start(auto_confirm=False, chosen=False)
    await house.stack.until(house.pid, "confirming")
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get(f"/processes/{house.pid}/people")
        assert "The search for people has not ended." in page.main.text and "Nobody was found" not in page.main.text
        live = page.one("header[data-live]").attributes["data-live"]
        assert f"/processes/{house.pid}/live?shown=" in live, "it is told when they are found"


async def test_the_same_intent_begins_once_also_from_an_older_page(gateway: GatewayHarness, house: Ferry) -> None:
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get("/start")
        older = visitor.page
        page = await visitor.submit("Begin", {"Your intent": INTENT})
        first = page.place
        assert first.startswith("/processes/c-")
        visitor.page = older
        page = await visitor.submit("Begin", {"Your intent": INTENT}, code=409)
        assert "You have begun this already" in page.alert
        assert page.one("[role=alert]").one("a", "Open the process").attributes["href"].endswith(first)
        page = await visitor.submit("Begin a second process")
        assert page.place.startswith("/processes/c-")
        assert page.place != first, "whoever wants a second one gets it"
    for place in (first, page.place):
        await house.stack.say(place.rsplit("/", 1)[-1], "cancel")


async def test_an_empty_box_is_refused_in_words(gateway: GatewayHarness, house: Ferry) -> None:
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get("/start")
        page = await visitor.submit("Begin", code=422)
        assert page.alert == "First write what you want, in your own words."


async def test_an_id_that_nobody_has_is_refused_beside_its_box_in_the_language_of_the_page(
    gateway: GatewayHarness, house: Ferry
) -> None:
    await house.start(chosen=False)
    await house.stack.until(house.pid, "selecting")
    async with gateway.visitor(house.tokens["P00"], language="zh") as visitor:
        await visitor.get(f"/processes/{house.pid}/people")
        page = await visitor.submit("去请他们", {"#others": "王小明"}, code=422)
        assert "这里没有这个编号：王小明。" in page.alert
        box = page.field("#others")
        assert "王小明" in box.within("div").one("[role=alert]").text
        assert box.value == "王小明", "what was written stays"
