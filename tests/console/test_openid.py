"""Signing in by OpenID Connect, with a provider on loopback: whom an account opens, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from playwright.async_api import Browser
from pydantic import SecretStr
from structlog.testing import capture_logs

from tests.console.conftest import Console
from tests.console.looking import looks_right
from tests.gateway.conftest import GatewayHarness
from tests.support.openid_provider import CLIENT, SECRET, Provider, new_key, openid_provider
from tests.support.serving import served
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.context import OpenIDAccount
from tongyao.app.errors import BadInput, NotAllowed, Unavailable
from tongyao.app.people.erasure import erase
from tongyao.app.people.openid import connect_account
from tongyao.app.people.sessions import issue_link
from tongyao.gateway.console.routes import enter as routes
from tongyao.gateway.outbound import openid as outbound
from tongyao.gateway.outbound.openid import OpenIDConnect
from tongyao.records.people.tokens import Token
from tongyao.records.repositories import Repositories

GROUP = "keepers"
HOURS = 2


class Place:
    """A gateway at which people sign in with the accounts of `provider`."""

    def __init__(self, harness: GatewayHarness, provider: Provider) -> None:
        self.harness, self.provider = harness, provider

    @property
    def repositories(self) -> Repositories:
        return self.harness.context.repositories

    async def person(self, subject: str = "") -> Person:
        """Somebody new with a session; with `subject` this account is connected with them."""
        joined = await self.harness.join(await self.harness.scene())
        person = Person(Visitor(self), joined["profile_id"], joined["token"])
        assert (await person.browser.enter(person.token)).status_code == 303
        if subject:
            answer = await person.connect(subject)
            assert answer.headers.get("location") == "/console/me?done=connected", answer.text
        return person


class Visitor:
    """A browser by hand: cookies and forms, no pages."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.http = browser_by_hand(place)

    async def form_token(self, path: str) -> str:
        return field((await self.http.get(path)).text, "form_token")

    async def enter(self, secret: str) -> httpx.Response:
        fields = {"form_token": await self.form_token("/console/enter"), "secret": secret}
        return await self.http.post("/console/enter", data=fields)

    async def to_provider(self, *, connect: bool = False) -> str:
        """The page of the provider that the gateway sends this browser to."""
        sent = await self.http.get("/console/openid", params={"connect": "true"} if connect else None)
        assert sent.status_code == 303, sent.text
        return sent.headers["location"]

    async def at_provider(self, subject: str, *, connect: bool = False, **claims: Any) -> str:
        """The address to which the provider sends this browser back when `subject` has signed in."""
        self.place.provider.user = {"sub": subject, **claims}
        return await returned(await self.to_provider(connect=connect))

    async def sign_in(self, subject: str, **claims: Any) -> httpx.Response:
        return await self.http.get(await self.at_provider(subject, **claims))

    async def signed_in(self) -> bool:
        return (await self.http.get("/console/")).status_code == 200


def browser_by_hand(place: Place, **more: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=place.harness.app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8700", follow_redirects=False, **more)


class Person:
    def __init__(self, browser: Visitor, id: str, token: str) -> None:
        self.browser, self.id, self.token = browser, id, token

    async def connect(self, subject: str, **claims: Any) -> httpx.Response:
        page = await self.browser.http.get(await self.browser.at_provider(subject, connect=True, **claims))
        assert page.status_code == 200, page.text
        fields = {name: field(page.text, name) for name in ("form_token", "account")}
        return await self.browser.http.post("/console/openid", data=fields)

    async def disconnect(self) -> httpx.Response:
        fields = {"form_token": await self.browser.form_token("/console/me"), "do": "no_account"}
        return await self.browser.http.post("/console/me", data=fields)


def field(html: str, name: str) -> str:
    return html.split(f'name="{name}" value="', 1)[1].split('"', 1)[0]


async def returned(address: str) -> str:
    async with httpx.AsyncClient(follow_redirects=False, verify=False) as http:  # without TLS: no certificates to load
        answer = await http.get(address)
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


def connection(provider: Provider, **more: Any) -> OpenIDConnect:
    given: dict[str, Any] = {
        "client_id": CLIENT,
        "client_secret": SecretStr(SECRET),
        "label": "the valley's accounts",
        "operator_group": GROUP,
        "operator_hours": HOURS,
    }
    return OpenIDConnect(provider.url, **{**given, **more})


class Current:
    """The connection of the test that runs. One application serves all tests of this file: to make one takes a while."""

    def __init__(self) -> None:
        self.connection: OpenIDConnect | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


@pytest.fixture(scope="module")
async def shared(gateway: GatewayHarness) -> tuple[GatewayHarness, Current]:
    current = Current()
    return gateway.also(openid=current), current


@pytest.fixture
async def place(shared: tuple[GatewayHarness, Current]) -> AsyncIterator[Place]:
    """With a provider of its own, of which the gateway knows nothing yet."""
    harness, current = shared
    async with openid_provider() as provider:
        current.connection = connection(provider)
        yield Place(harness, provider)


@asynccontextmanager
async def opened(gateway: GatewayHarness, **more: Any) -> AsyncIterator[Place]:
    """With other settings."""
    async with openid_provider() as provider:
        yield Place(gateway.also(openid=connection(provider, **more)), provider)


def code_of(answer: httpx.Response) -> str:
    return answer.text.split('data-code="', 1)[1].split('"', 1)[0]


async def session_of(place: Place, person: str | None) -> Token:
    """The newest session of a person, or of operators."""
    tokens = await place.repositories.tokens.list(person=person)
    return next(token for token in tokens if token.kind == "session" and token.person == person)


async def test_an_account_that_a_person_connected_opens_them_in_another_browser(place: Place) -> None:
    anna = await place.person("a-1")
    page = (await anna.browser.http.get("/console/me")).text
    assert "you can sign in with your account of the valley&#39;s accounts" in page
    elsewhere = Visitor(place)
    answer = await elsewhere.sign_in("a-1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/")
    assert anna.id in (await elsewhere.http.get("/console/me")).text
    kept = answer.headers["set-cookie"].lower()
    assert "httponly" in kept and "samesite=lax" in kept


async def test_a_person_signs_in_and_out_in_a_real_browser(place: Place, browser: Browser) -> None:
    """Chromium goes from one site to the other and back with the cookie, and the pages' own policy lets it."""
    anna = await place.person()
    async with served(place.harness.app) as url:
        await in_and_out(Console(place.harness, browser, url), place, anna)


async def in_and_out(console: Console, place: Place, anna: Person) -> None:
    place.provider.user = {"sub": "a-2", "preferred_username": "anna.b"}
    async with console.visitor(anna.token) as page:
        await page.goto(f"{console.url}/console/me")
        await page.get_by_role("link", name="Sign in with the valley's accounts from now on").click()
        await page.get_by_text("Account: anna.b").wait_for()
        await looks_right(page, ("light", "dark"))
        await page.get_by_role("button", name="Connect it").click()
        await page.get_by_text("The account is connected").wait_for()
        await looks_right(page)
    async with console.visitor(language="zh") as page:
        await page.goto(f"{console.url}/console/enter")
        await looks_right(page)
        await page.get_by_role("link", name="用 the valley's accounts 登录").click()
        await page.wait_for_url("**/console/")
        await page.get_by_role("button", name="退出登录").click()
        await page.wait_for_url("**/console/enter")
        await page.goto(f"{console.url}/console/")
        await page.wait_for_url("**/console/enter")
        place.provider.user = {"sub": "somebody else"}
        await page.goto(f"{console.url}/console/openid")
        await page.get_by_text("账号：somebody else").wait_for()
        await looks_right(page, ("light", "dark"))


async def test_a_person_is_told_that_an_account_was_connected(place: Place) -> None:
    anna = await place.person("told")
    async with place.repositories.pool.connection() as connection:
        cursor = await connection.execute("SELECT about FROM notifications WHERE person = %s", [anna.id])
        assert {"what": "account_connected"} in [row["about"] for row in await cursor.fetchall()]


async def test_an_unknown_account_opens_nobody_and_is_told_how_to_connect(place: Place) -> None:
    """Neither the mail address nor the name at the provider connects an account."""
    anna = await place.person()
    stranger = Visitor(place)
    answer = await stranger.sign_in("stranger", email="anna@example.org", email_verified=True, name="Anna Example")
    assert answer.status_code == 403
    assert "is not connected" in answer.text and "page “Me”" in answer.text
    assert not await stranger.signed_in()
    assert await place.repositories.openid_links.of_person(anna.id) == []


async def test_the_group_makes_an_operator_for_the_hours_of_the_settings(place: Place) -> None:
    keeper = Visitor(place)
    assert (await keeper.sign_in("k-1", groups=["others", GROUP])).status_code == 303
    assert (await keeper.http.get("/console/operators")).status_code == 200
    assert (await keeper.http.get("/console/me")).status_code == 403
    session = await session_of(place, None)
    assert session.role == "operator" and session.expires_at is not None
    assert session.expires_at - datetime.now(UTC) <= timedelta(hours=HOURS)
    assert session.name == "openid k-1", "the operators' log says which account it was"


@pytest.mark.parametrize("groups", [None, [], ["keepers-of-bees"], "keepersX", {GROUP: True}, [[GROUP]], 1])
async def test_whoever_is_not_in_the_group_is_no_operator(place: Place, groups: Any) -> None:
    visitor = Visitor(place)
    assert (await visitor.sign_in("k-2", groups=groups)).status_code == 403
    assert not await visitor.signed_in()


async def test_the_group_is_looked_at_in_each_sign_in(place: Place) -> None:
    keeper = Visitor(place)
    assert (await keeper.sign_in("k-3", groups=GROUP)).status_code == 303
    assert (await keeper.sign_in("k-3", groups=[])).status_code == 403
    assert (await Visitor(place).sign_in("k-3")).status_code == 403


async def test_nobody_is_an_operator_where_no_group_is_set(gateway: GatewayHarness) -> None:
    async with opened(gateway, operator_group=None) as place:
        for groups in ([GROUP], [None], None, [""]):
            assert (await Visitor(place).sign_in("k-4", groups=groups)).status_code == 403


async def test_an_account_of_an_operator_is_connected_with_no_person(place: Place) -> None:
    anna = await place.person()
    assert code_of(await anna.connect("k-5", groups=[GROUP])) == "account_of_operator"
    await anna.connect("k-5")
    keeper = Visitor(place)
    await keeper.sign_in("k-5", groups=[GROUP])
    assert (await keeper.http.get("/console/me")).status_code == 403, "with the group it opens no person"


def _forged(place: Place, claims: dict[str, Any]) -> str:
    return place.provider.signed(claims, key=RSAKey.generate_key(2048, {"kid": "first"}))


def _by_hand(header: dict[str, str], claims: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    """What no library makes."""

    def encoded(part: bytes) -> bytes:
        return base64.urlsafe_b64encode(part).rstrip(b"=")

    begun = b".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
    return (begun + b"." + encoded(sign(begun))).decode()


def _unsigned(place: Place, claims: dict[str, Any]) -> str:
    return _by_hand({"alg": "none", "typ": "JWT"}, claims, lambda begun: b"")


def _keyed_with_the_public_key(place: Place, claims: dict[str, Any]) -> str:
    secret = place.provider.key.as_pem(private=False)
    header = {"alg": "HS256", "kid": "first"}
    return _by_hand(header, claims, lambda begun: hmac.digest(secret, begun, "sha256"))


def _with_its_own_key(place: Place, claims: dict[str, Any]) -> str:
    key = ECKey.generate_key("P-256")
    return jwt.encode({"alg": "ES256", "jwk": key.as_dict(private=False)}, claims, key)


BAD_CLAIMS: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "of-another-sign-in"},
    "no nonce": {"nonce": None},
    "another audience": {"aud": ["another-client"]},
    "for several, and not given to us": {"aud": ["another-client", CLIENT], "azp": "another-client"},
    "no audience": {"aud": None},
    "another issuer": {"iss": "https://accounts.example.org"},
    "expired": {"exp": int(time.time()) - 120, "iat": int(time.time()) - 600},
    "no end": {"exp": None},
    "of the future": {"iat": int(time.time()) + 3600},
    "nobody": {"sub": None},
    "an empty subject": {"sub": ""},
    "a subject that is no text": {"sub": 7},
    "another access token": {"at_hash": "b2YgYW5vdGhlciB0b2tlbg"},
}
BAD_TOKENS: dict[str, Callable[[Place, dict[str, Any]], str]] = {
    "signed by somebody else": _forged,
    "not signed": _unsigned,
    "signed with the public key as a secret": _keyed_with_the_public_key,
    "signed with the key that it brings": _with_its_own_key,
    "no token": lambda place, claims: "no.token",
    "not text": lambda place, claims: cast(str, {"of": "claims"}),
}


@pytest.mark.parametrize("case", [*BAD_CLAIMS, *BAD_TOKENS])
async def test_an_id_token_that_does_not_hold_signs_in_nobody(place: Place, case: str) -> None:
    subject = f"account-{uuid.uuid4()}"  # the cases share a database, and two providers may get the same port
    await place.person(subject)
    provider = place.provider
    provider.says = BAD_CLAIMS.get(case, {})
    if case in BAD_TOKENS:
        provider.token_of = lambda claims: BAD_TOKENS[case](place, claims)
    visitor = Visitor(place)
    with capture_logs() as logged:
        answer = await visitor.sign_in(subject, groups=[GROUP])
    assert (answer.status_code, code_of(answer)) == (403, "sign_in_refused")
    assert not await visitor.signed_in()
    assert "sign-in by OpenID Connect refused" in [line["event"] for line in logged]
    assert subject not in str(logged) and SECRET not in str(logged)
    provider.says, provider.token_of = {}, None
    assert (await visitor.sign_in(subject)).status_code == 303, "the same with the right token"


async def test_a_sign_in_of_another_browser_is_refused(place: Place) -> None:
    """Login CSRF: somebody sends a visitor the end of a sign-in with their own account."""
    mallory, victim = await place.person("mallory"), await place.person()
    address = await mallory.browser.at_provider("mallory")
    for browser in (victim.browser, Visitor(place)):
        answer = await browser.http.get(address)
        assert (answer.status_code, code_of(answer)) == (403, "sign_in_foreign")
    assert victim.id in (await victim.browser.http.get("/console/me")).text
    assert (await mallory.browser.http.get(address)).status_code == 303


async def test_an_account_of_somebody_else_is_not_connected_from_outside(place: Place) -> None:
    mallory, victim = await place.person(), await place.person()
    address = await mallory.browser.at_provider("mallory-2", connect=True)
    assert code_of(await victim.browser.http.get(address)) == "sign_in_foreign"
    page = (await mallory.browser.http.get(address)).text
    fields = {"form_token": await victim.browser.form_token("/console/me"), "account": field(page, "account")}
    assert code_of(await victim.browser.http.post("/console/openid", data=fields)) == "sign_in_foreign"
    own = await victim.browser.http.get(await victim.browser.at_provider("mallory-2", connect=True))
    assert own.status_code == 200, "what somebody was shown connects nothing until they say yes"
    assert (
        await victim.browser.http.post("/console/openid", data={"account": field(own.text, "account")})
    ).status_code == 403
    assert await place.repositories.openid_links.of_person(victim.id) == []


async def test_a_code_of_another_sign_in_is_refused_by_its_challenge(place: Place) -> None:
    await place.person("a-4")
    mallory, victim = Visitor(place), Visitor(place)
    code = parse_qs(urlsplit(await mallory.at_provider("a-4")).query)["code"][0]
    sent = parse_qs(urlsplit(await victim.to_provider()).query)
    assert sent["code_challenge_method"] == ["S256"]
    answer = await victim.http.get("/console/openid/back", params={"code": code, "state": sent["state"][0]})
    assert code_of(answer) == "sign_in_refused" and not await victim.signed_in()


@pytest.mark.parametrize("change", ["state=", "state=made-up", "", "none"])
async def test_an_answer_without_its_state_is_refused(place: Place, change: str) -> None:
    visitor = Visitor(place)
    address = urlsplit(await visitor.at_provider("a-5"))
    code = parse_qs(address.query)["code"][0]
    query = "" if change == "none" else f"?code={code}&{change}"
    answer = await visitor.http.get(f"/console/openid/back{query}")
    assert (answer.status_code, code_of(answer)) == (403, "sign_in_foreign")
    assert "/token" not in place.provider.asked


async def test_a_sign_in_that_took_too_long_is_begun_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = Visitor(place)
    address = await visitor.at_provider("a-6")
    monkeypatch.setattr(routes, "_SECONDS", -1)
    assert code_of(await visitor.http.get(address)) == "sign_in_foreign"


async def test_an_answer_of_another_issuer_is_refused(place: Place) -> None:
    visitor = Visitor(place)
    address = await visitor.at_provider("a-7")
    answer = await visitor.http.get(address, params={**httpx.URL(address).params, "iss": "https://other.example"})
    assert code_of(answer) == "sign_in_refused" and "/token" not in place.provider.asked


async def test_an_answer_opens_one_session(place: Place) -> None:
    await place.person("a-8")
    visitor = Visitor(place)
    address = await visitor.at_provider("a-8")
    cookies = dict(visitor.http.cookies)
    assert (await visitor.http.get(address)).status_code == 303
    again = browser_by_hand(place, cookies=cookies)
    assert code_of(await again.get(address)) == "sign_in_refused"


async def test_whoever_refuses_at_the_provider_is_told_that_they_are_not_signed_in(place: Place) -> None:
    visitor = Visitor(place)
    place.provider.user = None
    answer = await visitor.http.get(await returned(await visitor.to_provider()))
    assert (answer.status_code, code_of(answer)) == (403, "sign_in_refused")


async def test_a_session_cannot_be_fixed_before_a_sign_in(place: Place) -> None:
    await place.person("a-9")
    visitor = Visitor(place)
    visitor.http.cookies.set("tongyao_session", "chosen-by-somebody-else", path="/console")
    answer = await visitor.sign_in("a-9")
    assert answer.status_code == 303 and "chosen-by-somebody-else" not in answer.headers["set-cookie"]
    assert await visitor.signed_in()
    other = Visitor(place)
    other.http.cookies.set("tongyao_session", "chosen-by-somebody-else", path="/console")
    assert not await other.signed_in()


async def test_a_sign_in_ends_the_session_before_it(place: Place) -> None:
    await place.person("a-10")
    bo = await place.person()
    before = bo.browser.http.cookies["tongyao_session"]
    await bo.browser.sign_in("a-10")
    late = Visitor(place)
    late.http.cookies.set("tongyao_session", before, path="/console")
    assert not await late.signed_in()


async def test_no_address_leads_away_after_a_sign_in(place: Place) -> None:
    await place.person("a-11")
    away = "https://evil.example/"
    params = dict.fromkeys(("next", "back", "redirect_uri", "return_to"), away)
    visitor = Visitor(place)
    sent = await visitor.http.get("/console/openid", params=params)
    assert "evil" not in sent.headers["location"]
    assert sent.headers["location"].startswith(f"{place.provider.url}/authorize?")
    place.provider.user = {"sub": "a-11"}
    address = await returned(sent.headers["location"])
    answer = await visitor.http.get(address, params={**httpx.URL(address).params, **params})
    assert answer.headers["location"] == "/console/"


async def test_the_address_to_come_back_to_is_the_public_one(place: Place) -> None:
    harness = place.harness.also(public_url="https://tongyao.example.org/")
    async with harness.client() as http:
        sent = await http.get("/console/openid")
    asked = parse_qs(urlsplit(sent.headers["location"]).query)
    assert asked["redirect_uri"] == ["https://tongyao.example.org/console/openid/back"]


AWAY: dict[str, Callable[[Provider], None]] = {
    "silent": lambda provider: setattr(provider, "silent", True),
    "failing": lambda provider: setattr(provider, "status", 503),
    "refusing": lambda provider: setattr(provider, "status", 404),
    "of another name": lambda provider: provider.document.update(issuer="https://other.example"),
    "with keys elsewhere": lambda provider: provider.document.update(jwks_uri="https://keys.example/keys"),
    "with tokens on another port": lambda provider: provider.document.update(token_endpoint="http://127.0.0.1:9/token"),
    "with a page that is no address": lambda provider: provider.document.update(authorization_endpoint="javascript:1"),
    "without keys": lambda provider: provider.document.update(jwks_uri=None),
}


@pytest.mark.parametrize("how", AWAY)
async def test_a_provider_that_cannot_be_used_leaves_the_other_ways_in(
    place: Place, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound, "SECONDS", 0.5)
    AWAY[how](place.provider)
    anna = await place.person()
    visitor = Visitor(place)
    began = time.monotonic()
    answer = await visitor.http.get("/console/openid", headers={"Accept-Language": "zh"})
    assert time.monotonic() - began < 10
    assert (answer.status_code, code_of(answer)) == (503, "sign_in_away")
    assert "用不了登录服务" in answer.text and "个人链接" in answer.text
    link = await issue_link(place.harness.context, Caller(Role.PERSON, anna.id), anna.id)
    assert (await visitor.enter(link.secret)).status_code == 303 and await visitor.signed_in()


async def test_a_provider_that_goes_away_during_a_sign_in_signs_in_nobody(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound, "SECONDS", 0.5)
    await place.person("a-12")
    visitor = Visitor(place)
    address = await visitor.at_provider("a-12")
    place.provider.silent = True
    answer = await visitor.http.get(address)
    assert (answer.status_code, code_of(answer)) == (503, "sign_in_away")
    assert not await visitor.signed_in()


async def test_a_provider_at_no_address_is_away(gateway: GatewayHarness) -> None:
    with pytest.raises(Unavailable):
        await OpenIDConnect("http://127.0.0.1:9", client_id=CLIENT).discover()


async def test_addresses_of_named_hosts_are_used(gateway: GatewayHarness) -> None:
    async with openid_provider() as provider:
        provider.document["jwks_uri"] = "https://keys.example/keys"
        assert (await connection(provider, hosts=("keys.example",)).discover()).jwks_uri == "https://keys.example/keys"
        provider.document["jwks_uri"] = "http://keys.example/keys"
        with pytest.raises(Unavailable):
            await connection(provider, hosts=("keys.example",)).discover()


async def test_the_provider_is_asked_for_its_document_once_in_a_while(place: Place) -> None:
    for _ in range(3):
        await Visitor(place).to_provider()
    assert place.provider.asked == ["/.well-known/openid-configuration"]


async def test_a_key_that_the_provider_changed_is_used_at_once(place: Place) -> None:
    await place.person("a-13")
    place.provider.key = new_key()
    assert (await Visitor(place).sign_in("a-13")).status_code == 303


async def test_a_secret_that_the_provider_does_not_know_signs_in_nobody(gateway: GatewayHarness) -> None:
    async with opened(gateway, client_secret=SecretStr("wrong")) as place:
        assert code_of(await Visitor(place).sign_in("a-14", groups=[GROUP])) == "sign_in_refused"


async def test_two_people_cannot_hold_one_account(place: Place) -> None:
    await place.person("shared")
    bo = await place.person("bo-own")
    answer = await bo.connect("shared")
    assert (answer.status_code, code_of(answer)) == (422, "account_taken")
    assert (await Visitor(place).sign_in("bo-own")).status_code == 303, "the account they had stays connected"


async def test_of_two_who_connect_one_account_at_once_one_holds_it(place: Place) -> None:
    people = [await place.person() for _ in range(4)]
    account = OpenIDAccount("at-once", "at-once", operator=False)
    done = await asyncio.gather(
        *(connect_account(place.harness.context, Caller(Role.PERSON, one.id), account) for one in people),
        return_exceptions=True,
    )
    assert [type(one) for one in done if one is not None] == [BadInput] * 3
    links = [await place.repositories.openid_links.of_person(one.id) for one in people]
    assert sum(map(len, links)) == 1


async def test_another_account_takes_the_place_of_the_first(place: Place) -> None:
    anna = await place.person("first")
    await anna.connect("second")
    assert (await Visitor(place).sign_in("first")).status_code == 403
    assert (await Visitor(place).sign_in("second")).status_code == 303


async def test_an_account_that_was_disconnected_opens_nothing_and_other_browsers_are_signed_out(place: Place) -> None:
    anna = await place.person("a-15")
    elsewhere = Visitor(place)
    await elsewhere.sign_in("a-15")
    assert (await anna.disconnect()).headers["location"] == "/console/me?done=no_account"
    assert await anna.browser.signed_in() and not await elsewhere.signed_in()
    assert (await Visitor(place).sign_in("a-15")).status_code == 403
    bo = await place.person("a-15")
    assert bo.id in (await bo.browser.http.get("/console/me")).text


async def test_an_account_opens_no_longer_than_the_token_with_which_it_was_connected(place: Place) -> None:
    tokens = place.repositories.tokens
    anna = await place.person()
    lent = await tokens.issue("person", person=anna.id, lasts=timedelta(hours=1))
    await anna.browser.enter(lent.secret)
    await anna.connect("lent")
    elsewhere = Visitor(place)
    assert (await elsewhere.sign_in("lent")).status_code == 303
    session = await session_of(place, anna.id)
    assert session.expires_at is not None and session.expires_at - datetime.now(UTC) <= timedelta(hours=1)
    await tokens.revoke(lent.token.id)
    assert not await elsewhere.signed_in()
    assert (await Visitor(place).sign_in("lent")).status_code == 403
    await anna.browser.enter(anna.token)
    await anna.connect("lent")
    assert (await Visitor(place).sign_in("lent")).status_code == 303


async def test_neither_an_operator_nor_a_token_for_one_process_connects_an_account(place: Place) -> None:
    anna, account = await place.person(), OpenIDAccount("k-7", "k-7", operator=False)
    for caller in (
        Caller(Role.PARTICIPANT, anna.id, "p-1", "P01"),
        Caller(Role.OPERATOR, id="cli", on_the_machine=True),
    ):
        with pytest.raises(NotAllowed):
            await connect_account(place.harness.context, caller, account)
    operator = Visitor(place)
    await operator.enter(await place.harness.operator())
    page = await operator.http.get(await operator.at_provider("k-6", connect=True))
    fields = {name: field(page.text, name) for name in ("form_token", "account")}
    assert code_of(await operator.http.post("/console/openid", data=fields)) == "not_allowed"
    nobody = Visitor(place)
    assert (await nobody.http.get("/console/openid?connect=true")).headers["location"] == "/console/enter"


async def test_erasure_removes_the_account_and_an_export_names_it(place: Place) -> None:
    anna = await place.person("erased")
    exported = (await anna.browser.http.get("/console/me/export")).json()["sign_ins"]
    assert [(one["issuer"], set(one)) for one in exported] == [
        (place.provider.url, {"issuer", "account", "created_at"})
    ]
    await erase(place.harness.context, Caller(Role.PERSON, anna.id), anna.id)
    assert await place.repositories.openid_links.of_person(anna.id) == []
    answer = await Visitor(place).sign_in("erased")
    assert answer.status_code == 403 and "is not connected" in answer.text


async def test_the_records_hold_no_id_of_an_account(place: Place) -> None:
    anna = await place.person("an-id-nobody-keeps")
    (link,) = await place.repositories.openid_links.of_person(anna.id)
    assert "an-id-nobody-keeps" not in link.model_dump_json()


async def test_without_a_provider_nothing_is_offered(gateway: GatewayHarness) -> None:
    async with gateway.client() as http:
        assert "/console/openid" not in (await http.get("/console/enter")).text
        for path in ("/console/openid", "/console/openid/back?code=1&state=2"):
            answer = await http.get(path)
            assert (answer.status_code, code_of(answer)) == (501, "openid_off")
