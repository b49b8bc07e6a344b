"""What a process shows of itself: metrics and readiness on one port, logs in which nobody is quoted."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from contextlib import suppress
from decimal import Decimal
from typing import Any

import httpx
import pytest

from tests.llm import requests
from tests.support.until import until
from tongyao.llm.engine import Answer, Bound, Call, CallKey, Reask, Usage
from tongyao.llm.errors import Transient
from tongyao.protocol.contracts.process import ProjectInput, ProjectOutput, TurnInput, TurnOutput
from tongyao.protocol.model import steps
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.steps import DraftT, RequestT, Step
from tongyao.records.backlog import Backlog, OpenAsks
from tongyao.runtime.local.server_process import free_port
from tongyao.runtime.observability import metrics
from tongyao.runtime.observability.instrumentation import Measured
from tongyao.runtime.observability.telemetry import Telemetry
from tongyao.runtime.settings import Settings, SettingsError

SECRET = "I never told anyone that the gauge is wrong"


class Fails:
    """An engine that has nothing new to say, or fails in one way."""

    name = "test"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def model_for(self, step: str) -> str:
        return "some-model"

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        return Bound()

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        if self.error is not None:
            raise self.error
        draft = step.draft.model_validate({"nothing_new": True, "items": [], "markdown": SECRET})
        return Answer(draft, SECRET, "test", "some-model", Usage(input_tokens=7, output_tokens=3), Decimal("0.25"))


def value(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


async def ask(engine: Fails, **call: Any) -> None:
    await Measured(engine).answer(steps.PROJECT, requests.endpoint(), Call(CallKey("c-1", "project"), **call))


async def test_a_call_is_counted_with_what_it_used_and_took() -> None:
    labels = {"step": "project", "model": "some-model"}
    before = value("tongyao_model_cost_dollars_total", **labels)
    await ask(Fails())
    assert value("tongyao_model_calls_total", end="answered", **labels) >= 1
    assert value("tongyao_model_cost_dollars_total", **labels) - before == 0.25
    assert value("tongyao_model_tokens_total", kind="input", **labels) >= 7
    assert value("tongyao_model_call_seconds_count", **labels) >= 1


async def test_a_failed_call_is_counted_by_its_reason_and_a_call_sent_back_as_one() -> None:
    labels = {"step": "project", "model": "some-model", "end": "overloaded"}
    before = value("tongyao_model_calls_total", **labels), value("tongyao_guards_total", guard="project_sent_back")
    with pytest.raises(Transient):
        await ask(Fails(Transient("later", reason="overloaded")), reask=Reask("x", ("y",)))
    assert value("tongyao_model_calls_total", **labels) == before[0] + 1
    assert value("tongyao_guards_total", guard="project_sent_back") == before[1] + 1


def test_turns_and_what_was_struck_in_them_are_counted() -> None:
    from tongyao.runtime.observability.instrumentation import _count

    labels = {"outcome": "replied", "author": "human"}
    before = value("tongyao_turns_total", **labels), value("tongyao_guards_total", guard="item_struck")
    _count(
        ProjectInput(process_id="c-1", round=1, turns=(TurnInput(alias="P01", author="human"),)),
        ProjectOutput(turns=(TurnOutput(alias="P01", revision=1, outcome=Outcome.REPLIED, struck=2),)),
    )
    assert value("tongyao_turns_total", **labels) == before[0] + 1
    assert value("tongyao_guards_total", guard="item_struck") == before[1] + 2


def test_phases_without_a_process_are_zero_and_asks_that_are_gone_are_gone() -> None:
    waits = OpenAsks(ask="projection", count=3, oldest=60.0)
    none = Backlog(phases={}, suspended={}, waits=(), undelivered=0, oldest_undelivered=0.0, set_aside=0, troubles={})
    metrics.show_backlog(none.model_copy(update={"phases": {"planning": 2}, "waits": (waits,)}))
    assert value("tongyao_open_processes", phase="planning") == 2
    assert value("tongyao_oldest_wait_seconds", ask="projection") == 60
    metrics.show_backlog(none)
    assert metrics.REGISTRY.get_sample_value("tongyao_open_processes", {"phase": "planning"}) == 0
    assert metrics.REGISTRY.get_sample_value("tongyao_oldest_wait_seconds", {"ask": "projection"}) is None


def test_after_a_failed_read_no_old_value_is_left() -> None:
    waits = OpenAsks(ask="projection", count=3, oldest=60.0)
    metrics.show_backlog(
        Backlog(
            phases={}, suspended={}, waits=(waits,), undelivered=4, oldest_undelivered=9.0, set_aside=0, troubles={}
        )
    )

    metrics.forget_records()

    assert metrics.REGISTRY.get_sample_value("tongyao_oldest_wait_seconds", {"ask": "projection"}) is None
    assert math.isnan(value("tongyao_undelivered_messages")) and math.isnan(value("tongyao_backup_age_seconds"))


async def test_one_port_serves_metrics_health_and_readiness() -> None:
    port = free_port()
    telemetry = Telemetry(Settings(metrics_port=port))
    async with telemetry.served(), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/ready")).text == "not ready: starting\n"

        answers = True

        async def check() -> bool:
            if not answers:
                raise ConnectionError(SECRET)
            return True

        telemetry.checks = {"records": check}
        assert (await client.get("/ready")).status_code == 200
        answers = False
        refused = await client.get("/ready")
        assert (refused.status_code, refused.text) == (503, "not ready: records\n")
        assert "tongyao_turns_total" in (await client.get("/metrics")).text

        with pytest.raises(SettingsError, match="is taken"):
            Telemetry(Settings(metrics_port=port))


async def test_a_hostile_request_does_not_stop_the_port_of_metrics() -> None:
    """It stands in the event loop of the gateway: 64 KB of lines take a third of a second there, before anything is answered."""
    port = free_port()
    head = b"POST /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    url = f"http://127.0.0.1:{port}"
    async with Telemetry(Settings(metrics_port=port)).served(), httpx.AsyncClient(trust_env=False) as client:

        async def answers() -> object:
            with suppress(httpx.ConnectError):
                return await client.get(f"{url}/health")
            return None

        await until(answers)
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(head + b"a:\r\n" * 15_000 + b"\r\n")
                assert (await client.get(f"{url}/health")).status_code == 200, "others are answered meanwhile"
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(), 1)
            except ConnectionError:
                pass
            finally:
                writer.close()
        assert (await client.get(f"{url}/health")).status_code == 200


QUOTES = f"""
import asyncio, logging, structlog
from temporalio import activity
from temporalio.testing import ActivityEnvironment
from tongyao.runtime.observability import logs
from tongyao.runtime.settings import Settings

logs.configure(Settings(log_format="json"))
try:
    try:
        raise ValueError({SECRET!r})
    except ValueError as error:
        raise RuntimeError({SECRET!r}) from error
except RuntimeError:
    structlog.get_logger().exception("step failed", process="c-1")
    logging.getLogger("temporalio.worker").warning("activity failed", exc_info=True)

async def work() -> None:
    activity.logger.info("at work")

asyncio.run(ActivityEnvironment().run(work))
"""
"""A program of its own, as a worker is: in a test's process the log is the test runner's."""


def test_lines_tell_where_and_in_what_and_never_what_was_quoted() -> None:
    done = subprocess.run([sys.executable, "-c", QUOTES], capture_output=True, text=True, check=True)
    ours, theirs, at_work = (json.loads(line) for line in done.stderr.splitlines())
    for line in (ours, theirs):
        assert line["error"] == ["builtins.RuntimeError", "builtins.ValueError"]
        assert line["trace"]
    assert SECRET not in done.stderr
    assert (ours["process"], ours["level"], theirs["logger"]) == ("c-1", "error", "temporalio.worker")
    assert at_work["event"] == "at work"
    assert (at_work["process"], at_work["step"], at_work["attempt"]) == ("test", "unknown", 1)
