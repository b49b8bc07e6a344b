"""The SDK's client, configured to use aiohttp, which the SDK supports besides its default.

With aiohttp, a stream of a hundred pieces takes half of the processor time (docs/performance.md §3).
"""

from __future__ import annotations

from typing import Final

import aiohttp
import anthropic
import httpx2
from anthropic import AsyncAnthropic, DefaultAioHttpClient

KEPT_SECONDS: Final = 4.0
"""The time that an idle connection is kept, in seconds. Servers commonly close connections after 5 s, and a request on
a closing connection is lost.
"""


def client_of(api_key: str, *, base_url: str | None, seconds: float, max_retries: int = 0) -> AsyncAnthropic:
    """A client whose calls take at most `seconds`. Close it with `await client.close()`."""
    timeout = httpx2.Timeout(seconds, connect=10.0)
    http = DefaultAioHttpClient(
        timeout=timeout, limits=httpx2.Limits(max_connections=1_000, keepalive_expiry=KEPT_SECONDS)
    )
    return AsyncAnthropic(
        api_key=api_key, base_url=base_url, max_retries=max_retries, timeout=timeout, http_client=http
    )


def nobody_there(error: anthropic.APIConnectionError) -> bool:
    """Whether no connection could be opened. The SDK raises the same error if a connection breaks later."""
    cause = error.__cause__
    return isinstance(cause, httpx2.ConnectError) and isinstance(cause.__cause__, aiohttp.ClientConnectorError)
