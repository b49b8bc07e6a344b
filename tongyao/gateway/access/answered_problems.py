"""Answers expected errors, and adds headers to every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongyao.app.errors import Problem, problem_of


class AnsweredProblems:
    """ASGI middleware. It passes each part of an answer on at once, so a stream needs no further task and no buffer."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        answer: Callable[[Request, Problem], Response],
        headers: Callable[[str], Mapping[str, str]],
    ) -> None:
        """`answer` makes the answer for a problem. `headers` returns the default headers of answers under a path."""
        self._app, self._answer, self._headers = app, answer, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = ended = False

        async def sent(message: Message) -> None:
            nonlocal begun, ended
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in self._headers(scope["path"]).items():
                    headers.setdefault(name, value)
            ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        try:
            await self._app(scope, receive, sent)
            if begun and not ended:  # when the server stops, an event stream ends without its last part
                await send({"type": "http.response.body", "body": b""})
        except Exception as error:
            problem = problem_of(error)
            if problem is None or begun:
                raise
            await self._answer(Request(scope), problem)(scope, receive, sent)
