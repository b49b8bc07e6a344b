"""Faults by the hundred: `python -m tests.chaos [--faults 300] [--processes 150] [--portions 15] [--seed 1]`.

Each portion is an installation of its own with its share of processes and faults. A line of JSON says what each one showed; the last
lines sum them up. Ends with 1 if anything was wrong. As root on Linux, and with libfaketime, it fills a disk and shifts clocks too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.chaos.faults import KINDS
from tests.chaos.run import Report, Size, run


def _portion(number: int, seed: int, size: Size, *, keep: bool) -> Report:
    directory = Path(tempfile.mkdtemp(prefix="tongyao-chaos-"))
    directory.chmod(0o711)  # as root, PostgreSQL is another user, who must be let through to homes below it
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[portion {number}, {time.monotonic() - began:4.0f} s] {text}", flush=True)

    try:
        report = asyncio.run(run(directory / "home", directory, seed, size, say))
    except BaseException:
        say(f"logs: {directory}")
        raise
    if keep and report.wrong:
        say(f"logs: {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    return report


def summary(reports: Sequence[Report]) -> str:
    """The figures of all portions together."""
    faults = _sum(one.faults for one in reports)
    processes = _sum(one.processes for one in reports)
    messages = _sum(one.messages for one in reports)
    calls = _sum(one.calls for one in reports)
    wrong = {f"seed {one.seed}, {about}": found for one in reports for about, found in one.wrong.items()}
    lines = [
        f"wrong: {json.dumps(wrong, ensure_ascii=False, indent=1) if wrong else 'nothing'}",
        f"{faults.total()} faults: {dict(faults.most_common())}",
        f"killed in steps: {sorted({step for one in reports for step in one.steps})}",
        f"{processes.total()} processes, {sum(one.children for one in reports)} of them children: {dict(processes.most_common())}",
        f"{messages.total()} messages acknowledged: {dict(messages.most_common())}",
        f"model calls: {dict(calls.most_common())}",
        f"{sum(one.restarts for one in reports)} restarts of workers and gateways; {sum(one.seconds for one in reports):.0f} s",
    ]
    return "\n".join([*lines, *sorted({why for one in reports for why in one.skipped})])


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counts, Counter())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--processes", type=int, default=150)
    parser.add_argument("--portions", type=int, default=15)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1, help="of the first portion")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=KINDS, metavar="KIND", help="of faults: " + ", ".join(KINDS)
    )
    parser.add_argument("--keep", action="store_true", help="keep the logs of portions in which something was wrong")
    given = parser.parse_args()
    size = Size(
        -(-given.processes // given.portions),
        -(-given.faults // given.portions),
        given.workers,
        kinds=tuple(given.kinds),
    )
    reports = []
    for number in range(given.portions):
        reports.append(_portion(number + 1, given.seed + number, size, keep=given.keep))
        print(reports[-1].as_json(), flush=True)
    print(summary(reports))
    sys.exit(any(one.wrong for one in reports))


if __name__ == "__main__":
    main()
