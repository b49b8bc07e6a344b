"""What each failure of a service leads to: the table of docs/models.md, row by row, over real HTTP."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.llm import requests
from tests.support.messages_api.faults import STATUS, Fault, always, planned
from tests.support.messages_api.fixtures import Engines, Serve
from tongyao.llm.anthropic.engine import AnthropicEngine
from tongyao.llm.errors import (
    STATUSES,
    EngineError,
    Failure,
    OperatorNeeded,
    StepFailed,
    Transient,
    of_failure,
)
from tongyao.protocol.model import steps


@pytest.mark.parametrize(
    ("fault", "kind", "reason"),
    [
        (Fault.BAD_REQUEST, StepFailed, "bad_request"),
        (Fault.TOO_LARGE, StepFailed, "too_large"),
        (Fault.REFUSAL, StepFailed, "refused"),
        (Fault.UNAUTHORIZED, OperatorNeeded, "unauthorized"),
        (Fault.FORBIDDEN, OperatorNeeded, "forbidden"),
        (Fault.NO_CREDIT, OperatorNeeded, "no_credit"),
        (Fault.RATE_LIMITED, Transient, "rate_limited"),
        (Fault.SERVER_ERROR, Transient, "server_error"),
        (Fault.OVERLOADED, Transient, "overloaded"),
        (Fault.ERROR_IN_STREAM, Transient, "overloaded"),
        (Fault.CUT_STREAM, Transient, "broken"),
        (Fault.STALLED_STREAM, Transient, "stalled"),
    ],
)
async def test_a_fault_leads_to_its_outcome(
    serve: Serve, engine_at: Engines, fault: Fault, kind: type[EngineError], reason: str
) -> None:
    server = serve(faults=always(fault))
    patience = {"idle": 2.0} if fault is Fault.STALLED_STREAM else {}  # a slow machine is no stalled stream
    with pytest.raises(EngineError) as caught:
        await engine_at(server, **patience).answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert isinstance(caught.value, kind)
    assert caught.value.reason == reason
    assert caught.value.usage.requests == server.calls == (2 if fault is Fault.UNAUTHORIZED else 1), (
        "no retry but one: a server of one's own may want its key in the other header"
    )


async def test_the_wait_that_a_server_names_is_passed_on(serve: Serve, engine_at: Engines) -> None:
    server = serve(faults=planned([Fault.RATE_LIMITED]), retry_after=7)
    engine = engine_at(server)
    with pytest.raises(Transient) as caught:
        await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert caught.value.retry_after == 7
    assert (await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))).draft.items


async def test_an_answer_that_takes_too_long_is_given_up(serve: Serve, engine_at: Engines) -> None:
    engine = engine_at(serve(latency=30))
    with pytest.raises(Transient, match=r"no whole answer within 0\.3\d* s"):
        await engine.answer(steps.PROJECT, requests.endpoint(), replace(requests.call("project"), seconds=0.4))


async def test_no_server_needs_an_operator() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        engine = AnthropicEngine(api_key="k", base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(OperatorNeeded, match=r"no server answers at 127\.0\.0\.1") as caught:
            await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
        assert caught.value.reason == "no_server"
        await engine.aclose()


async def test_a_connection_that_is_closed_before_the_answer_may_be_tried_again() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        engine = AnthropicEngine(api_key="k", base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        with pytest.raises(Transient) as caught:
            await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
        assert caught.value.reason == "broken"
        await engine.aclose()


@pytest.mark.parametrize(
    ("failure", "kind", "reason"),
    [
        (Failure(402, "billing_error"), OperatorNeeded, "no_credit"),
        (Failure(404, "not_found_error"), OperatorNeeded, "not_found"),
        (Failure(408), Transient, "timeout"),
        (Failure(409), Transient, "conflict"),
        (Failure(422), StepFailed, "bad_request"),
        (Failure(418), StepFailed, "bad_request"),
        (Failure(429, code="enforced_spend_limit_reached"), OperatorNeeded, "no_credit"),
        (Failure(429, code="ramp_limit_exceeded"), Transient, "rate_limited"),
        (
            Failure(400, message="You have reached your specified API usage limits."),
            OperatorNeeded,
            "no_credit",
        ),
        (Failure(503), Transient, "server_error"),
        (Failure(504), Transient, "timeout"),
        (Failure(0, "rate_limit_error"), Transient, "rate_limited"),
        (Failure(0, "authentication_error"), OperatorNeeded, "unauthorized"),
        (Failure(200, "api_error"), Transient, "server_error"),
    ],
)
def test_the_table(failure: Failure, kind: type[EngineError], reason: str) -> None:
    error = of_failure(failure)
    assert type(error) is kind
    assert error.reason == reason


async def test_a_refused_request_passes_on_the_services_words_but_nobodys_text(
    serve: Serve, engine_at: Engines
) -> None:
    engine = engine_at(serve(faults=always(Fault.BAD_REQUEST)))
    with pytest.raises(StepFailed, match="at least one message is required"):
        await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))

    echoing = (400, "invalid_request_error", f"cannot take: {requests.PROFILE[:120]}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STATUS, Fault.BAD_REQUEST, echoing)
        with pytest.raises(StepFailed) as caught:
            await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert "lighthouse" not in str(caught.value)


def test_the_table_in_the_docs_is_the_table_in_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
    for status, (outcome, reason, _) in STATUSES.items():
        assert f"| {status} | {outcome} | `{reason}` |" in page
