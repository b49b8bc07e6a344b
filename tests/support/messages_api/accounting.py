"""The reads and writes of a prompt cache, by the published rules of the Messages API, with estimated token counts."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

LIFETIME: Final = 300.0
LOOKBACK: Final = 20
MAX_BREAKPOINTS: Final = 4
_WIDE: Final = re.compile(r"[\u2e80-\u9fff\uf900-\uffef]+")


def estimate_tokens(text: str) -> int:
    """A rough count: one token per CJK character, and one per four other characters."""
    wide = sum(map(len, _WIDE.findall(text)))
    return wide + -(-(len(text) - wide) // 4)


@dataclass(frozen=True)
class Count:
    """The tokens of one request, as its `usage` reports them."""

    fresh: int
    written: int
    read: int


class TooManyBreakpoints(ValueError):
    pass


class PromptCache:
    """A prompt cache. An entry is a prefix of blocks for one model, with at least `minimum` tokens. It lives five
    minutes after its last use.

    An entry ends at a breakpoint. A later request looks back up to 20 blocks from each of its own breakpoints. `clock`
    is in seconds, so that a test can simulate five minutes.
    """

    def __init__(self, *, minimum: int = 1024, clock: Callable[[], float] = time.monotonic) -> None:
        self._minimum, self._clock = minimum, clock
        self._alive: dict[bytes, float] = {}
        self._lock = threading.Lock()

    def count(self, request: Mapping[str, Any]) -> Count:
        """Count `request` and store its writes. Call it when the answer begins, not before.

        Raises `TooManyBreakpoints` if there are more than four.
        """
        hashes, totals, marks = [], [], []
        running, total = blake2b(str(request.get("model")).encode(), digest_size=16), 0
        for text, marked in _blocks(request):
            running.update(blake2b(text.encode(), digest_size=16).digest())
            total += estimate_tokens(text)
            hashes.append(running.digest())
            totals.append(total)
            if marked:
                marks.append(len(hashes) - 1)
        if len(marks) > MAX_BREAKPOINTS:
            raise TooManyBreakpoints(f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided")
        with self._lock:
            return self._settle(hashes, totals, marks, total)

    def _settle(self, hashes: list[bytes], totals: list[int], marks: list[int], total: int) -> Count:
        now = self._clock()
        read = 0
        for mark in reversed(marks):
            for index in range(mark, max(-1, mark - LOOKBACK), -1):
                if self._alive.get(hashes[index], -1.0) >= now:
                    self._alive[hashes[index]] = now + LIFETIME
                    read = max(read, totals[index])
                    break
            if read:
                break
        written = read
        for mark in marks:
            if totals[mark] >= self._minimum:
                self._alive[hashes[mark]] = now + LIFETIME
                written = max(written, totals[mark])
        return Count(fresh=total - written, written=written - read, read=read)


def _blocks(request: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Every block of the prompt in the cache's order, each with a flag: whether a breakpoint ends it."""
    output = (request.get("output_config") or {}).get("format")
    if output:
        yield json.dumps(output, ensure_ascii=False), False
    system = request.get("system") or []
    for block in [{"text": system}] if isinstance(system, str) else system:
        yield f"system\n{block['text']}", "cache_control" in block
    for message in request["messages"]:
        content = message["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            yield f"{message['role']}\n{block.get('text', '')}", "cache_control" in block
