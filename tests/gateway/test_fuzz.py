"""Whatever is sent, nothing fails: no 5xx from the API, no crash behind an MCP tool."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness
from tongyao.gateway.mcp.server import make_server

EXAMPLES = 6


async def test_no_request_that_fits_the_document_makes_the_api_fail(gateway: GatewayHarness) -> None:
    token = await gateway.person("fuzzing-person")
    schema = schemathesis.openapi.from_dict(gateway.app.openapi())
    loop = asyncio.get_running_loop()
    failed: list[Any] = []

    def try_all() -> None:
        for result in schema.get_all_operations():
            operation: Any = result.ok()  # an unreadable operation raises, and should

            @settings(
                max_examples=EXAMPLES,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def one(case: Any) -> None:
                kwargs = case.as_transport_kwargs(base_url="http://127.0.0.1:8700")
                kwargs = {name: kwargs[name] for name in ("method", "url", "json", "params") if kwargs.get(name)}
                method, url = kwargs.pop("method"), kwargs.pop("url")
                asked = asyncio.run_coroutine_threadsafe(
                    gateway.ask(method, url, token, key=uuid.uuid4().hex, **kwargs)
                    if method == "POST"
                    else gateway.ask(method, url, token, **kwargs),
                    loop,
                )
                answer = asked.result(20)
                if answer.status_code >= 500:
                    failed.append((method, url, kwargs, answer.status_code))

            one()

    with no_forced_switch_of_threads():
        await asyncio.to_thread(try_all)
    assert failed == []


@contextmanager
def no_forced_switch_of_threads() -> Iterator[None]:
    """Threads take turns where they wait, and not in the middle of `ast.parse`.

    Python before 3.11.8 and 3.12.2 fails by chance where two threads are in it (python/cpython#106905): here Hypothesis, and
    whoever formats a traceback.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


ODD: tuple[Any, ...] = ("", "\x00", "x" * 300, -1, 10**30, 1.5, None, [], {}, {"kind": "decide"}, True)


async def test_no_argument_crashes_an_mcp_tool(gateway: GatewayHarness) -> None:
    server = make_server(gateway.context, token=await gateway.person("fuzzing-agent"))
    async with McpClient(server) as client:
        for tool in await server.list_tools():
            names = [name for name in tool.input_schema["properties"] if name != "token"]
            for odd in ODD:
                result = await client.call_tool(tool.name, dict.fromkeys(names, odd))
                said = "".join(getattr(part, "text", "") for part in result.content)
                assert not said.startswith(f"Error executing tool {tool.name}: failed: "), (tool.name, odd)
