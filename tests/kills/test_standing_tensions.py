"""Whoever comes is told once, whatever is killed between the profile and the ask."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.until import until
from tests.support.waiting_tensions import context_of, expired, join
from tongyao.app.standing_look import look
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import DatabaseUnreachable, open_pool
from tongyao.records.migrate import migrate
from tongyao.records.repositories import Repositories
from tongyao.runtime.local.postgres import LocalPostgres

KILLS = 20
TRADES = (
    "glassblowing",
    "beekeeping",
    "bookbinding",
    "diving",
    "thatching",
    "falconry",
    "welding",
    "weaving",
    "dyeing",
    "tanning",
)


@pytest.mark.slow
async def test_twenty_kills_between_joining_and_being_told_lose_nothing_and_repeat_nothing(home: Path) -> None:
    """Each newcomer answers some standing tension. Every third kill is of PostgreSQL."""
    server = LocalPostgres(home)
    url = server.start()
    migrate(url)
    chance = random.Random(7)
    try:
        pool = await open_pool(url)
        here, scene = Repositories(pool), "town"
        # No threshold: who is compared together, and so each score, depends on the moments of the kills.
        await here.scenes.put(scene, scene, {"field": {"standing_threshold": 0.0}})
        await join(here, scene, [(f"crowd-{n}", f"I sell {what} on the market and can offer {what}.") for n, what in enumerate(
            ("apples", "pears", "soap", "nails", "rope", "candles", "bricks", "tiles", "ink", "paper", "salt", "oil"))])  # fmt: skip
        demanders = {}
        for number in range(KILLS):
            trade = f"{TRADES[number % len(TRADES)]} of {('glass', 'straw')[number // len(TRADES)]}{number}"
            barrier = f"Nobody here knows {trade}."
            tension = Tension(transition=f"From buying to own {trade}.", barriers=(barrier,))
            demanders[f"asks-{number}"] = await expired(here, scene, f"asks-{number}", tension)
        await look(context_of(here))
        killed = 0
        for number in range(KILLS):
            trade = f"{TRADES[number % len(TRADES)]} of {('glass', 'straw')[number // len(TRADES)]}{number}"
            await join(here, scene, [(f"came-{number}", f"I have practised {trade} for years and can offer {trade}.")])
            command = [sys.executable, "-m", "tests.support.waiting_tensions", url, str(number)]
            looking = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            await asyncio.sleep(
                chance.uniform(0.5, 6.0)
            )  # not for synchronisation: the moment of the kill is by chance
            if number % 3 == 2:
                before = server.pid
                assert before is not None
                os.kill(before, signal.SIGKILL)

                def another(before: int = before) -> bool:
                    return server.pid not in (None, before)

                await until(another, "another PostgreSQL", seconds=60)
            looking.kill()
            killed += 1
            assert looking.wait() is not None
            await pool.close()

            async def answers() -> bool:
                try:
                    await (await open_pool(url, timeout=2)).close()
                except DatabaseUnreachable:
                    return False
                return True

            await until(answers, "an answer of PostgreSQL", seconds=60)
            pool = await open_pool(url)
            here = Repositories(pool)
        for day in range(3):
            await look(context_of(here), now=datetime.now(UTC) + timedelta(days=8 * (day + 1)))
        assert killed == KILLS
        told = []
        for number in range(KILLS):
            pid = demanders[f"asks-{number}"]
            [standing] = await here.standing.of_demander(f"asks-{number}")
            matched = [one.profile_id for one in await here.standing.matches(standing.id)]
            rows = [row for row in await here.inbox.of_process(pid) if row.ask == "candidate"]
            assert len(matched) == len(rows), "each is told"
            told += matched
        lost = {f"came-{number}" for number in range(KILLS)} - set(told)
        assert not lost and len(told) == len(set(told)), "each newcomer is told of once"
        await pool.close()
    finally:
        server.stop()
