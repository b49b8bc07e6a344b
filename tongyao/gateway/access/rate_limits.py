"""Rate limits per caller, as moving windows. API, MCP and console share one `RateLimits`."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import Final

from limits import RateLimitItem, parse

from tongyao.app.authorization import Caller
from tongyao.app.errors import Problem
from tongyao.app.gateway_options import GatewayOptions
from tongyao.gateway.problems import HttpProblem

_SWEEP_SECONDS: Final = 60.0


class MovingWindows:
    """The times of the hits of each key, for the length of the window.

    The storage of the library `limits` is not used. There each hit, and each removal of old hits, waits for a thread of
    asyncio's common pool. If these threads were busy, every request would wait.
    """

    def __init__(self) -> None:
        self._hits: dict[tuple[str, str], tuple[float, deque[float]]] = {}
        self._swept = time.monotonic()

    def hit(self, rate: RateLimitItem, kind: str, key: str) -> float:
        """Count a hit and return 0. Above the limit: count nothing and return the seconds to wait."""
        now, seconds = time.monotonic(), float(rate.get_expiry())
        if not rate.amount:
            return seconds
        if now - self._swept > _SWEEP_SECONDS:
            self._sweep(now)
        _, hits = self._hits.setdefault((kind, key), (seconds, deque(maxlen=rate.amount)))
        if len(hits) == rate.amount and now - hits[0] < seconds:
            return hits[0] + seconds - now
        hits.append(now)
        return 0.0

    def _sweep(self, now: float) -> None:
        self._swept = now
        for name in [name for name, (seconds, hits) in self._hits.items() if now - hits[-1] >= seconds]:
            del self._hits[name]


class RateLimits:
    """Counts the requests to this gateway. Several gateways count separately, so the reverse proxy has limits, too."""

    def __init__(self, options: GatewayOptions) -> None:
        self._windows = MovingWindows()
        named = ("address", "request", "join", "reading", "search")
        rates = (options.address_rate, options.rate, options.join_rate, options.read_rate, options.search_rate)
        self._rates = dict(zip(named, map(parse, rates), strict=True))

    async def count_address(self, address: str) -> None:
        """Count a request before its token is looked up. Raises `HttpProblem` (429) above the limit."""
        await self._count("address", address)

    async def count_request(self, caller: Caller | Problem, address: str) -> None:
        """Count a request of this caller. Raises `HttpProblem` (429) above the limit."""
        await self._count("request", counted_as(caller, address))

    async def count_registration(self, caller: Caller, address: str) -> None:
        """Count a registration or a new address, unless by an operator. Raises `HttpProblem` (429) above the limit."""
        if not caller.operator:
            await self._count("join", address)

    async def count_reading(self, caller: Caller) -> None:
        """Count a paid model call for help with an intent. Raises `HttpProblem` (429) above the limit."""
        await self._count("reading", counted_as(caller, ""))

    async def count_search(self, caller: Caller) -> None:
        """Count a search, unless by an operator or anonymous caller. Raises `HttpProblem` (429) above the limit."""
        if not (caller.operator or caller.anonymous):
            await self._count("search", counted_as(caller, ""))

    async def _count(self, kind: str, key: str) -> None:
        if left := self._windows.hit(self._rates[kind], kind, key):
            wait = math.ceil(left)
            raise HttpProblem(
                429, "too_often", f"too many requests: try again in {wait} s", headers={"Retry-After": str(wait)}
            )


def counted_as(caller: Caller | Problem, address: str) -> str:
    """Return the name under which a caller is counted: the person, the operator, or (no valid token) the address."""
    if isinstance(caller, Problem) or caller.anonymous:
        return f"address/{address}"
    return f"person/{caller.person}" if caller.person else f"operator/{caller.id}"
