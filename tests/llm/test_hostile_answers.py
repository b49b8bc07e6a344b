"""What a server in the place of a model answers stops no worker: every answer is one, or an error that is tried again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.raw_server import raw_server
from tongyao.llm.anthropic.client import client_of
from tongyao.llm.anthropic.request import ANSWER_BYTES, CHARS_PER_TOKEN, converse
from tongyao.llm.dialogue import Reply
from tongyao.llm.errors import Transient

BODY: dict[str, Any] = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Say something."}]}
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
BUSY = b"HTTP/1.1 529 Overloaded\r\nContent-Type: application/json\r\nConnection: close\r\n"


async def reply_of(first: bytes, again: bytes = b"", times: int = 0) -> Reply:
    async with raw_server(first, again, times) as url:
        client = client_of("key", base_url=url, seconds=60)
        try:
            return await converse(client, BODY, idle=60, total=60)
        finally:
            await client.close()


def event(said: Any) -> bytes:
    kind = said.get("type", "x") if isinstance(said, dict) else "content_block_delta"
    return f"event: {kind}\ndata: {json.dumps(said)}\n\n".encode()


@pytest.mark.parametrize(
    "answer",
    [
        STREAM + event(["no", "object"]),
        STREAM + event({"type": "content_block_delta", "delta": "no object"}),
        STREAM + event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": 7}}) + event({"type": "message_stop"}),
        STREAM + b"event: content_block_delta\ndata: " + b"[" * 100_000 + b"\n\n",
        WHOLE + b"[" * 100_000,
        WHOLE + b'{"content": 3}',
        WHOLE + b'["no object"]',
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_is_asked_for_again(answer: bytes) -> None:
    with pytest.raises(Transient):
        await reply_of(answer)


async def test_an_answer_without_end_is_cut_off() -> None:
    text = event({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "x" * 100_000}})
    for head, piece in ((STREAM, text), (WHOLE, b"x" * 100_000)):
        with pytest.raises(Transient, match="bytes"):
            await reply_of(head, piece, times=2 * ANSWER_BYTES // 100_000)


async def test_an_answer_far_longer_than_it_may_be_is_refused() -> None:
    most = BODY["max_tokens"] * CHARS_PER_TOKEN
    end = event({"type": "message_stop"})
    for length in (most, most + 1):
        text = "x" * length
        delta = event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}})
        start = event({"type": "content_block_start", "content_block": {"type": "text", "text": text}})
        whole = json.dumps({"content": [{"type": "text", "text": text}]}).encode()
        for answer in (STREAM + delta + end, STREAM + start + end, WHOLE + whole):
            if length == most:
                assert (await reply_of(answer)).text == text
            else:
                with pytest.raises(Transient, match="characters"):
                    await reply_of(answer)


async def test_what_a_server_says_that_was_used_is_a_number_that_can_be_stored() -> None:
    usage = {"input_tokens": 10**30, "output_tokens": -5}
    message = {"content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn", "model": "m", "usage": usage}
    reply = await reply_of(WHOLE + json.dumps(message).encode())
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10**9, 0)


@pytest.mark.parametrize("wait", [b"Retry-After: 99999999999", b"Retry-After-Ms: inf", b"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"])  # fmt: skip
async def test_nobody_is_told_to_wait_for_longer_than_an_hour(wait: bytes) -> None:
    with pytest.raises(Transient) as caught:
        await reply_of(BUSY + wait + b"\r\n\r\n{}")
    assert caught.value.retry_after == 3600
