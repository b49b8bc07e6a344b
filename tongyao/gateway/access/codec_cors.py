"""CORS for the codec endpoints: only pages of the Temporal Web UI may call them (docs/temporal.md §3)."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

CODEC_PATHS: Final = re.compile(r"(/console)?/codec/decode")


class CodecCors:
    """ASGI middleware. `temporal_ui`: the address of the Web UI. If it is empty, no page of another origin may call."""

    def __init__(self, app: ASGIApp, *, temporal_ui: str) -> None:
        self._app = app
        ui = origin_of(temporal_ui)
        self._cors = CORSMiddleware(
            app,
            allow_origins=[ui] if ui else [],
            allow_methods=["POST"],
            allow_headers=["Authorization", "Content-Type", "X-Namespace"],
            allow_credentials=True,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and CODEC_PATHS.fullmatch(scope["path"]):
            await self._cors(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def origin_of(url: str) -> str:
    """Return the origin of a URL, such as `https://HOST:PORT`. It is empty for a URL without a host."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
