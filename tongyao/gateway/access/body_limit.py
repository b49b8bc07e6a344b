"""Refuses request bodies that are too long, with or without a declared length, or that have too many small values."""

from __future__ import annotations

import re
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongyao.app.authorization import Caller
from tongyao.app.gateway_options import GatewayOptions
from tongyao.gateway.problems import HttpProblem, problem_response

WORDS_BYTES: Final = 1_000_000
"""Limit of a message or of a console form. It is far above the limit of the text in it, in any encoding."""

MOST_PARTS: Final = 5_000
"""Limit of `Structure.parts` of a JSON body. JSON of many small values takes twenty times its length in memory. It also
takes seconds of the event loop, because pydantic makes an error for each invalid value."""
MOST_PARTS_OF_PAYLOADS: Final = 300_000
MOST_FIELDS: Final = 200
"""Limit of the fields of a form, and of the parameters of a query."""

_LARGE: Final = re.compile(r"/profiles/[^/]+|/mcp|/codec/decode")
_PAYLOADS: Final = re.compile(r"(/console)?/codec/decode")
_WORDS: Final = re.compile(r"/processes/[^/]+/messages|/calls/[^/]+/answer")


class BodyLimit:
    """ASGI middleware that answers `413` for a body that is too long for its path. It runs after `Admission`."""

    def __init__(self, app: ASGIApp, *, options: GatewayOptions) -> None:
        self._app, self._options = app, options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = scope.get("state", {}).get("caller")
        most = most_bytes(scope, caller, self._options)
        long = HttpProblem(413, "too_long", f"the request is too long: here at most {most:,} bytes")
        declared = dict(scope["headers"]).get(b"content-length", b"")
        read, started = 0, False
        cut = long if declared.isdigit() and int(declared) > most else None
        structure, most_parts = _structure_of(scope, caller)

        async def counted() -> Message:
            nonlocal read, cut
            message = await receive()
            body = message.get("body", b"")
            read += len(body)
            structure.read(body)
            if read > most or structure.parts > most_parts:
                cut = long if read > most else _too_many_parts()
                raise cut
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if cut is None or started:  # the application's answer to the truncated body is dropped
                started = True
                await send(message)

        if cut is None:
            try:
                await self._app(scope, counted, noted)
            except Exception:
                if cut is None or started:
                    raise
        if cut is not None and not started:
            await problem_response(cut)(scope, receive, send)


def _too_many_parts() -> HttpProblem:
    """Return a new exception. A shared exception would keep the frames of all its requests, with their bodies."""
    told = "this request has too many values for its length: a long request may only be a long text in UTF-8"
    return HttpProblem(413, "too_many_parts", told)


class Structure:
    """Counts the structure of a JSON document while it arrives.

    `parts`: the number of quotation marks, of bytes outside strings, and of NUL bytes. It reads ASCII. JSON parsers
    also accept UTF-16, in which a byte of a quotation mark may be half of a letter, and which contains NUL bytes.
    """

    def __init__(self) -> None:
        self.parts = 0
        self._in_text = False
        self._cut = b""

    def read(self, body: bytes) -> None:
        """Count the next bytes of the document. If they end within an escape, it is read with the following bytes."""
        self.parts += body.count(0)
        body = self._cut + body
        backslashes = len(body) - len(body.rstrip(b"\\"))
        self._cut = body[-1:] if backslashes % 2 else b""
        body = body[:-1] if self._cut else body
        for number, piece in enumerate(body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')):
            if number:
                self._in_text = not self._in_text
                self.parts += 1
            if not self._in_text:
                self.parts += len(piece)


class Fields:
    """Counts the fields of a form while it arrives. Some versions of python-multipart also split them at `;`."""

    def __init__(self) -> None:
        self.parts = 0

    def read(self, body: bytes) -> None:
        self.parts += body.count(b"&") + body.count(b";")


def _structure_of(scope: Scope, caller: object) -> tuple[Structure | Fields, int]:
    """Return the counter for a request's body, and its limit. Only operators may send many payloads of Temporal."""
    if _PAYLOADS.fullmatch(scope["path"]):
        operator = isinstance(caller, Caller) and caller.operator
        return Structure(), MOST_PARTS_OF_PAYLOADS if operator else MOST_PARTS
    return (Fields(), MOST_FIELDS) if scope["path"].startswith("/console/") else (Structure(), MOST_PARTS)


def most_bytes(scope: Scope, caller: object, options: GatewayOptions) -> int:
    """Return the limit of a request's body in bytes. It is high only for known callers on paths for long texts."""
    known = isinstance(caller, Caller) and not caller.anonymous
    if known and _LARGE.fullmatch(scope["path"]):
        return options.max_body_bytes
    if known and (_WORDS.fullmatch(scope["path"]) or scope["path"].startswith("/console/")):
        return max(WORDS_BYTES, options.small_body_bytes)
    if scope["path"] == "/console/join":  # a form encodes each byte that is not ASCII in three bytes
        return 3 * options.small_body_bytes
    return options.small_body_bytes
