"""Refuses request bodies above a limit, whether their length is declared or not."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongyao.gateway.problems import HttpProblem, problem_response


class BodyLimit:
    """ASGI middleware: `413` for bodies of more than `most` bytes."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"")
        read, started, over = 0, False, declared.isdigit() and int(declared) > self._most

        async def counted() -> Message:
            nonlocal read, over
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                over = True
                raise ValueError("the body is too long")
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if not over or started:  # drops what the application answers to a body that was cut off
                started = True
                await send(message)

        if not over:
            try:
                await self._app(scope, counted, noted)
            except Exception:
                if not over or started:
                    raise
        if over and not started:
            problem = HttpProblem(413, "too_long", f"the request is too long: at most {self._most:,} bytes")
            await problem_response(problem)(scope, receive, send)
