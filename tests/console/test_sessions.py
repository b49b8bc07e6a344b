"""Coming in and going out: what a browser holds opens this installation, for a short time, for one person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.console.room import ferry
from tests.gateway.conftest import GatewayHarness, gateway
from tests.support.page_visitor import PageVisitor
from tests.support.until import until
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.notifications.notifier import Outgoing
from tongyao.app.people.sessions import issue_link
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.records.people.notifications import Channel
from tongyao.records.people.tokens import Token

__all__ = ["gateway"]


async def test_a_person_signs_in_with_a_token_and_sees_their_inbox(gateway: GatewayHarness) -> None:
    async with gateway.visitor(await gateway.person("p-anna")) as visitor:
        assert (await visitor.get("/")).h1 == "Nothing waits for you"
        session = visitor.http.cookies["tongyao_session"]
        assert (await visitor.submit("Sign out")).place == "/enter"
        assert (await visitor.get("/")).place == "/enter"
        visitor.http.cookies.clear()
        visitor.http.cookies.set("tongyao_session", session, path="/console")
        assert (await visitor.get("/")).place == "/enter", "the session has ended, and not only its cookie"


async def test_the_console_works_without_script(gateway: GatewayHarness) -> None:
    async with gateway.visitor(await gateway.person("p-anna"), language="zh") as visitor:
        assert (await visitor.get("/")).h1 == "现在没有事等你"
        assert (await visitor.submit("English")).h1 == "Nothing waits for you"


async def test_a_personal_link_opens_one_session_and_is_not_spent_by_reading_its_page(gateway: GatewayHarness) -> None:
    link = await issue_link(gateway.context, Caller(Role.PERSON, "p-bo"), "p-bo")
    await gateway.scene()  # without a scene nobody could join
    address = f"/enter?link={link.secret}"
    async with gateway.visitor() as program:
        await program.get(address)
    async with gateway.visitor() as visitor:
        await visitor.get(address)
        assert (await visitor.submit("Sign in")).place == "/"
        await visitor.get(address)  # the mail is opened once more
        page = await visitor.submit("Sign in", code=401)
        assert "You are signed in here." in page.main.text
        assert "I am new here" not in page.main.text
        assert (await visitor.follow("To the inbox")).place == "/"
    async with gateway.visitor() as visitor:
        await visitor.get(address)
        page = await visitor.submit("Sign in", code=401)
        assert "is not valid" in page.alert
        assert "I am new here" not in page.main.text, "who has a link has joined"


async def test_who_erases_themselves_reads_that_it_is_done(gateway: GatewayHarness) -> None:
    token = await gateway.person("p-eve")
    await gateway.stack.register("p-eve", scene=await gateway.scene(), name="Eve Marsh", text="I mend nets.")
    async with gateway.visitor(token) as visitor:
        await visitor.get("/me")
        page = await visitor.submit("Erase me now", {"[name=sure]": "erase"})
        assert "You are erased." in page.main.text
        assert not page.all("a", "Inbox")


async def test_a_session_is_a_cookie_no_script_can_read_and_no_bearer_token(gateway: GatewayHarness) -> None:
    token = await gateway.person("p-anna")
    async with gateway.visitor() as anna:
        kept = (await anna.sign_in(token)).headers["set-cookie"].lower()
        secret = anna.http.cookies["tongyao_session"]
    assert "httponly" in kept and "samesite=lax" in kept
    assert secret != token
    assert (await gateway.ask("GET", "/me", secret)).status_code == 401


async def test_a_session_cannot_be_fixed_beforehand(gateway: GatewayHarness) -> None:
    token = await gateway.person("p-anna")
    async with gateway.visitor() as anna, gateway.visitor() as other:
        for one in (anna, other):
            one.http.cookies.set("tongyao_session", "chosen-by-somebody-else", path="/console")
        answer = await anna.sign_in(token)
        assert "chosen-by-somebody-else" not in answer.headers["set-cookie"]
        assert not await signed_in(other)


async def signed_in(visitor: PageVisitor) -> bool:
    """Whether their inbox is opened; else they are sent to the page of signing in."""
    answer = await visitor.http.get("/console/", follow_redirects=False)
    assert answer.status_code in (200, 303)
    return answer.status_code == 200


async def test_a_session_ends_with_the_token_that_opened_it(gateway: GatewayHarness) -> None:
    tokens = gateway.context.repositories.tokens
    issued = await tokens.issue("person", person="p-anna")
    async with gateway.visitor(issued.secret) as anna:
        assert await signed_in(anna)
        await tokens.revoke(issued.token.id)
        assert not await signed_in(anna)


async def test_a_session_lasts_longer_while_it_is_used_and_no_more_than_thirty_days(gateway: GatewayHarness) -> None:
    repositories = gateway.context.repositories
    issued = await repositories.tokens.issue("person", person="p-slides")
    cases = (("1 hour", "0 days", timedelta(hours=23)), ("1 hour", "29 days 22 hours", timedelta(hours=1, minutes=30)))
    async with gateway.visitor(issued.secret) as anna:
        for left, age, least in cases:
            async with repositories.pool.connection() as connection:
                await connection.execute(
                    f"UPDATE tokens SET expires_at = now() + interval '{left}', "
                    f"created_at = now() - interval '{age}' WHERE opened_by = %s",
                    [issued.token.id],
                )
            assert await signed_in(anna)
            session = await _session_of(gateway)
            assert session.expires_at is not None
            lasts = session.expires_at - datetime.now(UTC)
            assert least < lasts < least + timedelta(hours=1, minutes=1), (left, age)
        await repositories.tokens.revoke(issued.token.id)
        assert not await signed_in(anna)


async def _session_of(gateway: GatewayHarness) -> Token:
    tokens = await gateway.context.repositories.tokens.list(person="p-slides")
    return next(one for one in tokens if one.kind == "session")


async def test_a_session_is_good_at_the_address_where_it_was_opened_alone(gateway: GatewayHarness) -> None:
    async with gateway.visitor(await gateway.person("p-anna")) as anna:
        cookie = f"tongyao_session={anna.http.cookies['tongyao_session']}"
        for headers, code in (({}, 200), ({"Host": "localhost:8701"}, 303)):
            answer = await anna.http.get("/console/", headers={"Cookie": cookie, **headers}, follow_redirects=False)
            assert answer.status_code == code


async def test_a_form_of_another_site_is_refused(gateway: GatewayHarness) -> None:
    async with gateway.visitor(await gateway.person("p-anna")) as anna, gateway.visitor() as stranger:
        token = (await anna.get("/")).all("[name=form_token]")[0].value
        foreign = (await stranger.get("/enter")).all("[name=form_token]")[0].value
        for fields, headers in (
            ({}, {}),
            ({"form_token": "made-up"}, {}),
            ({"form_token": foreign}, {}),
            ({"form_token": token}, {"Origin": "https://evil.example"}),
        ):
            refused = await anna.http.post("/console/leave", data=fields, headers=headers)
            assert refused.status_code == 403, fields
        assert await signed_in(anna)
        left = await anna.http.post("/console/leave", data={"form_token": token}, follow_redirects=False)
        assert left.status_code == 303
        assert not await signed_in(anna)


async def test_every_answer_forbids_what_is_not_its_own(gateway: GatewayHarness) -> None:
    async with gateway.visitor() as visitor:
        for path in ("/console/enter", "/console/nothing", "/console/static/style.css"):
            policy = (await visitor.http.get(path)).headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy


class _Kept:
    """A mail server that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []

    async def send(self, outgoing: Outgoing) -> None:
        self.sent.append(outgoing)


async def test_a_mail_carries_a_personal_link_to_what_waits(gateway: GatewayHarness) -> None:
    house, mail = await ferry(gateway), _Kept()
    repositories = gateway.context.repositories
    person = house.people["P03"]
    await repositories.notifications.set_channel(
        Channel(person=person, kind="mail", address="isbel@example.org", confirmed=True)
    )
    await house.start()
    await house.stack.asked(house.pid, "P03", 1)
    notifying = NotificationSender(repositories, {"mail": mail}, public_url="https://tongyao.example")

    async def told() -> list[str]:
        await notifying.once()
        return [one.text for one in mail.sent if one.data["process"] == house.pid]

    [text] = await until(told)
    link = next(word for word in text.split() if word.startswith("https://tongyao.example/console/"))
    async with gateway.visitor() as visitor:
        await visitor.get(link.removeprefix("https://tongyao.example/console"))
        assert (await visitor.submit("Sign in")).h1 == "One thing waits for you"
    await house.stack.say(house.pid, "cancel")


async def test_registration_is_open_where_only_this_machine_reaches_the_gateway(gateway: GatewayHarness) -> None:
    said = {"scene": await gateway.scene(), "name": "Anna Example", "text": "I keep bees."}
    outside = gateway.also(gateway_host="0.0.0.0")
    assert (await outside.ask("POST", "/profiles", json=said)).status_code == 403
    assert (await gateway.ask("POST", "/profiles", json=said)).status_code == 201


async def test_no_link_leads_away_from_the_page_that_shows_a_key_once(gateway: GatewayHarness) -> None:
    await gateway.scene()
    async with gateway.visitor() as visitor:
        await visitor.get("/enter")
        said = {
            "Who you are and what you do": "I keep bees and can give two hives.",
            "Your name": "Anna Example",
        }
        page = await visitor.submit("Join", said)
        assert page.one("#key").text
        assert not page.has_button("中文"), "the other language is a page without the key"
        page = await visitor.follow("I have saved it: continue")
        assert page.has_button("中文")


async def test_scenes_are_called_in_the_language_of_the_page(gateway: GatewayHarness) -> None:
    scene, operator = await gateway.scene(), await gateway.operator()
    await gateway.scene()
    body = {"title": "The valley", "titles": {"zh": "山谷"}}
    assert (await gateway.ask("PUT", f"/scenes/{scene}", operator, json=body)).status_code == 200
    for language, title in (("en", "The valley"), ("zh", "山谷")):
        async with gateway.visitor(language=language) as visitor:
            assert title in (await visitor.get("/enter")).one(f"option[value={scene}]").text
