"""Waits for a condition. All tests use it to wait for other programs and tasks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
PAUSE_SECONDS = 0.02
"""The first pause between two checks. Each is half as long again as the last, up to `LONGEST_PAUSE_SECONDS`."""
LONGEST_PAUSE_SECONDS = 0.15


@overload
async def until(condition: Callable[[], Awaitable[T]], what: str = "", *, seconds: float = 60) -> T: ...
@overload
async def until(condition: Callable[[], T], what: str = "", *, seconds: float = 60) -> T: ...
async def until(condition: Callable[[], Any], what: str = "", *, seconds: float = 60) -> Any:
    """Check a condition every few milliseconds until its result is true, and return the result.

    `what`: the name of the condition in the error; by default the name of the function. Raises `AssertionError` after
    `seconds`.
    """
    what = what or getattr(condition, "__name__", repr(condition)).strip("_").replace("_", " ")
    try:
        async with asyncio.timeout(seconds) as limit:
            pause = PAUSE_SECONDS
            while True:
                answer = condition()
                if inspect.isawaitable(answer):
                    answer = await answer
                if answer:
                    return answer
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
    except TimeoutError:
        if not limit.expired():  # a time-out of the condition itself
            raise
        raise AssertionError(f"not within {seconds:g} s: {what}") from None
