"""Rate limits per caller, as moving windows of the library `limits`."""

from __future__ import annotations

import math
import time

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from tongyao.app.authorization import ANONYMOUS, Caller
from tongyao.app.context import GatewayOptions
from tongyao.app.errors import Unauthenticated
from tongyao.gateway.access.authentication import authenticate
from tongyao.gateway.problems import HttpProblem
from tongyao.records.repositories import Repositories


class RateLimits:
    """Counts requests in this process: each of several gateways counts for itself."""

    def __init__(self, options: GatewayOptions) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._request_rate, self._registration_rate = parse(options.rate), parse(options.join_rate)

    async def authenticate(self, repositories: Repositories, secret: str | None, address: str) -> Caller:
        """The caller with this token. The request is counted by token, and by address where there is no valid one.

        Raises `Unauthenticated`, and `HttpProblem` (429) above the limit.
        """
        try:
            caller = await authenticate(repositories, secret)
        except Unauthenticated:
            await self.count_request(ANONYMOUS, address)
            raise
        await self.count_request(caller, address)
        return caller

    async def count_request(self, caller: Caller, address: str) -> None:
        """Raises `HttpProblem` (429) above the limit."""
        await self._count(self._request_rate, "request", caller.id or address)

    async def count_registration(self, caller: Caller, address: str) -> None:
        """Raises `HttpProblem` (429) above the limit; operators have none."""
        if not caller.operator:
            await self._count(self._registration_rate, "join", address)

    async def _count(self, rate: RateLimitItem, kind: str, key: str) -> None:
        if not await self._limiter.hit(rate, kind, key):
            stats = await self._limiter.get_window_stats(rate, kind, key)
            wait = max(1, math.ceil(stats.reset_time - time.time()))
            raise HttpProblem(
                429, "too_often", f"too many requests: try again in {wait} s", headers={"Retry-After": str(wait)}
            )
