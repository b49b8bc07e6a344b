"""Admits or refuses a request before its body is read (docs/api.md, "Limits"): caller, rate, concurrent requests."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem, Unauthenticated, problem_of
from tongyao.gateway.access.addresses import ClientAddresses
from tongyao.gateway.access.authentication import authenticate, bearer_token, keep_own_cookies, session_of
from tongyao.gateway.access.body_limit import MOST_FIELDS, WORDS_BYTES, most_bytes
from tongyao.gateway.access.codec_cors import CODEC_PATHS
from tongyao.gateway.access.rate_limits import RateLimits, counted_as
from tongyao.gateway.problems import HttpProblem, problem_response

STREAMS: Final = ("/events", "/live", "/mcp")
_OWN_TEXT: Final = re.compile(r"/profiles/[^/]+(/export)?|/console/me/export")
"""Paths of answers that contain a whole profile, or all texts of a person."""
CONSOLE: Final = "/console"
"""The path of the console, whose visitors have sessions in place of tokens."""


class Admission:
    """ASGI middleware that admits or refuses requests.

    It sets in `scope["state"]` the `address` of the client and the `caller` (for an invalid token a `Problem`), and for
    the console the `session`. The console counts the requests of its visitors itself.
    """

    def __init__(self, app: ASGIApp, *, context: AppContext, limits: RateLimits) -> None:
        self._app, self._context, self._limits = app, context, limits
        self._addresses = ClientAddresses(context.options.proxies)
        self._running: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        keep_own_cookies(scope)
        state = scope.setdefault("state", {})
        state["address"] = address = self._addresses.of(scope)
        try:
            if {"content-length", "transfer-encoding"} <= set(Headers(scope=scope)):
                raise HttpProblem(400, "two_lengths", "a request has Content-Length or Transfer-Encoding, not both")
            if _is_of_another_site(scope):
                raise HttpProblem(
                    403,
                    "other_site",
                    "a page of another site sent this request: open the address in the browser itself",
                )
            await self._limits.count_address(address)
            if scope.get("query_string", b"").count(b"&") >= MOST_FIELDS:
                raise HttpProblem(414, "too_many_parts", f"the query has more than {MOST_FIELDS} parameters")
            caller = await self._caller_of(scope, address)
            state["caller"] = caller
            name, most = self._share_of(scope, caller, address)
            if self._running[name] >= most:
                raise HttpProblem(429, "too_many_at_once", f"at most {most} at a time", headers={"Retry-After": "1"})
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                raise
            await problem_response(problem)(scope, receive, send)
            return
        self._running[name] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running[name] -= 1
            if not self._running[name]:
                del self._running[name]

    async def _caller_of(self, scope: Scope, address: str) -> Caller | Problem:
        """Return the caller (anonymous without a token), or the problem of an invalid token, which the route raises."""
        if scope["path"].startswith(CONSOLE):
            session = await session_of(self._context, HTTPConnection(scope))
            scope["state"]["session"] = session
            return session[0]  # the limits of size and of concurrent requests depend on the caller
        caller: Caller | Problem
        try:
            secret = bearer_token(Headers(scope=scope).get("authorization"))
            caller = await authenticate(self._context.repositories, secret)
        except Unauthenticated as unknown:
            caller = unknown
        await self._limits.count_request(caller, address)
        return caller

    def _share_of(self, scope: Scope, caller: Caller | Problem, address: str) -> tuple[str, int]:
        """Return the name under which concurrent requests are counted, and their limit.

        Streams are counted separately because they stay open, long bodies and exports because they take much memory.
        """
        name, options = counted_as(caller, address), self._context.options
        if scope["method"] == "GET" and scope["path"].endswith(STREAMS):
            if scope["path"].startswith(CONSOLE):  # per address; the console counts the streams of each person itself
                return f"page/{address}", options.most_pages
            return f"stream/{name}", options.most_streams
        operator = isinstance(caller, Caller) and caller.operator
        long = most_bytes(scope, caller, options) > WORDS_BYTES and _declared(scope) > options.small_body_bytes
        if not operator and (long or (scope["method"] == "GET" and _OWN_TEXT.fullmatch(scope["path"]))):
            return f"large/{name}", options.most_large
        return name, options.most_requests


def _is_of_another_site(scope: Scope) -> bool:
    """Return whether a page of another site sent this request without a click on a link.

    Such a page cannot read the answer, but its requests would count against the visitor's address. Browsers mark such
    requests with `Sec-Fetch-Site`. `CodecCors` decides about requests of the Temporal UI for payloads.
    """
    headers = Headers(scope=scope)
    if headers.get("sec-fetch-site") != "cross-site" or CODEC_PATHS.fullmatch(scope["path"]):
        return False
    followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return not (followed and scope["method"] == "GET")


def _declared(scope: Scope) -> float:
    """Return the declared bytes of the body: infinity for a chunked body, 0 without a body."""
    headers = Headers(scope=scope)
    declared = headers.get("content-length", "")
    if declared.isdigit():
        return int(declared[:20])
    return math.inf if "transfer-encoding" in headers else 0
