"""Schedules through a real server with kills: `python -m tests.kills [--first SEED] [--schedules N] [--replay FILE]`.

Servers and database are made for the run and gone afterwards. A failure is printed as a script, which `--replay` plays again.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.kills.house import opened
from tests.kills.player import play, run_seed
from tests.kills.schedules import rules_of, start_of
from tests.simulation.script import Script, read
from tongyao.records.migrate import migrate
from tongyao.runtime.local.postgres import LocalPostgres


async def _run(home: Path, first: int, count: int, script: Script | None) -> None:
    seeds = range(first, first + count)
    starts: list[dict[str, Any]] = [start_of(seed) for seed in seeds] if script is None else [script[0][1]]
    postgres = LocalPostgres(home, durable=False)
    try:
        await asyncio.to_thread(postgres.start)
        await asyncio.to_thread(migrate, postgres.url())
        async with opened(postgres.url(), home, [rule for start in starts for rule in rules_of(start)]) as house:
            if script is not None:
                print(f"played: the process is {(await play(house, script)).state.phase.value}")
                return
            for seed in seeds:
                began = time.monotonic()
                played = await run_seed(house, seed)
                print(
                    f"seed {seed}: {len(played.script)} inputs, {len(played.told)} messages, "
                    f"{played.state.phase.value} after round {played.state.round}, {time.monotonic() - began:.0f} s",
                    flush=True,
                )
    finally:
        await asyncio.to_thread(postgres.stop)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--schedules", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--replay", type=Path, help="a file with a script")
    given = parser.parse_args()
    script = read(given.replay) if given.replay is not None else None
    with tempfile.TemporaryDirectory(prefix="tongyao-kills-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o711)  # as root, PostgreSQL is another user, who must be let through to homes below it
        try:
            asyncio.run(_run(Path(home), given.first, given.schedules, script))
        except AssertionError as failure:
            sys.exit(str(failure))


if __name__ == "__main__":
    main()
