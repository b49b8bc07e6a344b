"""Sends heartbeats while a step awaits one long operation."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from temporalio import activity

BEAT_SECONDS = 10
T = TypeVar("T")


async def beating(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, with heartbeats meanwhile. A step that is cancelled cancels it."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([task], timeout=BEAT_SECONDS))[0]:
            activity.heartbeat()
        return task.result()
    finally:
        task.cancel()
