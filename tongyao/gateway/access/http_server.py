"""The HTTP server of the gateway and of the metrics port: uvicorn with limits for request heads and connections.

The reverse proxy limits connections that have sent no complete request (deploy/caddy/Caddyfile).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

HEAD_BYTES: Final = 64 * 1024
KEEP_ALIVE_SECONDS: Final = 60
"""The proxy keeps an idle connection to the gateway for 30 s. With a longer time here, the proxy closes it first."""


class ServerWithoutSignals(uvicorn.Server):
    """Installs no signal handlers. The program that runs the server handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def server_config(app: Any, *, most_connections: int, **more: Any) -> uvicorn.Config:
    """Return the settings of uvicorn. Connections above `most_connections` are answered 503. `more`: other settings."""
    return uvicorn.Config(
        app,
        log_level="warning",
        http="h11",  # uvicorn's protocol with httptools has no limit for the head
        h11_max_incomplete_event_size=HEAD_BYTES,
        limit_concurrency=most_connections,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        server_header=False,
        ws="none",
        **more,
    )
