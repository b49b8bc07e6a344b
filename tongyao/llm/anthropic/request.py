"""One streamed request to a Messages API: returns text, stop reason, usage, or raises a `tongyao.llm.errors` error."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import anthropic
import httpx2
from anthropic import AsyncAnthropic, AsyncStream

from tongyao.llm.anthropic.client import nobody_there
from tongyao.llm.dialogue import Reply
from tongyao.llm.engine import Usage
from tongyao.llm.errors import EngineError, Failure, OperatorNeeded, Transient, of_failure

ANSWER_BYTES: Final = 16_000_000
"""Maximum size of an answer with its events, in bytes: many times the longest answer of any model."""
CHARS_PER_TOKEN: Final = 8
"""Maximum number of characters of an answer per token of its limit: twice the rate of English.

A step checks a whole answer at once, and the worker does nothing else in that time.
"""
_MOST_TOKENS: Final = 10**9
_LONGEST_WAIT: Final = 3600.0


class Rejected(Exception):
    """The service refused the request (400, 422). The caller may repeat it without the parameter in the message."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


async def converse(
    client: AsyncAnthropic,
    body: Mapping[str, Any],
    *,
    idle: float,
    total: float,
    hear: Callable[[str], None] | None = None,
) -> Reply:
    """Send `body` and read the streamed answer. `hear` is called with the text so far.

    The code reads raw events instead of the SDK's objects. So pings count as activity while a model thinks, and reading
    an event takes a third of the time. Raises `Transient` if nothing arrives for `idle` seconds, if the answer takes
    longer than `total` seconds, or if it breaks off. Raises `Rejected` for 400 and 422, and otherwise the error of
    `errors.of_failure`.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        async with asyncio.timeout(total), asyncio.timeout(idle) as silence:
            reply = await _read(client, body, _Pulse(lambda: silence.reschedule(loop.time() + idle), idle), hear)
    except TimeoutError:
        if loop.time() - began >= total:
            raise Transient(f"no whole answer within {total:.3g} s", reason="timed_out") from None
        raise Transient(f"the stream stalled: nothing came for {idle:g} s", reason="stalled") from None
    except anthropic.APIStatusError as error:
        raise _of_status(error) from None
    except anthropic.APIConnectionError as error:
        raise _of_connection(error, client) from None
    except httpx2.HTTPError as error:
        raise Transient(f"the stream broke ({type(error).__name__})", reason="broken") from None
    except anthropic.AnthropicError as error:
        raise OperatorNeeded(f"the client cannot be used ({type(error).__name__}): check key and settings") from None
    if len(reply.text) > (most := body["max_tokens"] * CHARS_PER_TOKEN):
        raise _too_long(most, "characters")
    return reply


class _Pulse:
    """Called for each event. It extends the idle time-out.

    Rescheduling a time-out costs more than reading an event, so it is done at most twenty times per `idle`.
    """

    def __init__(self, defer: Callable[[], None], idle: float) -> None:
        self._defer, self._step = defer, idle / 20
        self._deferred = float("-inf")

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self._deferred >= self._step:
            self._deferred = now
            self._defer()


async def _read(
    client: AsyncAnthropic, body: Mapping[str, Any], pulse: _Pulse, hear: Callable[[str], None] | None
) -> Reply:
    pulse()
    stream: AsyncStream[Any] = await client.messages.create(**body, stream=True)
    response = stream.response
    try:
        if "json" in response.headers.get("content-type", ""):
            return _whole(json.loads(await _body(response)))
        message: dict[str, Any] = {}
        used: dict[str, Any] = {}
        parts: list[str] = []
        stop, chars = "", 0
        async for event in AsyncStream.raw_events(response):
            pulse()
            if not event.data:
                continue
            if (chars := chars + len(event.data)) > ANSWER_BYTES:
                raise _too_long(ANSWER_BYTES, "bytes")
            said = json.loads(event.data)
            match said.get("type"):
                case "content_block_delta" if said["delta"].get("type") == "text_delta":
                    parts.append(said["delta"]["text"])
                    if hear is not None:
                        hear("".join(parts))
                case "content_block_start" if said.get("content_block", {}).get("type") == "text":
                    parts.append(said["content_block"].get("text") or "")
                case "message_start":
                    message = said["message"]
                    used = dict(message.get("usage") or {})
                case "message_delta":
                    stop = said["delta"].get("stop_reason") or stop
                    used |= {name: value for name, value in (said.get("usage") or {}).items() if value is not None}
                case "message_stop":
                    return Reply("".join(parts), stop, _usage(used), message.get("model", ""))
                case "error":
                    error = said.get("error") or {}
                    raise of_failure(Failure(0, str(error.get("type", "")), message=str(error.get("message", ""))))
        raise Transient("the stream ended in the middle of an answer", reason="broken")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Transient(f"the stream cannot be read ({type(error).__name__})", reason="broken") from None
    finally:
        await stream.close()


async def _body(response: httpx2.Response) -> bytes:
    parts: list[bytes] = []
    length = 0
    async for part in response.aiter_bytes():
        parts.append(part)
        if (length := length + len(part)) > ANSWER_BYTES:
            raise _too_long(ANSWER_BYTES, "bytes")
    return b"".join(parts)


def _too_long(most: int, what: str) -> Transient:
    return Transient(f"the answer has more than {most:,} {what}", reason="broken")


def _whole(message: Mapping[str, Any]) -> Reply:
    """The reply of a server that ignores the request to stream."""
    parts = (block.get("text", "") for block in message["content"] if block.get("type") == "text")
    return Reply(
        "".join(parts),
        message.get("stop_reason") or "",
        _usage(message.get("usage") or {}),
        message.get("model", ""),
    )


def _usage(used: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=_tokens(used.get("input_tokens")),
        cache_write_tokens=_tokens(used.get("cache_creation_input_tokens")),
        cache_read_tokens=_tokens(used.get("cache_read_input_tokens")),
        output_tokens=_tokens(used.get("output_tokens")),
        requests=1,
    )


def _tokens(said: Any) -> int:
    """A number of tokens. Absurdly large numbers of a server are capped, so that they can be stored and summed."""
    return min(max(0, int(said or 0)), _MOST_TOKENS)


def _of_status(error: anthropic.APIStatusError) -> Exception:
    failure = Failure(
        status=error.status_code,
        kind=error.type or "",
        code=error.error_code or "",
        message=error.api_message or error.message or "",
        retry_after=_retry_after(error.response.headers),
        request_id=error.request_id or "",
    )
    meant = of_failure(failure)
    return Rejected(failure) if failure.status in (400, 422) and meant.reason == "bad_request" else meant


def _of_connection(error: anthropic.APIConnectionError, client: AsyncAnthropic) -> EngineError:
    if nobody_there(error):
        address = f"{client.base_url.host}:{client.base_url.port or 443}"
        refused = OperatorNeeded(f"no server answers at {address}: start it or correct ANTHROPIC_BASE_URL, then resume")
        refused.reason = "no_server"
        return refused
    return Transient(f"the connection failed ({type(error.__cause__ or error).__name__})", reason="broken")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds, from any of the three header forms in use. None if there is none or it cannot be read."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _wait(float(milliseconds) / 1000)
        said = headers.get("retry-after")
        if said is None:
            return None
        if said.replace(".", "", 1).isdigit():
            return _wait(float(said))
        return _wait((parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _wait(seconds: float) -> float:
    return min(max(0.0, seconds), _LONGEST_WAIT)
