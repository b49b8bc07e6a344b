"""Cost of one page of a running process for the gateway: `python -m bench.page_bench [--pages 200] [--profile]`.

A process with five participants is in its fourth round. Its page is requested within this process, without a network,
by one reader after the other: its demander, a participant and an operator. Printed per page: CPU of this process,
statements to PostgreSQL, and bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Final

from psycopg import AsyncCursor

from bench.orchestration_bench import opened
from bench.viewers_bench import asked, room, said, started_worker
from tongyao.app.gateway_options import GatewayOptions
from tongyao.app.people.sessions import open_session
from tongyao.gateway.server import application

ROUND: Final = 4
PLACE: Final = "http://127.0.0.1:8700"
OPTIONS: Final = GatewayOptions(rate="1000000/minute", address_rate="1000000/minute")


async def page(app: Any, path: str, secret: str) -> tuple[int, bytes]:
    """The status and the body of one page, requested as a server would do it."""
    headers = [(b"host", b"127.0.0.1:8700"), (b"cookie", f"tongyao_session={secret}".encode())]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8700),
    }  # fmt: skip
    status, body, heard = 0, b"", False

    async def receive() -> dict[str, Any]:
        nonlocal heard
        if heard:
            await asyncio.Event().wait()  # the reader does not disconnect
        heard = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status, body
        status, body = message.get("status", status), body + message.get("body", b"")

    await app(scope, receive, send)
    return status, body


async def main(pages: int, profile: bool) -> None:
    async with opened() as bench, AsyncExitStack() as closing:
        await started_worker(bench, closing)
        pid, people = await room(bench)
        for number in range(1, ROUND):
            await said(bench, pid, number)
        await asked(bench, pid, ROUND)
        app = application(replace(bench.stack.context, options=OPTIONS))
        tokens = bench.stack.repositories.tokens
        for name, person in (("demander", people[0]), ("participant", people[1]), ("operator", None)):
            issued = await tokens.issue("person" if person else "operator", person=person)
            secret = (await open_session(bench.stack.context, issued.secret, place=PLACE)).secret
            await _measure(name, app, f"/console/processes/{pid}", secret, pages, profile)


async def _measure(name: str, app: Any, path: str, secret: str, pages: int, profile: bool) -> None:
    for _ in range(3):  # fills the caches
        status, body = await page(app, path, secret)
        assert status == 200, status
    statements = Counter[str]()
    execute = AsyncCursor.execute

    async def counted(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        statements[" ".join(str(query).split())] += 1
        return await execute(self, query, *more, **named)

    AsyncCursor.execute = counted  # type: ignore[method-assign]  # reason: statements are counted
    await page(app, path, secret)
    AsyncCursor.execute = execute  # type: ignore[method-assign]  # reason: statements are counted
    profiler = cProfile.Profile(time.process_time) if profile else None
    if profiler is not None:
        profiler.enable()
    began = time.process_time()
    for _ in range(pages):
        await page(app, path, secret)
    spent = time.process_time() - began
    if profiler is not None:
        profiler.disable()
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(90)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(30)
        for statement, times in statements.most_common():
            print(f"{times} x {statement[:160]}")
    print(
        f"{name}: {1000 * spent / pages:.1f} ms of CPU a page, {statements.total()} statements, {len(body) / 1e3:.0f} KB",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--profile", action="store_true", help="also print a profile of the CPU time")
    options = parser.parse_args()
    asyncio.run(main(options.pages, options.profile))
