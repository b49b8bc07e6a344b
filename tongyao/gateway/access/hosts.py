"""Answers requests for the accepted host names only (docs/api.md, "Limits")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongyao.gateway.problems import HttpProblem, problem_response

UNKNOWN_HOST: Final = HttpProblem(
    400,
    "unknown_host",
    "the header Host names a host under which this service does not answer: use the address that it was started with, "
    "or set TONGYAO_PUBLIC_URL to the address under which people reach it",
)


class KnownHosts:
    """ASGI middleware: Starlette's check of the header Host, with a problem as the answer where Starlette answers with plain text."""

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, list(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = False

        async def passed(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal known
            known = True
            await self._app(scope, receive, send)

        async def unless_refused(message: Message) -> None:
            if known:
                await send(message)

        await TrustedHostMiddleware(passed, self._hosts, www_redirect=False)(scope, receive, unless_refused)
        if not known:
            await problem_response(UNKNOWN_HOST)(scope, receive, send)
