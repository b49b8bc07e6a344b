"""Sends heartbeats while an activity waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from temporalio import activity

HEARTBEAT_SECONDS = 4


@asynccontextmanager
async def heartbeats() -> AsyncIterator[None]:
    """Send heartbeats during the block."""
    beats = asyncio.create_task(_beat())
    try:
        yield
    finally:
        beats.cancel()
        with suppress(asyncio.CancelledError):
            await beats


async def _beat() -> None:
    while True:  # the first heartbeat is sent after a pause: a short step sends none
        await asyncio.sleep(HEARTBEAT_SECONDS)
        activity.heartbeat()
