"""Waiting for a condition: how every test waits for what others do."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
PAUSE_SECONDS = 0.02


@overload
async def until(condition: Callable[[], Awaitable[T]], what: str = "", *, seconds: float = 60) -> T: ...
@overload
async def until(condition: Callable[[], T], what: str = "", *, seconds: float = 60) -> T: ...
async def until(condition: Callable[[], Any], what: str = "", *, seconds: float = 60) -> Any:
    """Ask again every few milliseconds until the answer is true, and return it.

    `what`: names the condition when the time is up; without it, the name of the function does.
    Raises `AssertionError` then.
    """
    what = what or getattr(condition, "__name__", repr(condition)).strip("_").replace("_", " ")
    try:
        async with asyncio.timeout(seconds) as limit:
            while True:
                answer = condition()
                if inspect.isawaitable(answer):
                    answer = await answer
                if answer:
                    return answer
                await asyncio.sleep(PAUSE_SECONDS)
    except TimeoutError:
        if not limit.expired():  # the condition's own
            raise
        raise AssertionError(f"not within {seconds:g} s: {what}") from None
