"""What one caller can do to the others: no endless bodies, and no more requests than are theirs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, text_of
from tongyao.app.gateway_options import GatewayOptions
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.server import application


def limited(gateway: GatewayHarness, **options: Any) -> GatewayHarness:
    """The same stack behind a gateway with other options."""
    given = {"rate": "100000/minute", "join_rate": "100000/minute", "address_rate": "100000/minute", **options}
    context = replace(gateway.context, options=GatewayOptions.model_validate(given))
    return GatewayHarness(gateway.stack, context, application(context), gateway.engine)


async def test_a_body_beyond_the_limit_is_refused_whether_it_says_its_length_or_not(gateway: GatewayHarness) -> None:
    few = limited(gateway, max_body_bytes=2_000, small_body_bytes=2_000)
    said = {"scene": await gateway.scene(), "name": "Anna", "text": "I keep bees."}
    assert (await few.ask("POST", "/profiles", json=said)).status_code == 201
    long = await few.ask("POST", "/profiles", json={**said, "text": "x" * 3_000})
    assert (long.status_code, long.json()["code"]) == (413, "too_long")

    async def endless() -> AsyncIterator[bytes]:
        yield b'{"text": "'
        for _ in range(100):
            yield b"x" * 100
        raise AssertionError("read to its end")

    streamed = await few.ask("POST", "/profiles", content=endless(), headers={"Content-Type": "application/json"})
    assert (streamed.status_code, streamed.json()["code"]) == (413, "too_long")
    assert (await few.ask("POST", "/mcp", content=b"x" * 3_000)).status_code == 413


async def test_each_token_has_its_own_rate_and_is_told_when_to_come_again(gateway: GatewayHarness) -> None:
    few = limited(gateway, rate="3/minute")
    one, other = await gateway.person("busy"), await gateway.person("calm")
    answers = [await few.ask("GET", "/me", one) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].json()["code"] == "too_often" and int(answers[-1].headers["Retry-After"]) <= 60
    assert (await few.ask("GET", "/me", other)).status_code == 200


async def test_guessing_tokens_is_limited_by_address(gateway: GatewayHarness) -> None:
    few = limited(gateway, rate="3/minute")
    codes = [(await few.ask("GET", "/me", f"ty_guess{number}")).status_code for number in range(5)]
    assert codes == [401, 401, 401, 429, 429]


async def test_registrations_are_limited_by_address_and_can_be_closed(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    said = {"scene": scene, "name": "Anna", "text": "I keep bees."}
    few = limited(gateway, join_rate="2/hour")
    assert [(await few.ask("POST", "/profiles", json=said)).status_code for _ in range(3)] == [201, 201, 429]
    assert (await few.ask("POST", "/profiles", await gateway.operator(), json=said)).status_code == 201
    shut = limited(gateway, open_registration=False)
    assert (await shut.ask("POST", "/profiles", json=said)).status_code == 403


async def test_agents_have_the_same_limits(gateway: GatewayHarness) -> None:
    few = limited(gateway, rate="2/minute")
    async with McpClient(make_server(few.context, token=await gateway.person("busy-agent"))) as client:
        results = [await client.call_tool("pending", {}) for _ in range(3)]
    assert [one.is_error for one in results] == [False, False, True]
    assert "too_often" in text_of(results[-1])


@pytest.mark.parametrize("rate", ["often", "0/x", ""])
def test_a_rate_that_is_none_is_refused_with_the_settings(rate: str) -> None:
    with pytest.raises(ValueError, match="for GatewayOptions\nrate"):
        GatewayOptions(rate=rate)
