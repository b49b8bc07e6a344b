"""The codec endpoint: Temporal's own tools show operators what is encrypted; nobody else, and never without a line in the log."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.converter import DataConverter

from tests.gateway.conftest import GatewayHarness
from tongyao.app.people.sessions import open_session
from tongyao.gateway.access.authentication import SESSION
from tongyao.records.privacy.keys import Keyring
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.serve_worker import plugin
from tongyao.runtime.temporal.payload_codec import PayloadEncryption

CANARY = "the lighthouse keeper's daughter"
UI = "http://temporal.example:8080"


@pytest.fixture
async def encrypting(gateway: GatewayHarness, temporal_server: LocalTemporal) -> GatewayHarness:
    codec = PayloadEncryption(Keyring(b"k" * 32))
    client = await Client.connect(temporal_server.address, plugins=[plugin(codec)])
    return gateway.also(client=client, temporal_ui=f"{UI}/namespaces/default/workflows")


async def wire(converter: DataConverter, *values: object) -> dict[str, Any]:
    """As Temporal's tools send payloads."""

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    payloads = await converter.encode(values)
    return {
        "payloads": [
            {"metadata": {name: text(value) for name, value in one.metadata.items()}, "data": text(one.data)}
            for one in payloads
        ]
    }


async def test_an_operator_decodes_and_it_is_written_into_the_log(encrypting: GatewayHarness) -> None:
    body = await wire(encrypting.context.client.data_converter, {"said": CANARY}, "second")
    issued = await encrypting.context.repositories.tokens.issue("operator", label="kim-decodes")
    for _ in range(2):
        answer = await encrypting.ask("POST", "/codec/decode", issued.secret, json=body)
        assert answer.status_code == 200, answer.text
    first, second = answer.json()["payloads"]
    assert CANARY in base64.b64decode(first["data"]).decode()
    assert base64.b64decode(second["metadata"]["encoding"]) == b"json/plain"
    acts = await encrypting.context.repositories.operators.acts(login="kim-decodes")
    assert [(one.act, one.via, one.times, one.process_id) for one in acts] == [("decode_payloads", "api", 4, "")]


async def test_nobody_but_operators_decodes(encrypting: GatewayHarness) -> None:
    body = await wire(encrypting.context.client.data_converter, CANARY)
    person = await encrypting.person("somebody")
    assert (await encrypting.ask("POST", "/codec/decode", json=body)).status_code == 401
    assert (await encrypting.ask("POST", "/codec/decode", person, json=body)).status_code == 403


async def test_a_payload_of_another_installation_is_named_as_such(encrypting: GatewayHarness) -> None:
    token = await encrypting.operator()
    other = PayloadEncryption(Keyring(b"x" * 32))
    [payload] = await other.encode(await DataConverter.default.encode([CANARY]))
    body = {
        "payloads": [
            {
                "metadata": {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()},
                "data": base64.b64encode(payload.data).decode(),
            }
        ]
    }
    refused = await encrypting.ask("POST", "/codec/decode", token, json=body)
    assert (refused.status_code, refused.json()["code"]) == (503, "key_missing")
    not_base64 = await encrypting.ask("POST", "/codec/decode", token, json={"payloads": [{"data": "ä"}]})
    assert not_base64.status_code == 422


@pytest.mark.parametrize("path", ["/codec/decode", "/console/codec/decode"])
@pytest.mark.parametrize(("origin", "allowed"), [(UI, True), ("http://elsewhere.example", False)])
async def test_a_browser_lets_pages_of_the_temporal_ui_call_and_no_others(
    encrypting: GatewayHarness, path: str, origin: str, allowed: bool
) -> None:
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-namespace",
    }
    answer = await encrypting.ask("OPTIONS", path, headers=asked)
    assert (answer.headers.get("access-control-allow-origin") == origin) is allowed
    assert answer.is_success is allowed
    if allowed:
        assert answer.headers["access-control-allow-credentials"] == "true"
    elsewhere = await encrypting.ask("GET", "/scenes", headers={"Origin": origin})
    assert "access-control-allow-origin" not in elsewhere.headers


async def test_the_temporal_ui_decodes_with_an_operators_session_and_no_other_page_does(
    encrypting: GatewayHarness,
) -> None:
    body = await wire(encrypting.context.client.data_converter, CANARY)
    place = "http://127.0.0.1:8700"
    session = await open_session(encrypting.context, await encrypting.operator(), place=place)

    async def asked(origin: str) -> int:
        headers = {"Origin": origin, "Cookie": f"{SESSION}={session.secret}"}
        return (await encrypting.ask("POST", "/console/codec/decode", headers=headers, json=body)).status_code

    assert await asked(UI) == 200
    assert await asked("http://elsewhere.example") == 403
    acts = await encrypting.context.repositories.operators.acts()
    assert [(one.act, one.times) for one in acts if one.via == "temporal_ui"] == [("decode_payloads", 1)]
