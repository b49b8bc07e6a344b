"""A gateway that is stopped ends its open streams by itself, and logs no failure."""

from __future__ import annotations

import asyncio
import logging

import httpx

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked, room
from tongyao.gateway.server import listen, serve, url_of


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


async def test_an_open_stream_of_events_ends_with_the_gateway_and_is_no_failure(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    await asked(gateway, people[1]["token"], "projection", 1)
    stop, bound, kept = asyncio.Event(), listen("127.0.0.1", 0), _Kept()
    logging.getLogger("uvicorn.error").addHandler(kept)
    serving = asyncio.create_task(serve(gateway.context, stop, bound))
    try:
        transport = httpx.AsyncHTTPTransport(retries=10)  # until it listens
        async with httpx.AsyncClient(base_url=url_of(bound), timeout=60, transport=transport) as http:
            head = {"Authorization": f"Bearer {demander}"}
            async with http.stream("GET", f"/processes/{pid}/events", headers=head) as answer:
                assert answer.status_code == 200
                lines = answer.aiter_lines()
                await anext(lines)
                stop.set()
                async with asyncio.timeout(30):
                    async for _ in lines:
                        pass
        async with asyncio.timeout(30):
            await serving
    finally:
        logging.getLogger("uvicorn.error").removeHandler(kept)
        stop.set()
        await gateway.stack.handle(pid).cancel()
    assert kept.messages == []
