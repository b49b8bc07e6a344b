"""Coming in and going out: what a browser holds opens this installation, for a short time, for one person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx

from tests.console.conftest import Console
from tests.console.room import ferry
from tests.support.until import until
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.notifications.notifier import Outgoing
from tongyao.app.people.sessions import issue_link
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.records.people.notifications import Channel
from tongyao.records.people.tokens import Token


async def test_a_person_signs_in_with_a_token_and_sees_their_inbox(console: Console) -> None:
    token = await console.harness.person("p-anna")
    async with console.visitor(token) as page:
        await page.wait_for_url("**/console/")
        assert await page.locator("h1").inner_text() == "Nothing waits for you"
        await page.get_by_role("button", name="Sign out").click()
        await page.wait_for_url("**/console/enter")
        await page.goto(f"{console.url}/console/")
        await page.wait_for_url("**/console/enter")


async def test_the_console_works_without_script(console: Console) -> None:
    token = await console.harness.person("p-anna")
    async with console.visitor(token, java_script_enabled=False, language="zh") as page:
        assert await page.locator("h1").inner_text() == "现在没有事等你"
        await page.get_by_role("button", name="English").click()
        assert await page.locator("h1").inner_text() == "Nothing waits for you"


async def test_a_personal_link_opens_one_session_and_is_not_spent_by_reading_its_page(console: Console) -> None:
    link = await issue_link(console.harness.context, Caller(Role.PERSON, "p-bo"), "p-bo")
    address = f"{console.url}/console/enter?link={link.secret}"
    async with httpx.AsyncClient() as program:
        assert (await program.get(address)).status_code == 200
    async with console.visitor() as page:
        await page.goto(address)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/console/")
        await page.goto(address)  # the mail is opened once more
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_text("You are signed in here.").wait_for()
        assert not await page.get_by_text("I am new here").count()
        await page.get_by_role("link", name="To the inbox").click()
        await page.wait_for_url("**/console/")
    async with console.visitor() as page:
        await page.goto(address)
        await page.get_by_role("button", name="Sign in").click()
        assert "is not valid" in await page.get_by_role("alert").inner_text()
        assert not await page.get_by_text("I am new here").count(), "who has a link has joined"


async def test_who_erases_themselves_reads_that_it_is_done(console: Console) -> None:
    token = await console.harness.person("p-eve")
    await console.harness.stack.register(
        "p-eve", scene=await console.harness.scene(), name="Eve Marsh", text="I mend nets."
    )
    async with console.visitor(token) as page:
        await page.goto(f"{console.url}/console/me")
        await page.get_by_text("Erase me", exact=True).click()
        await page.locator("input[name=sure]").fill("erase")
        await page.get_by_role("button", name="Erase me now").click()
        await page.get_by_text("You are erased.").wait_for()
        assert not await page.get_by_role("link", name="Inbox").count()


class _Browser:
    """A browser by hand: cookies and forms, no pages."""

    def __init__(self, url: str) -> None:
        self.http = httpx.AsyncClient(base_url=url, follow_redirects=False)

    async def form_token(self, path: str = "/console/enter") -> str:
        answer = await self.http.get(path)
        return answer.text.split('name="form_token" value="', 1)[1].split('"', 1)[0]

    async def sign_in(self, secret: str) -> httpx.Response:
        fields = {"form_token": await self.form_token(), "secret": secret}
        return await self.http.post("/console/enter", data=fields)


async def test_a_session_is_a_cookie_no_script_can_read_and_no_bearer_token(console: Console) -> None:
    token = await console.harness.person("p-anna")
    anna = _Browser(console.url)
    answer = await anna.sign_in(token)
    kept = answer.headers["set-cookie"].lower()
    assert answer.status_code == 303 and "httponly" in kept and "samesite=lax" in kept
    secret = anna.http.cookies["tongyao_session"]
    assert secret != token
    assert (await console.harness.ask("GET", "/me", secret)).status_code == 401


async def test_a_session_cannot_be_fixed_beforehand(console: Console) -> None:
    token = await console.harness.person("p-anna")
    anna = _Browser(console.url)
    anna.http.cookies.set("tongyao_session", "chosen-by-somebody-else", path="/console")
    fields = {"form_token": await anna.form_token(), "secret": token}
    answer = await anna.http.post("/console/enter", data=fields)
    assert "chosen-by-somebody-else" not in answer.headers["set-cookie"]
    other = _Browser(console.url)
    other.http.cookies.set("tongyao_session", "chosen-by-somebody-else", path="/console")
    assert (await other.http.get("/console/")).status_code == 303


async def test_a_session_ends_with_the_token_that_opened_it(console: Console) -> None:
    tokens = console.harness.context.repositories.tokens
    issued = await tokens.issue("person", person="p-anna")
    anna = _Browser(console.url)
    await anna.sign_in(issued.secret)
    assert (await anna.http.get("/console/")).status_code == 200
    await tokens.revoke(issued.token.id)
    assert (await anna.http.get("/console/")).status_code == 303


async def test_a_session_lasts_longer_while_it_is_used_and_no_more_than_thirty_days(console: Console) -> None:
    repositories = console.harness.context.repositories
    issued = await repositories.tokens.issue("person", person="p-slides")
    anna = _Browser(console.url)
    await anna.sign_in(issued.secret)
    cases = (("1 hour", "0 days", timedelta(hours=23)), ("1 hour", "29 days 22 hours", timedelta(hours=1, minutes=30)))
    for left, age, least in cases:
        async with repositories.pool.connection() as connection:
            await connection.execute(
                f"UPDATE tokens SET expires_at = now() + interval '{left}', created_at = now() - interval '{age}' "
                "WHERE opened_by = %s",
                [issued.token.id],
            )
        assert (await anna.http.get("/console/")).status_code == 200
        session = await _session_of(console)
        assert session.expires_at is not None
        lasts = session.expires_at - datetime.now(UTC)
        assert least < lasts < least + timedelta(hours=1, minutes=1), (left, age)
    await repositories.tokens.revoke(issued.token.id)
    assert (await anna.http.get("/console/")).status_code == 303


async def _session_of(console: Console) -> Token:
    tokens = await console.harness.context.repositories.tokens.list(person="p-slides")
    return next(one for one in tokens if one.kind == "session")


async def test_a_session_is_good_at_the_address_where_it_was_opened_alone(console: Console) -> None:
    anna = _Browser(console.url)
    await anna.sign_in(await console.harness.person("p-anna"))
    cookie = f"tongyao_session={anna.http.cookies['tongyao_session']}"
    assert (await anna.http.get("/console/", headers={"Cookie": cookie})).status_code == 200
    answer = await anna.http.get("/console/", headers={"Cookie": cookie, "Host": "localhost:8701"})
    assert answer.status_code == 303


async def test_a_form_of_another_site_is_refused(console: Console) -> None:
    anna = _Browser(console.url)
    await anna.sign_in(await console.harness.person("p-anna"))
    token = await anna.form_token("/console/")
    for fields, headers in (
        ({}, {}),
        ({"form_token": "made-up"}, {}),
        ({"form_token": await _Browser(console.url).form_token()}, {}),
        ({"form_token": token}, {"Origin": "https://evil.example"}),
    ):
        refused = await anna.http.post("/console/leave", data=fields, headers=headers)
        assert refused.status_code == 403, fields
    assert (await anna.http.get("/console/")).status_code == 200
    assert (await anna.http.post("/console/leave", data={"form_token": token})).status_code == 303


async def test_every_answer_forbids_what_is_not_its_own(console: Console) -> None:
    async with httpx.AsyncClient(base_url=console.url) as http:
        for path in ("/console/enter", "/console/nothing", "/console/static/style.css"):
            policy = (await http.get(path)).headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy


class _Kept:
    """A mail server that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []

    async def send(self, outgoing: Outgoing) -> None:
        self.sent.append(outgoing)


async def test_a_mail_carries_a_personal_link_to_what_waits(console: Console) -> None:
    house, mail = await ferry(console.harness), _Kept()
    repositories = console.harness.context.repositories
    person = house.people["P03"]
    await repositories.notifications.set_channel(
        Channel(person=person, kind="mail", address="isbel@example.org", confirmed=True)
    )
    await house.start()
    await house.stack.asked(house.pid, "P03", 1)
    notifying = NotificationSender(repositories, {"mail": mail}, public_url=console.url)

    async def told() -> list[str]:
        await notifying.once()
        return [one.text for one in mail.sent if one.data["process"] == house.pid]

    await until(told)
    link = next(word for word in (await told())[0].split() if word.startswith(console.url))
    async with console.visitor() as page:
        await page.goto(link)
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("heading", name="One thing waits for you").wait_for()
    await house.stack.say(house.pid, "cancel")


async def test_registration_is_open_where_only_this_machine_reaches_the_gateway(console: Console) -> None:
    said = {"scene": await console.harness.scene(), "name": "Anna Example", "text": "I keep bees."}
    outside = console.harness.also(gateway_host="0.0.0.0")
    assert (await outside.ask("POST", "/profiles", json=said)).status_code == 403
    assert (await console.harness.ask("POST", "/profiles", json=said)).status_code == 201


async def test_no_link_leads_away_from_the_page_that_shows_a_key_once(console: Console) -> None:
    await console.harness.scene()
    async with console.visitor() as page:
        await page.goto(f"{console.url}/console/enter")
        await page.get_by_label("Who you are and what you do").fill("I keep bees and can give two hives.")
        await page.get_by_label("Your name").fill("Anna Example")
        await page.get_by_role("button", name="Join", exact=True).click()
        await page.locator("#key").wait_for()
        assert not await page.get_by_role("button", name="中文").count(), "the other language is a page without the key"
        await page.get_by_role("link", name="I have saved it: continue").click()
        await page.get_by_role("button", name="中文").wait_for()


async def test_scenes_are_called_in_the_language_of_the_page(console: Console) -> None:
    scene, operator = await console.harness.scene(), await console.harness.operator()
    body = {"title": "The valley", "titles": {"zh": "山谷"}}
    assert (await console.harness.ask("PUT", f"/scenes/{scene}", operator, json=body)).status_code == 200
    for language, title in (("en", "The valley"), ("zh", "山谷")):
        async with console.visitor(language=language) as page:
            await page.goto(f"{console.url}/console/enter")
            assert title in await page.locator(f"option[value={scene}]").inner_text()
