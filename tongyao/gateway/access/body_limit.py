"""No request is read beyond a limit: neither what says how long it is, nor what does not."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongyao.app.problems import Problem
from tongyao.gateway.api.common import answer


class BodyLimit:
    """ASGI middleware: `413` for bodies of more than `most` bytes."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = dict(scope["headers"]).get(b"content-length", b"")
        read, started, over = 0, False, said.isdigit() and int(said) > self._most

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
            if not over or started:  # whatever the application says of a body that was cut off is not the answer
                started = True
                await send(message)

        if not over:
            try:
                await self._app(scope, counted, noted)
            except Exception:
                if not over or started:
                    raise
        if over and not started:
            problem = Problem("too_long", f"the request is too long: at most {self._most:,} bytes", status=413)
            await answer(problem)(scope, receive, send)
