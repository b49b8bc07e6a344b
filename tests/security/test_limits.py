"""One client may not take what belongs to all: work before limits, connections, streams, storage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, text_of, until_served
from tests.security.conftest import limited
from tests.support.until import until
from tongyao.app.people.sessions import open_session
from tongyao.gateway.access.addresses import ClientAddresses, accepted_hosts
from tongyao.gateway.access.admission import Admission
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.server import application, listen, serve, url_of


async def test_more_tokens_give_no_more_requests(whole: GatewayHarness) -> None:
    few = limited(whole, rate="3/minute")
    tokens = [await few.person("busy-person") for _ in range(4)]
    assert [(await few.ask("GET", "/me", token)).status_code for token in tokens] == [200, 200, 200, 429]


async def test_api_and_mcp_share_one_limit(whole: GatewayHarness) -> None:
    few = limited(whole, rate="3/minute")
    token = await few.person("agent-of-somebody")
    for _ in range(2):
        assert (await few.ask("GET", "/me", token)).status_code == 200
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pending", "arguments": {}}}
    headers = {"Accept": "application/json, text/event-stream"}
    async with few.app.router.lifespan_context(few.app):
        answers = [await few.ask("POST", "/mcp", token, json=call, headers=headers) for _ in range(2)]
    assert answers[0].status_code != 429
    assert answers[1].status_code == 429


async def test_an_address_is_counted_before_any_token_is_looked_up(whole: GatewayHarness) -> None:
    few = limited(whole, address_rate="2/minute")
    codes = [(await few.ask("GET", "/me", f"ty_guess{number}")).status_code for number in range(3)]
    assert codes == [401, 401, 429]


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.1", "127.0.0.1"),
        ("10.0.0.2", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.2", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.2", "198.51.100.1, 10.0.0.3", "198.51.100.1"),
        ("10.0.0.2", "not an address", "10.0.0.2"),
        ("2001:db8:1:2:aaaa::1", "", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::2", "", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "", "203.0.113.9"),
    ],
)
def test_nobody_is_counted_under_an_address_they_made_up(peer: str, forwarded: str, counted: str) -> None:
    addresses = ClientAddresses(("10.0.0.0/24",))
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    assert addresses.of({"type": "http", "client": (peer, 1), "headers": headers}) == counted


async def test_nobody_holds_more_streams_or_requests_than_their_share(whole: GatewayHarness) -> None:
    few = limited(whole, most_streams=2, most_requests=3)
    scene = await few.scene()
    one, other = await few.join(scene), await few.join(scene, "I mend nets.", name="Bo Example")
    person = await few.join(scene, "I row boats and teach it.", name="Cy Example")
    said = {"intent": "I want a boat.", "participants": [other["profile_id"], person["profile_id"]]}
    pid = (await few.ask("POST", "/processes", one["token"], json=said)).json()["id"]
    stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
    serving = asyncio.create_task(serve(few.context, stop, bound))
    await until_served(url_of(bound))
    try:
        async with httpx.AsyncClient(base_url=url_of(bound)) as http:
            mine = {"Authorization": f"Bearer {one['token']}"}
            opened = [
                await http.send(http.build_request("GET", f"/processes/{pid}/events", headers=mine), stream=True)
                for _ in range(3)
            ]
            assert [answer.status_code for answer in opened] == [200, 200, 429]
            assert (await http.get("/me", headers=mine)).status_code == 200, "streams take nothing from other requests"
            for answer in opened:
                await answer.aclose()
    finally:
        stop.set()
        await serving
        await few.ask("POST", f"/processes/{pid}/messages", one["token"], json={"kind": "cancel"})


async def test_a_stranger_holds_no_more_streams_of_mcp_than_eight(whole: GatewayHarness) -> None:
    """`GET /mcp` needs no token and does not end by itself."""
    few = limited(whole)
    assert few.context.options.most_streams == 8
    stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
    serving = asyncio.create_task(serve(few.context, stop, bound))
    await until_served(url_of(bound))
    opened: list[httpx.Response] = []
    try:
        async with httpx.AsyncClient(base_url=url_of(bound)) as http:
            ask = http.build_request("GET", "/mcp", headers={"Accept": "text/event-stream"})
            for _ in range(8):
                opened.append(await http.send(ask, stream=True))
            assert [answer.status_code for answer in opened] == [200] * 8
            assert (await http.send(ask)).status_code == 429
            assert (await http.get("/scenes")).status_code == 200, "streams take nothing from other requests"
            await opened.pop().aclose()

            async def let_in() -> httpx.Response | None:
                again = await http.send(ask, stream=True)
                if again.status_code != 429:
                    return again
                await again.aclose()
                return None

            again = await until(let_in, "the stream that was closed is counted no more")
            assert again is not None
            opened.append(again)
            assert again.status_code == 200, "whoever closes one may open another"
            for answer in opened:
                await answer.aclose()
    finally:
        stop.set()
        await serving


async def test_slow_bodies_of_strangers_shut_nobody_out_of_the_console_who_is_signed_in(whole: GatewayHarness) -> None:
    """They come from the same address: a household, an office, every user of the machine."""
    few = limited(whole, most_requests=2)
    joined = await few.join(await few.scene())
    opened = await open_session(few.context, joined["token"], place="http://127.0.0.1:8700")
    cookie = {"Cookie": f"tongyao_session={opened.secret}"}
    begun, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"secret="
        begun.release()
        await go_on.wait()

    form = {"Content-Type": "application/x-www-form-urlencoded"}
    bodies = [asyncio.create_task(few.ask("POST", "/console/enter", content=slow(), headers=form)) for _ in range(2)]
    for _ in bodies:
        await begun.acquire()
    try:
        assert (await few.ask("GET", "/console/enter")).status_code == 429, "strangers of the address have their share"
        assert (await few.ask("GET", "/console/me", headers=cookie)).status_code == 200
    finally:
        go_on.set()
        await asyncio.gather(*bodies)


async def test_no_answer_of_the_api_is_kept_by_a_cache(whole: GatewayHarness) -> None:
    for path in ("/me", "/scenes", "/profiles/p-unknown", "/nowhere"):
        headers = (await whole.ask("GET", path)).headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "gateway", ""])
async def test_another_host_name_is_not_answered(whole: GatewayHarness, host: str) -> None:
    served = replace(whole.context, public_url="https://tongyao.example/")
    gateway = GatewayHarness(whole.stack, served, application(served), whole.engine)
    for path in ("/scenes", "/mcp", "/console/"):
        assert (await gateway.ask("GET", path, headers={"Host": host})).status_code == 400
    for good in ("tongyao.example", "tongyao.example:443", "localhost:8700"):
        assert (await gateway.ask("GET", "/scenes", headers={"Host": good})).status_code == 200
    assert accepted_hosts("https://tongyao.example", "0.0.0.0")[-1] == "tongyao.example"


async def test_nobody_keeps_more_here_than_their_quotas(whole: GatewayHarness) -> None:
    few = limited(whole, most_open_processes=1, most_versions=2, most_tokens=2, most_stored_chars=2_000)
    scene = await few.scene()
    one, bo = await few.join(scene), await few.join(scene, "I mend nets.", name="Bo Example")
    cy = await few.join(scene, "I row boats and teach it.", name="Cy Example")
    token, mine = one["token"], f"/profiles/{one['profile_id']}"

    said = {"intent": "I want a boat.", "participants": [bo["profile_id"], cy["profile_id"]]}
    first = await few.ask("POST", "/processes", token, json=said, key="first")
    assert first.status_code == 201, first.text
    assert (await few.ask("POST", "/processes", token, json=said, key="first")).status_code == 201, "the same again"
    second = await few.ask("POST", "/processes", token, json=said)
    assert (second.status_code, second.json()["code"]) == (409, "too_many_processes")
    pid = first.json()["id"]
    assert (await few.ask("POST", f"/processes/{pid}/messages", token, json={"kind": "cancel"})).status_code == 200

    long = await few.ask("PUT", mine, token, json={"text": "y" * 2_000})
    assert long.json()["code"] == "storage_full"
    assert (await few.ask("PUT", mine, token, json={"text": "I keep bees and goats."})).status_code == 200
    assert (await few.ask("PUT", mine, token, json={"text": "I keep goats."})).json()["code"] == "too_many_versions"

    assert (await few.ask("POST", "/tokens", token, json={"role": "person"})).status_code == 201
    assert (await few.ask("POST", "/tokens", token, json={"role": "person"})).json()["code"] == "too_many_tokens"


async def test_a_mandate_counts_as_what_is_kept_of_a_person(whole: GatewayHarness) -> None:
    few = limited(whole, most_stored_chars=2_000)
    joined = await few.join(await few.scene())
    place = f"/profiles/{joined['profile_id']}/mandate"
    assert (await few.ask("PUT", place, joined["token"], json={"addition": "Be kind."})).status_code == 200
    full = await few.ask("PUT", place, joined["token"], json={"addition": "x" * 2_000})
    assert full.json()["code"] == "storage_full"


@pytest.mark.parametrize(
    ("path", "most"),
    [("/processes/c-1/events", "most_streams"), ("/mcp", "most_streams"), ("/console/processes/c-1/live", "most_pages"),
     ("/profiles/p-1/export", "most_large"), ("/console/inbox", "most_requests")],
)  # fmt: skip
async def test_streams_and_what_takes_much_memory_have_shares_of_their_own(
    whole: GatewayHarness, path: str, most: str
) -> None:
    few = limited(whole, **{most: 1})
    entered, go = asyncio.Semaphore(0), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        entered.release()
        await go.wait()

    admission = Admission(app, context=few.context, limits=RateLimits(few.context.options))
    sent: list[Any] = []

    async def call(where: str) -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": where, "headers": [], "client": ("203.0.113.7", 1)}
        await admission(scope, None, send)  # type: ignore[arg-type]  # reason: no body is read

    first = asyncio.create_task(call(path))
    await entered.acquire()
    await call(path)
    assert sent[0]["status"] == 429
    other = asyncio.create_task(call("/scenes" if most != "most_requests" else "/console/processes/c-1/live"))
    await entered.acquire()
    go.set()
    await asyncio.gather(first, other)
    assert [one["status"] for one in sent if "status" in one] == [429]


ASKED_BY_A_PAGE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
FOLLOWED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


async def test_a_page_of_another_site_does_not_use_up_the_requests_of_who_reads_it(whole: GatewayHarness) -> None:
    few = limited(whole, address_rate="3/minute", rate="3/minute")
    for headers in (ASKED_BY_A_PAGE, FOLLOWED | {"Sec-Fetch-Dest": "iframe"}):
        refused = [await few.ask("GET", path, headers=headers) for path in ("/scenes", "/mcp", "/console/enter") * 2]
        assert {one.status_code for one in refused} == {403}
    assert (await few.ask("POST", "/console/join", headers=FOLLOWED, content="a=b")).status_code == 403
    assert (await few.ask("GET", "/scenes", headers=FOLLOWED)).status_code == 200, "a link that somebody follows"
    assert (await few.ask("GET", "/scenes", headers={"Sec-Fetch-Site": "same-origin"})).status_code == 200
    asked_by_the_ui = await few.ask("POST", "/codec/decode", headers=ASKED_BY_A_PAGE, json={"payloads": []})
    assert asked_by_the_ui.json()["code"] != "other_site"


async def test_nobody_tests_a_dictionary_on_the_profiles_of_others(whole: GatewayHarness) -> None:
    few = limited(whole, search_rate="2/hour")
    scene = await few.scene()
    joined = await few.join(scene)
    place = f"/scenes/{scene}/search"
    codes = [
        (await few.ask("POST", place, joined["token"], json={"text": word})).status_code for word in ("a b", "c", "d")
    ]
    assert [code == 429 for code in codes] == [False, False, True]
    async with McpClient(make_server(few.context, token=joined["token"], limits=few.app.state.rate_limits)) as client:
        answer = await client.call_tool("search", {"scene": scene, "text": "another word"})
        assert answer.is_error and "too_often" in text_of(answer)
    assert (await few.ask("POST", place, await few.operator(), json={"text": "e"})).status_code != 429
