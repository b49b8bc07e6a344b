"""The recorded model calls of one process, made again by whichever orchestrator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from anthropic import AsyncAnthropic

from bench.orchestration_bench import in_waves, read_requests
from tongyao.llm.anthropic.stream import converse


class Calls:
    """The calls in `requests` (JSON lines), in waves: calls of one wave go together, waves follow each other."""

    def __init__(self, url: str, requests: Path) -> None:
        self.waves = in_waves(read_requests(requests))
        self._client = AsyncAnthropic(api_key="any", base_url=url, max_retries=0)

    async def answer(self, wave: int, index: int, beat: Callable[[], None] = lambda: None) -> str:
        """The text of one answer. Raises the errors of `tongyao.llm.errors`."""
        reply = await converse(self._client, self.waves[wave][index], beat=beat, idle=60, total=120)
        return reply.text

    async def warm_up(self) -> None:
        """One call, whose cost is not counted: the SDK loads much at its first one."""
        await self.answer(0, 0)
