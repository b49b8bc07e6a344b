"""Refuses request bodies that are too long, whether their length is declared or not, and those that come too slowly."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongyao.app.authorization import Caller
from tongyao.app.context import GatewayOptions
from tongyao.gateway.problems import HttpProblem, problem_response

WORDS_BYTES: Final = 1_000_000
"""A message or a form of the console: 100,000 characters in any encoding."""

LONG: Final = "long"
SLOW: Final = "slow"
_LARGE: Final = re.compile(r"/profiles/[^/]+|/mcp|/codec/(decode|encode)")
_WORDS: Final = re.compile(r"/processes/[^/]+/messages")


class BodyLimit:
    """ASGI middleware: `413` for a body that is too long for its place, `408` for one that takes too long. Stands behind `Admission`."""

    def __init__(self, app: ASGIApp, *, options: GatewayOptions) -> None:
        self._app, self._options = app, options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._most(scope)
        seconds = self._options.body_seconds * (1 if most <= WORDS_BYTES else 10)
        declared = dict(scope["headers"]).get(b"content-length", b"")
        read, started, whole = 0, False, False
        cut = LONG if declared.isdigit() and int(declared) > most else ""
        until = asyncio.get_running_loop().time() + seconds

        async def counted() -> Message:
            nonlocal read, cut, whole
            if whole:  # from here on it tells only that the client has gone
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                cut = SLOW
                raise ValueError("the body comes too slowly") from None
            read += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if read > most:
                cut = LONG
                raise ValueError("the body is too long")
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if not cut or started:  # drops what the application answers to a body that was cut off
                started = True
                await send(message)

        if not cut:
            try:
                await self._app(scope, counted, noted)
            except Exception:
                if not cut or started:
                    raise
        if started or not cut:
            return
        problem = HttpProblem(413, "too_long", f"the request is too long: here at most {most:,} bytes")
        if cut == SLOW:
            problem = HttpProblem(408, "too_slow", f"the request was not here whole within {seconds:g} s")
        await problem_response(problem)(scope, receive, send)

    def _most(self, scope: Scope) -> int:
        """Bytes: large bodies only where profiles, words and payloads are sent, and with a token."""
        options, caller = self._options, scope.get("state", {}).get("caller")
        known = isinstance(caller, Caller) and not caller.anonymous
        if known and _LARGE.fullmatch(scope["path"]):
            return options.max_body_bytes
        if (known and _WORDS.fullmatch(scope["path"])) or scope["path"].startswith("/console/"):
            return max(WORDS_BYTES, options.small_body_bytes)
        return options.small_body_bytes
