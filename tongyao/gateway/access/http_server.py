"""The HTTP server of the gateway and of the metrics port: uvicorn with bounded heads and connections.

What a connection may do before there is a request is limited by the reverse proxy (deploy/caddy/Caddyfile).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

HEAD_BYTES: Final = 64 * 1024
KEEP_ALIVE_SECONDS: Final = 60
"""Longer than the proxy keeps an idle connection to the gateway (30 s), so that the side that sends requests closes it."""


class ServerWithoutSignals(uvicorn.Server):
    """Leaves signals to the program that runs it; uvicorn would install handlers of its own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def server_config(app: Any, *, most_connections: int, **more: Any) -> uvicorn.Config:
    """`most_connections`: a further one is answered 503. `more`: settings of uvicorn."""
    return uvicorn.Config(
        app,
        log_level="warning",
        http="h11",  # uvicorn's other protocol, on httptools, does not bound the head
        h11_max_incomplete_event_size=HEAD_BYTES,
        limit_concurrency=most_connections,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        server_header=False,
        ws="none",
        **more,
    )
