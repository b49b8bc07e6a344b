"""Simulates processes: `python -m tests.simulation [--schedules N] [--first SEED] [--table]`.

A failure is printed as a short script, which `python -m tests.simulation --replay FILE` plays again.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import time
from pathlib import Path
from typing import Final

from tests.simulation import phase_table
from tests.simulation.coverage import ENOUGH, Coverage
from tests.simulation.run import Failed, play, run_seed
from tests.simulation.script import literal, read
from tests.simulation.shell_world import ShellWorld
from tests.simulation.shrink import shrink
from tests.simulation.world import World
from tongyao.protocol.life.state import CARRIED_LOGIC

TABLE_SCHEDULES: Final = 6_000
"""Number of schedules for the table of docs/phases.md."""


PROGRESS_EVERY: Final = 1_000
"""Schedules between two lines of progress."""


def simulate(
    first: int, count: int, *, logic: int, coverage: Coverage, kind: type[World] = World, progress: bool = False
) -> None:
    """Run the schedules of `count` seeds, from `first` on, in worlds of `kind`.

    Raises `AssertionError` with a script that replays the first failure.
    """
    for seed in range(first, first + count):
        if progress and seed > first and (seed - first) % PROGRESS_EVERY == 0:
            print(f"logic {logic}: {seed - first} of {count} schedules", flush=True)
        try:
            coverage.ended(run_seed(seed, logic=logic, seen=coverage.seen, kind=kind))
        except Failed as failed:
            option = " --workflow" if kind is ShellWorld else ""
            short = shrink(failed.script, logic, kind)
            raise AssertionError(
                f"seed {seed}, logic {logic}: {failed}\n"
                f"Save this as a file and play it with `python -m tests.simulation --replay FILE{option}`, or paste it into a test:\n"
                f"{literal(short)}"
            ) from failed.cause


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--table", action="store_true", help="print which kinds met which phases")
    parser.add_argument("--progress", action="store_true", help="print how many schedules were run")
    parser.add_argument(
        "--write-table",
        action="store_true",
        help="write the table of docs/phases.md: what the first 6,000 schedules do",
    )
    parser.add_argument(
        "--check-table", action="store_true", help="fail if that table or the coverage is not as it should be"
    )
    parser.add_argument("--workflow", action="store_true", help="through the real workflow class, in process")
    parser.add_argument("--replay", type=Path, help="a file with a script")
    given = parser.parse_args()
    logging.getLogger("temporalio").setLevel(logging.CRITICAL)  # it logs each workflow task that fails
    gc.set_threshold(50_000)  # collecting at the default threshold takes an eighth of the time
    kind = ShellWorld if given.workflow else World
    if given.replay is not None:
        world = play(read(given.replay), kind=kind)
        print(f"played: the process is {world.state.phase}")
        return
    if given.write_table or given.check_table:
        given.first, given.schedules = 0, TABLE_SCHEDULES
    for logic in CARRIED_LOGIC:
        began = time.process_time()
        coverage = Coverage()
        try:
            simulate(given.first, given.schedules, logic=logic, coverage=coverage, kind=kind, progress=given.progress)
        except AssertionError as failure:
            sys.exit(str(failure))
        if given.table:
            print(coverage.table())
        if given.write_table:
            phase_table.write(phase_table.table(coverage.followed))
        gaps = coverage.gaps()
        for gap in gaps if given.table or given.check_table else ():
            print(f"too seldom: {gap}")
        print(
            f"logic {logic}: {given.schedules} schedules in {time.process_time() - began:.0f} s of CPU, "
            f"{coverage.expired:.0%} ended by their own deadline, {len(gaps)} cells below {ENOUGH * given.schedules:g}"
        )
        if given.check_table and (gaps or phase_table.table(coverage.followed) != phase_table.committed()):
            sys.exit(
                "kinds meet phases too seldom, or docs/phases.md is old: `python -m tests.simulation --write-table`"
            )


if __name__ == "__main__":
    main()
