"""How often one caller may knock: moving windows, by the library `limits`."""

from __future__ import annotations

import math
import time

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from tongyao.app.authorization import ANONYMOUS, Caller, authenticate
from tongyao.app.options import GatewayOptions
from tongyao.app.problems import Problem, Unauthenticated
from tongyao.records.library import Library


class TooOften(Problem):
    """`retry_after`: seconds."""

    status = 429

    def __init__(self, retry_after: int) -> None:
        super().__init__("too_often", f"too many requests: try again in {retry_after} s")
        self.retry_after = retry_after


class Limits:
    """Counts in this process: several gateways beside each other count each for itself."""

    def __init__(self, options: GatewayOptions) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._rate, self._join = parse(options.rate), parse(options.join_rate)

    async def request(self, caller: Caller, address: str) -> None:
        """Raises `TooOften`."""
        await self._hit(self._rate, "request", caller.token.id if caller.token else address)

    async def identify(self, library: Library, secret: str | None, address: str) -> Caller:
        """Who asks; counted by token, and what opens nothing by address. Raises `Unauthenticated`, `TooOften`."""
        try:
            caller = await authenticate(library, secret)
        except Unauthenticated:
            await self.request(ANONYMOUS, address)
            raise
        await self.request(caller, address)
        return caller

    async def join(self, caller: Caller, address: str) -> None:
        """Raises `TooOften`."""
        if not caller.operator:
            await self._hit(self._join, "join", address)

    async def _hit(self, rate: RateLimitItem, what: str, who: str) -> None:
        if not await self._limiter.hit(rate, what, who):
            stats = await self._limiter.get_window_stats(rate, what, who)
            raise TooOften(max(1, math.ceil(stats.reset_time - time.time())))
