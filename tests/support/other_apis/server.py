"""The APIs of OpenAI (chat completions and responses), Google and Bedrock on loopback, streaming, with faults on
request.

They answer like `tests.support.messages_api`: each request is converted to a request of the Messages API, whose
responder writes the text. The responses have the form of these services' responses, as far as pydantic-ai reads it.
"""

from __future__ import annotations

import asyncio
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.support.messages_api.accounting import estimate_tokens
from tests.support.messages_api.faults import STATUS, Fault, digest
from tests.support.messages_api.server import MessagesServer, Receive, Send, Served

CACHED: Final = 7
"""Tokens of each prompt that are reported as read from the service's cache."""


class OtherApis(MessagesServer):
    """A server like `MessagesServer` for the other APIs. Without `schema` in `knows`, a request with a schema is refused."""

    async def _app(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        body = b""
        while (part := await receive())["type"] == "http.request":
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        path, sent = scope["path"], json.loads(body or b"{}")
        speak: _Api
        match path.rsplit("/", 1)[-1].rsplit(":", 1)[-1]:
            case "completions":
                speak, request = _Chat(), _of_chat(sent)
            case "responses":
                speak, request = _Responses(), _of_responses(sent)
            case "streamGenerateContent":
                speak, request = _Google(), _of_google(sent, path)
            case "converse-stream":
                speak, request = _Bedrock(), _of_bedrock(sent, path)
            case _:
                await _send(send, 404, b"application/json", b'{"error":{"message":"no such path","code":404}}')
                return
        await self._answer_over(speak, request, receive, send)

    async def _answer_over(self, speak: _Api, request: dict[str, Any], receive: Receive, send: Send) -> None:
        number, told = next(self._numbers), digest(request)
        self._attempts[told] += 1
        fault = self.faults(request, self._attempts[told]) if self.faults else None
        refused = ""
        if fault in STATUS:
            status, kind, refused = STATUS[fault]
        elif request["schema"] is not None and "schema" not in self.knows:
            status, kind, refused = 400, "invalid_request_error", "response_format: json_schema is not supported"
        elif request["max_tokens"] > self.longest:
            most = f"this model supports at most {self.longest} completion tokens"
            status, kind, refused = (
                400,
                "invalid_request_error",
                f"max_tokens is too large: {request['max_tokens']}, {most}",
            )
        if refused:
            self.served.append(Served(number, request, fault, status))
            extra = [(b"retry-after", f"{self.retry_after:g}".encode())] if status == 429 else []
            await _send(send, status, b"application/json", speak.error(status, kind, refused), extra)
            return
        text, stop = self._answer(request, fault)
        used = (sum(estimate_tokens(str(message)) for message in request["messages"]) + CACHED, estimate_tokens(text))
        self.served.append(Served(number, request, fault, 200, output_tokens=used[1], stop_reason=stop))
        await asyncio.sleep(self.latency)
        pieces = list(speak.stream(text, stop, used, request["model"]))
        if fault in (Fault.CUT_STREAM, Fault.STALLED_STREAM):
            pieces = pieces[: len(pieces) // 2]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", speak.kind)]})
        await send({"type": "http.response.body", "body": b"".join(pieces), "more_body": True})
        if fault is Fault.STALLED_STREAM:
            while (await receive())["type"] != "http.disconnect":
                pass
        if fault is not Fault.CUT_STREAM:
            await send({"type": "http.response.body", "body": b""})


class _Api:
    """One API: its content type, its stream (text, stop reason of the Messages API, tokens in and out) and its errors."""

    kind = b"text/event-stream"

    def stream(self, text: str, stop: str, used: tuple[int, int], model: str) -> Iterator[bytes]:
        raise NotImplementedError

    def error(self, status: int, kind: str, message: str) -> bytes:
        code = "insufficient_quota" if "credit" in message else None
        return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


class _Chat(_Api):
    def stream(self, text: str, stop: str, used: tuple[int, int], model: str) -> Iterator[bytes]:
        finish = {"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}[stop]
        head = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1_795_000_000, "model": model}
        for piece in _split(text):
            yield _event({**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}}]})
        yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        usage: dict[str, Any] = {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)}
        usage |= {"prompt_tokens_details": {"cached_tokens": CACHED}}
        yield _event({**head, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"


class _Responses(_Api):
    def stream(self, text: str, stop: str, used: tuple[int, int], model: str) -> Iterator[bytes]:
        response: dict[str, Any] = {
            "id": "resp_1", "object": "response", "created_at": 1_795_000_000, "model": model, "output": [], "tools": [],
            "status": "in_progress", "parallel_tool_calls": False, "tool_choice": "auto", "error": None, "incomplete_details": None,
        }  # fmt: skip
        part = {"type": "output_text", "text": "", "annotations": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.content_part.added", **at, "part": part},
            *({"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []} for piece in _split(text)),
            {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
            {"type": "response.output_item.done", "output_index": 0, "item": {**item, "status": "completed", "content": [{**part, "text": text}]}},
        ]  # fmt: skip
        usage = {
            "input_tokens": used[0], "output_tokens": used[1], "total_tokens": sum(used),
            "input_tokens_details": {"cached_tokens": CACHED}, "output_tokens_details": {"reasoning_tokens": 0},
        }  # fmt: skip
        ended: dict[str, Any] = {"status": "completed", "type": "response.completed", "why": None}
        if stop != "end_turn":
            why = "max_output_tokens" if stop == "max_tokens" else "content_filter"
            ended = {"status": "incomplete", "type": "response.incomplete", "why": {"reason": why}}
        done = {**response, "status": ended["status"], "incomplete_details": ended["why"], "usage": usage}
        events.append({"type": ended["type"], "response": done})
        for number, event in enumerate(events):
            body = json.dumps({**event, "sequence_number": number})
            yield f"event: {event['type']}\ndata: {body}\n\n".encode()


class _Google(_Api):
    def stream(self, text: str, stop: str, used: tuple[int, int], model: str) -> Iterator[bytes]:
        finish = {"end_turn": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}[stop]
        for piece in _split(text):
            yield _event(
                {
                    "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": piece}]}}],
                    "modelVersion": model,
                }
            )
        usage = {
            "promptTokenCount": used[0],
            "candidatesTokenCount": used[1],
            "totalTokenCount": sum(used),
            "cachedContentTokenCount": CACHED,
        }
        last = {"index": 0, "finishReason": finish, "content": {"role": "model", "parts": []}}
        yield _event({"candidates": [last], "usageMetadata": usage, "modelVersion": model})

    def error(self, status: int, kind: str, message: str) -> bytes:
        names = {
            401: "UNAUTHENTICATED",
            403: "PERMISSION_DENIED",
            429: "RESOURCE_EXHAUSTED",
            500: "INTERNAL",
            529: "UNAVAILABLE",
        }
        body = {"code": status, "message": message, "status": names.get(status, "INVALID_ARGUMENT")}
        return json.dumps({"error": body}).encode()


class _Bedrock(_Api):
    kind = b"application/vnd.amazon.eventstream"

    def stream(self, text: str, stop: str, used: tuple[int, int], model: str) -> Iterator[bytes]:
        reason = {"end_turn": "end_turn", "max_tokens": "max_tokens", "refusal": "content_filtered"}[stop]
        yield _frame("messageStart", {"role": "assistant"})
        for piece in _split(text):
            yield _frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}})
        yield _frame("contentBlockStop", {"contentBlockIndex": 0})
        yield _frame("messageStop", {"stopReason": reason})
        fresh = used[0] - CACHED
        usage = {
            "inputTokens": fresh,
            "outputTokens": used[1],
            "totalTokens": sum(used),
            "cacheReadInputTokens": CACHED,
        }
        yield _frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})

    def error(self, status: int, kind: str, message: str) -> bytes:
        return json.dumps({"message": message}).encode()


def _of_chat(sent: Mapping[str, Any]) -> dict[str, Any]:
    system = [message for message in sent["messages"] if message["role"] in ("system", "developer")]
    return {
        "model": sent["model"],
        "system": [{"type": "text", "text": str(message["content"])} for message in system],
        "messages": [_plain(message["role"], message["content"]) for message in sent["messages"] if message not in system],
        "max_tokens": sent.get("max_completion_tokens") or sent.get("max_tokens") or 0,
        "schema": sent.get("response_format", {}).get("json_schema"),
    }  # fmt: skip


def _of_responses(sent: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": sent["model"],
        "system": [{"type": "text", "text": sent.get("instructions", "")}],
        "messages": [_plain(message["role"], message["content"]) for message in sent["input"]],
        "max_tokens": sent.get("max_output_tokens") or 0,
        "schema": (sent.get("text") or {}).get("format", {}).get("schema"),
    }  # fmt: skip


def _of_google(sent: Mapping[str, Any], path: str) -> dict[str, Any]:
    generation = sent.get("generationConfig", {})
    roles = {"model": "assistant", "user": "user"}
    return {
        "model": path.rsplit("/", 1)[-1].partition(":")[0],
        "system": sent.get("systemInstruction", {}).get("parts", []),
        "messages": [_plain(roles[content["role"]], content["parts"]) for content in sent["contents"]],
        "max_tokens": generation.get("maxOutputTokens") or 0,
        "schema": generation.get("responseJsonSchema") or generation.get("responseSchema"),
    }  # fmt: skip


def _of_bedrock(sent: Mapping[str, Any], path: str) -> dict[str, Any]:
    return {
        "model": path.split("/")[-2],
        "system": [block for block in sent.get("system", []) if "text" in block],
        "messages": [_plain(message["role"], message["content"]) for message in sent["messages"]],
        "max_tokens": sent.get("inferenceConfig", {}).get("maxTokens") or 0,
        "schema": sent.get("outputConfig"),
    }  # fmt: skip


def _plain(role: str, content: Any) -> dict[str, Any]:
    blocks = [{"text": content}] if isinstance(content, str) else [block for block in content if "text" in block]
    return {"role": role, "content": [{"type": "text", "text": block["text"]} for block in blocks]}


def _split(text: str, parts: int = 10) -> list[str]:
    size = max(1, -(-len(text) // parts))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _event(content: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(content)}\n\n".encode()


def _frame(kind: str, content: Mapping[str, Any]) -> bytes:
    """One message of AWS's event stream: lengths, headers and body, each part with its checksum."""
    named = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in named.items()
    )
    body = json.dumps(content).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return whole + struct.pack(">I", zlib.crc32(whole))


async def _send(
    send: Send, status: int, kind: bytes, body: bytes, extra: list[tuple[bytes, bytes]] | None = None
) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), *(extra or [])]})
    await send({"type": "http.response.body", "body": body})
