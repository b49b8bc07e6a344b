"""Runs a function for many people or processes. If it fails for one, it still runs for the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import structlog

from tongyao.app.errors import Unavailable
from tongyao.records.database import DatabaseUnreachable

log = structlog.get_logger()


async def try_each(ids: Iterable[str], do: Callable[[str], Awaitable[object]], *, what: str) -> list[str]:
    """Call `do` with each id, also after a failure. Returns the ids for which it succeeded.

    Raises the first error after all ids were tried, but `Unavailable` and `DatabaseUnreachable` at once.
    """
    done: list[str] = []
    failed: Exception | None = None
    for id in ids:
        try:
            await do(id)
        except (Unavailable, DatabaseUnreachable):
            raise
        except Exception as error:
            log.error(f"{what} failed: the others go on", id=id, error=type(error).__name__)
            failed = failed or error
        else:
            done.append(id)
    if failed is not None:
        raise failed
    return done
