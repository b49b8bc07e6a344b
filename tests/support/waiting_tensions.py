"""Processes that expired without a plan, made in the records alone, and a search for new people in a process that may
be killed.

`python -m tests.support.waiting_tensions URL SECONDS` runs the search as if this many seconds had passed.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from tongyao.app.context import AppContext
from tongyao.app.standing_look import look
from tongyao.field.intent_field import IntentField
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import open_pool, session
from tongyao.records.process.process_rows import NewProcess
from tongyao.records.repositories import Repositories


def context_of(repositories: Repositories) -> AppContext:
    """A context without a Temporal client, which the search does not need."""
    return AppContext(repositories, cast(Any, None), people_search=IntentField(repositories.pool))


async def expired(repositories: Repositories, scene: str, demander: str, tension: Tension) -> str:
    """Make a process whose tension was confirmed and which ended without a plan."""
    pid = f"c-{uuid.uuid4().hex[:16]}"
    text_id = await repositories.texts.put(demander, "tension", tension.model_dump_json())
    new = NewProcess(
        id=pid, demander=demander, language=tension.language, intent_text_id=None, scene_id=scene, tension_text_id=text_id,
        grade=tension.grade.value, settings={"residuals": "ask", "quorum": 2},
    )  # fmt: skip
    row = await repositories.processes.create(new)
    await repositories.shared.publish_tension(row)
    async with session(repositories.pool) as connection:
        await connection.execute(
            "UPDATE processes SET phase = 'expired', outcome = 'expired', ended_at = now() WHERE id = %s", [pid]
        )
    return pid


async def join(repositories: Repositories, scene: str, people: Iterable[tuple[str, str]]) -> None:
    """Store profiles, given as (id, text)."""
    for id, text in people:
        await repositories.profiles.save(
            id, scene_id=scene, display_name=id, text=text, grade="B", language="zh" if text[0] > "\u3000" else "en"
        )


async def _look(url: str, seconds: float) -> None:
    pool = await open_pool(url)
    try:
        await look(context_of(Repositories(pool)), now=datetime.now(UTC) + timedelta(seconds=seconds))
    finally:
        await pool.close()


if __name__ == "__main__":
    asyncio.run(_look(sys.argv[1], float(sys.argv[2])))
