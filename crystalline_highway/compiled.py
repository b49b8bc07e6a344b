"""Just-in-time compilation of the inner loops by numba, cached on disk. Compiled functions release the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` at its first call, which takes a few seconds. Later processes load it from the cache on
    disk."""
    return cast(Callable[P, R], njit(cache=True, nogil=True)(function))
