"""Repeats the recorded model calls of one process, for any orchestrator."""

from __future__ import annotations

from pathlib import Path

from anthropic import AsyncAnthropic

from bench.orchestration_bench import in_waves, read_requests
from tongyao.llm.anthropic.request import converse


class Calls:
    """The calls in `requests` (JSON lines), in waves. Calls of one wave run in parallel, and waves follow each other."""

    def __init__(self, url: str, requests: Path) -> None:
        self.waves = in_waves(read_requests(requests))
        self._client = AsyncAnthropic(api_key="any", base_url=url, max_retries=0)

    async def answer(self, wave: int, index: int) -> str:
        """The text of one answer. Raises the errors of `tongyao.llm.errors`."""
        reply = await converse(self._client, self.waves[wave][index], idle=60, total=120)
        return reply.text

    async def warm_up(self) -> None:
        """Make one uncounted call, because the SDK loads many modules at its first call."""
        await self.answer(0, 0)
