"""The server is no way into its own network, no address brings it down, and no error carries what somebody wrote into a log."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest
import structlog
from pydantic import TypeAdapter, ValidationError

from tests.gateway.conftest import GatewayHarness
from tongyao.gateway.outbound.http_client import AddressForbidden, client, is_public
from tongyao.protocol.model.messages import MESSAGE_BODY
from tongyao.protocol.model.plan import PlanDraft
from tongyao.protocol.model.tension import Tension
from tongyao.runtime.observability.logs import configure
from tongyao.runtime.settings import Settings

SECRET = "a-canary-in-somebodys-words"


@pytest.mark.parametrize(
    "address",
    ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2002:a00:1::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1",
     "::7f00:1", "2001:0:4136:e378:8000:63bf:80ff:fffe", "2606:4700::5efe:a00:1", "fe80::1%eth0", "::1", "fc00::1", "169.254.169.254",
     "100.64.0.1", "0.0.0.0", "224.0.0.1", "240.0.0.1", "fec0::1", "3fff::1", "5f00::1", "192.88.99.1"],
)  # fmt: skip
def test_no_spelling_of_a_private_address_is_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::808:808", "2606:4700::1111"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["a" * 64 + ".example", "a..example", "a." * 200 + "example", "xn--" + "a" * 80 + ".example", "é" * 70]
)
async def test_a_host_name_that_cannot_exist_is_a_refused_request_and_no_crash(host: str) -> None:
    async with client(private_allowed=False, seconds=1) as http:
        with pytest.raises((httpx.RequestError, httpx.InvalidURL)):
            await http.post(f"https://{host}/hook")


async def test_a_private_address_in_disguise_is_not_connected_to() -> None:
    async with client(private_allowed=False, seconds=1) as http:
        with pytest.raises(AddressForbidden):
            await http.post("https://[::ffff:127.0.0.1]:1/hook")


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(Tension, {"transition": "", "initial_state": [SECRET]}), (PlanDraft, {"possible": [{"text": {"x": SECRET}}]}),
     (MESSAGE_BODY, {"kind": "submit_projection", "round": 1, "text": [SECRET]})],
)  # fmt: skip
def test_a_validation_error_does_not_quote_what_was_sent(kind: Any, wrong: object) -> None:
    adapter = kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
    with pytest.raises(ValidationError) as refused:
        adapter.validate_python(wrong)
    assert SECRET not in str(refused.value)


FORGED = "http://evil\n2026-01-01T00:00:00Z [error    ] records erased \x1b[31m\x9b31m\u2028" + "x" * 40_000


def test_a_library_writes_nothing_of_a_stranger_into_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    configure(Settings())
    log = logging.getLogger("mcp.server.transport_security")
    log.warning(f"Invalid Origin header: {FORGED}")
    log.warning("Invalid Origin header: %s in %d requests", FORGED, 3)
    log.warning("Invalid header", extra={"origin": FORGED})
    written = capsys.readouterr().err
    assert len(written.splitlines()) == 3 and "evil" not in written and "xxx" not in written
    assert "in 3 requests" in written and "test_outbound_and_logs.py" in written


def test_a_field_of_our_own_has_no_control_characters_and_a_bounded_length(capsys: pytest.CaptureFixture[str]) -> None:
    configure(Settings())
    structlog.get_logger("tongyao.somewhere").warning("refused", path=FORGED, several=[FORGED, {"deep": FORGED}])
    logging.getLogger("tongyao.somewhere").warning("refused %s", FORGED)
    written = capsys.readouterr().err
    assert len(written.splitlines()) == 2 and len(written) < 5_000
    assert not {one for one in written if not one.isprintable()} - {"\n"}


async def test_a_bad_origin_leaves_one_short_line(capsys: pytest.CaptureFixture[str], whole: GatewayHarness) -> None:
    configure(Settings())
    headers = {"origin": b"http://evil\x9b[31m" + b"x" * 30_000, "accept": b"application/json, text/event-stream"}
    async with whole.app.router.lifespan_context(whole.app):
        refused = await whole.ask("POST", "/mcp", headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    written = capsys.readouterr().err
    assert refused.status_code in (400, 403) and "evil" not in written and len(written) < 5_000


def test_an_exception_is_logged_without_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    try:
        configure(Settings())
        log = logging.getLogger("somebody.elses")
        error = ValueError(SECRET)
        log.error("failed: %s", error)
        log.error(error)
        try:
            raise RuntimeError("around") from error
        except RuntimeError:
            log.exception("failed")
    finally:
        root.handlers, root.level = handlers, level
    written = capsys.readouterr().err
    assert SECRET not in written
    assert written.count("builtins.ValueError") == 3
