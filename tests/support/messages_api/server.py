"""A Messages API on loopback: real HTTP, with and without streaming, usage with cache accounting, faults on request.

No model answers here. Tests and benchmarks use it as `base_url`. To run it by hand: `python -m
tests.support.messages_api --port 8799`, then set `ANTHROPIC_BASE_URL=http://127.0.0.1:8799`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

import uvicorn

from tests.support.messages_api.accounting import Count, PromptCache, TooManyBreakpoints, estimate_tokens
from tests.support.messages_api.faults import STATUS, Choose, Fault, digest, spoiled
from tests.support.messages_api.responder import Responder

Respond = Callable[[Mapping[str, Any]], str]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

_SSE: Final = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
_JSON: Final = [(b"content-type", b"application/json")]


@dataclass(frozen=True)
class Served:
    """One request that the server received. `request`: its body. `stop_reason`: empty if the answer was not complete."""

    number: int
    request: Mapping[str, Any]
    fault: Fault | None
    status: int
    count: Count | None = None
    output_tokens: int = 0
    stop_reason: str = ""
    began: float = field(default_factory=time.monotonic)
    """For an answer: the time at which the first byte was sent."""


class MessagesServer:
    """`with MessagesServer() as server:` serves at `server.base_url`, in a separate thread, until the block ends.

    `respond`: makes the text of an answer from the request. `faults`: may choose a fault for a request. `latency`:
    seconds of an answer. `deltas`: pieces of an answer. `keys`: the accepted keys, if given. `old_header`: the key is
    accepted only as `X-Api-Key`. `knows`: the parameters that this server understands; without `output_config` it
    refuses this parameter, as older servers do. `vague`: a refusal does not name the parameter. `longest`: the largest
    accepted `max_tokens`. `thoughts`: sent as a separate block before every answer.
    """

    def __init__(
        self,
        respond: Respond | None = None,
        *,
        faults: Choose | None = None,
        latency: float = 0.0,
        deltas: int = 20,
        retry_after: float = 0.0,
        keys: frozenset[str] | None = None,
        knows: frozenset[str] = frozenset({"output_config", "cache_control"}),
        longest: int = 128_000,
        vague: bool = False,
        old_header: bool = False,
        thoughts: str = "",
        cache: PromptCache | None = None,
        port: int = 0,
    ) -> None:
        self.respond = respond or Responder()
        self.faults = faults
        self.latency, self.deltas, self.retry_after = latency, deltas, retry_after
        self.keys, self.knows, self.longest = keys, knows, longest
        self.vague, self.thoughts, self.old_header = vague, thoughts, old_header
        self.cache = cache or PromptCache()
        self.served: list[Served] = []
        self.finished: dict[int, float] = {}
        """Number of a request → the time at which its complete answer had been sent, by `time.monotonic`."""
        self._attempts: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._port = port
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def calls(self) -> int:
        """The number of requests for a message, including requests with faults."""
        return len(self.served)

    def start(self) -> Self:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(1024)  # from here on clients can connect: they wait in the backlog, and nobody has to poll
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            interface="asgi3",
            proxy_headers=False,
            timeout_graceful_shutdown=1,
            loop="asyncio",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True, name="messages-api")
        self._thread.start()
        return self

    def stop(self) -> None:
        if self._server and self._thread:
            self._server.should_exit = True
            self._thread.join(timeout=10)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _app(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/v1/messages" or scope["method"] != "POST":
            await _error(send, 404, "not_found_error", "Not found")
            return
        body = bytearray()
        while True:
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        headers = dict(scope["headers"])
        await self._message(json.loads(bytes(body)), self._key_in(headers), receive, send)

    def _key_in(self, headers: Mapping[bytes, bytes]) -> str:
        bearer = "" if self.old_header else headers.get(b"authorization", b"").decode().removeprefix("Bearer ")
        return headers.get(b"x-api-key", b"").decode() or bearer

    async def _message(self, request: dict[str, Any], key: str, receive: Receive, send: Send) -> None:
        number, told = next(self._numbers), digest(request)
        self._attempts[told] += 1
        fault = self.faults(request, self._attempts[told]) if self.faults else None
        if self.keys is not None and key not in self.keys:
            fault = Fault.UNAUTHORIZED
        if fault in STATUS:
            status, kind, message = STATUS[fault]
            self.served.append(Served(number, request, fault, status))
            await _error(send, status, kind, message, retry_after=self.retry_after if status == 429 else None)
            return
        if refused := self._refused(request):
            self.served.append(Served(number, request, fault, 400))
            await _error(send, 400, "invalid_request_error", refused)
            return
        text, stop = self._answer(request, fault)
        try:
            await self._deliver(number, request, fault, text, stop, receive, send)
            if fault not in (Fault.CUT_STREAM, Fault.STALLED_STREAM, Fault.ERROR_IN_STREAM):
                self.finished[number] = time.monotonic()
        except TooManyBreakpoints as error:
            self.served.append(Served(number, request, fault, 400))
            await _error(send, 400, "invalid_request_error", str(error))

    def _refused(self, request: Mapping[str, Any]) -> str:
        if "output_config" in request and "output_config" not in self.knows:
            return "Bad request" if self.vague else "output_config: Extra inputs are not permitted"
        if int(request["max_tokens"]) > self.longest:
            sent = request["max_tokens"]
            return f"max_tokens: {sent} > {self.longest}, which is the maximum allowed number of output tokens"
        if "cache_control" not in self.knows and "cache_control" in json.dumps(request):
            return "system.0.cache_control: Extra inputs are not permitted"
        return ""

    def _answer(self, request: Mapping[str, Any], fault: Fault | None) -> tuple[str, str]:
        text = self.respond(request)
        if fault is Fault.REFUSAL:
            return "", "refusal"
        if fault is Fault.TRUNCATION:
            return text[: len(text) // 2], "max_tokens"
        if fault in (Fault.CUT_STREAM, Fault.STALLED_STREAM, Fault.ERROR_IN_STREAM, None):
            limit = int(request["max_tokens"])
            return (text, "end_turn") if estimate_tokens(text) <= limit else (text[: limit * 2], "max_tokens")
        return spoiled(text, fault), "end_turn"

    async def _deliver(
        self,
        number: int,
        request: Mapping[str, Any],
        fault: Fault | None,
        text: str,
        stop: str,
        receive: Receive,
        send: Send,
    ) -> None:
        count, output = self.cache.count(request), estimate_tokens(text)
        whole = fault not in (Fault.CUT_STREAM, Fault.STALLED_STREAM, Fault.ERROR_IN_STREAM)
        self.served.append(Served(number, request, fault, 200, count, output, stop if whole else ""))
        message = {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": request["model"],
            "stop_reason": stop, "stop_sequence": None, "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": count.fresh, "cache_creation_input_tokens": count.written,
                      "cache_read_input_tokens": count.read, "output_tokens": output},
        }  # fmt: skip
        if not request.get("stream"):
            await asyncio.sleep(self.latency)
            await send({"type": "http.response.start", "status": 200, "headers": _JSON})
            await send({"type": "http.response.body", "body": json.dumps(message).encode()})
            return
        started = {
            **message,
            "content": [],
            "stop_reason": None,
            "usage": {**message["usage"], "output_tokens": 1},
        }
        await send({"type": "http.response.start", "status": 200, "headers": _SSE})
        head = _event("message_start", {"message": started})
        if self.thoughts:
            head += _event("content_block_start", {"index": 0, "content_block": {"type": "thinking", "thinking": ""}})
            head += _event(
                "content_block_delta", {"index": 0, "delta": {"type": "thinking_delta", "thinking": self.thoughts}}
            )
            head += _event("content_block_stop", {"index": 0})
        at = 1 if self.thoughts else 0
        head += _event("content_block_start", {"index": at, "content_block": {"type": "text", "text": ""}})
        await _more(send, head)
        pieces = [_delta(piece, at) for piece in _split(text, self.deltas)]
        if not whole:
            pieces = pieces[: len(pieces) // 2]
        await self._paced(send, pieces)
        match fault:
            case Fault.STALLED_STREAM:
                while (await receive())["type"] != "http.disconnect":
                    pass
            case Fault.ERROR_IN_STREAM:
                error = {"error": {"type": "overloaded_error", "message": "Overloaded"}}
                await send({"type": "http.response.body", "body": _event("error", error)})
            case Fault.CUT_STREAM:
                return  # an unfinished response: the server closes the connection
            case _:
                tail = _event("content_block_stop", {"index": at})
                tail += _event("message_delta", {"delta": {"stop_reason": stop}, "usage": {"output_tokens": output}})
                tail += _event("message_stop", {})
                await send({"type": "http.response.body", "body": tail})

    async def _paced(self, send: Send, pieces: list[bytes]) -> None:
        if not self.latency:
            await _more(send, b"".join(pieces))
            return
        ends = time.monotonic() + self.latency
        for left, piece in zip(range(len(pieces), 0, -1), pieces, strict=True):
            await asyncio.sleep(max(0.0, (ends - time.monotonic()) / left))
            await _more(send, piece)


def _split(text: str, parts: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, parts)))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _delta(text: str, at: int) -> bytes:
    return _event("content_block_delta", {"index": at, "delta": {"type": "text_delta", "text": text}})


def _event(kind: str, content: Mapping[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **content})}\n\n".encode()


async def _more(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _error(send: Send, status: int, kind: str, message: str, *, retry_after: float | None = None) -> None:
    headers = [*_JSON, (b"request-id", b"req_local")]
    if retry_after is not None:
        headers.append((b"retry-after", f"{retry_after:g}".encode()))
    body = {"type": "error", "error": {"type": kind, "message": message}}
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
