"""Counting requests waits for nothing that somebody can keep busy."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tongyao.app.authorization import ANONYMOUS
from tongyao.app.gateway_options import GatewayOptions
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.problems import HttpProblem


async def test_requests_are_counted_while_the_common_threads_are_busy() -> None:
    """Searches use these threads. Whoever fills them with searches must not keep everybody from being answered."""
    limits = RateLimits(GatewayOptions(rate="3/minute"))
    loop, over = asyncio.get_running_loop(), threading.Event()
    searches = [loop.run_in_executor(None, over.wait) for _ in range(64)]
    try:
        async with asyncio.timeout(60):
            for _ in range(3):
                await limits.count_request(ANONYMOUS, "192.0.2.1")
                await asyncio.sleep(0)
            with pytest.raises(HttpProblem) as refused:
                await limits.count_request(ANONYMOUS, "192.0.2.1")
            await limits.count_request(ANONYMOUS, "192.0.2.2")
    finally:
        over.set()
        await asyncio.gather(*searches)
    assert refused.value.status == 429
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 60


async def test_a_rate_of_nothing_refuses_everything() -> None:
    limits = RateLimits(GatewayOptions(join_rate="0/hour"))
    with pytest.raises(HttpProblem):
        await limits.count_registration(ANONYMOUS, "192.0.2.1")
