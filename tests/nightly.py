"""Everything that takes too long for a change: `python -m tests.nightly [--only PART…] [--list]`, or `make nightly`.

The table of phases runs the first 6,000 of the 100,000 schedules. Two lanes run beside each other: one keeps a processor busy, the other mostly waits for servers. A part that fails stops no other; at the
end each part has a line, and of those that failed the end of their output is shown. The whole output of a part is in its log file.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

REPOSITORY: Final = Path(__file__).parents[1]
LOGS: Final = REPOSITORY / ".tongyao" / "nightly"
PROGRESS_SECONDS: Final = 60.0
"""Between two lines of progress."""

SHOWN_LINES: Final = 40
"""Lines from the end of a log that are shown of a part that failed."""

Lane = Literal["processor", "servers"]


@dataclass(frozen=True)
class Part:
    """A command of Python. `minutes`: after which it is stopped and has failed; twice what it takes on two quiet cores, at least."""

    name: str
    lane: Lane
    command: tuple[str, ...]
    minutes: float


@dataclass(frozen=True)
class Ended:
    """How a part ended. `failure`: empty when it succeeded."""

    part: Part
    log: Path
    seconds: float
    failure: str


SLOW_TESTS: Final[dict[str, tuple[Lane, float, tuple[str, ...]]]] = {
    "upgrades": ("servers", 20, ("tests/upgrades",)),
    "deployment": ("servers", 30, ("tests/deploy",)),
    "crashes": ("servers", 20, ("tests/workflows",)),
    "pages": ("servers", 20, ("tests/console",)),
    "kills-of-everything": ("servers", 60, ("tests/kills",)),
    "growth": ("processor", 30, ("tests/security", "tests/llm/extractive")),
}
"""Slow tests by folder: lane, minutes, folders. Those of all other folders are the part `other`."""

OF_PARTS: Final = ("tests/chaos",)
"""Folders whose slow tests are a shorter form of a part."""


def _pytest(*arguments: str) -> tuple[str, ...]:
    return ("-m", "pytest", "-m", "slow", "-n", "0", "-v", "--durations=10", *arguments)


def parts() -> list[Part]:
    """All parts; of a lane in the order in which they run."""
    tests = [Part(name, lane, _pytest(*folders), minutes) for name, (lane, minutes, folders) in SLOW_TESTS.items()]
    named = [folder for _, _, folders in SLOW_TESTS.values() for folder in folders]
    ignored = [f"--ignore={folder}" for folder in (*named, *OF_PARTS)]
    return [
        Part("kills", "servers", ("-m", "tests.kills"), 50),
        Part("chaos", "servers", ("-m", "tests.chaos", "--portions", "2", "--faults", "40", "--processes", "20"), 40),
        *tests,
        Part("other", "servers", _pytest(*ignored), 30),
        Part("table-of-phases", "processor", ("-m", "tests.simulation", "--check-table", "--progress"), 10),
        Part(
            "simulation",
            "processor",
            ("-m", "tests.simulation", "--first", "6000", "--schedules", "94000", "--progress"),
            100,
        ),
        Part(
            "simulation-of-the-workflow",
            "processor",
            ("-m", "tests.simulation", "--workflow", "--schedules", "5000", "--progress"),
            30,
        ),
    ]


async def run(chosen: Sequence[Part], logs: Path) -> list[Ended]:
    """Run the lanes beside each other, the parts of a lane one after another. `logs`: the folder for their output."""
    logs.mkdir(parents=True, exist_ok=True)
    lanes = {lane: [part for part in chosen if part.lane == lane] for lane in dict.fromkeys(one.lane for one in chosen)}
    ended = await asyncio.gather(*(_lane(of_lane, logs) for of_lane in lanes.values()))
    return [one for lane in ended for one in lane]


async def _lane(chosen: Sequence[Part], logs: Path) -> list[Ended]:
    return [await _run(part, logs / f"{part.name}.log") for part in chosen]


async def _run(part: Part, log: Path) -> Ended:
    _say(part, "begins")
    began = time.monotonic()
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *part.command,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    failure = ""
    try:
        async with asyncio.timeout(part.minutes * 60):
            await _wait(part, process, log, began)
        if process.returncode:
            failure = f"ended with {process.returncode}"
    except TimeoutError:
        failure = f"stopped after {part.minutes:g} minutes"
    finally:  # with whatever it has started, also when this program is stopped
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    seconds = time.monotonic() - began
    _say(part, f"{failure or 'ok'} ({seconds / 60:.1f} min)")
    return Ended(part, log, seconds, failure)


async def _wait(part: Part, process: asyncio.subprocess.Process, log: Path, began: float) -> None:
    """Until the process ends, with its last line as a sign of life."""
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), PROGRESS_SECONDS)
            return
        _say(part, f"{(time.monotonic() - began) / 60:.0f} min: {next(_last_lines(log, 1), '')[:140]}")


def _say(part: Part, text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {part.name}: {text}", flush=True)


def _last_lines(log: Path, count: int) -> Iterator[str]:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    yield from lines[-count:]


def report(ended: Iterable[Ended]) -> str:
    """A line for each part, after the end of the output of each that failed."""
    text = []
    for one in ended:
        if one.failure:
            text += [f"---- {one.part.name}: {one.failure}; the end of {one.log}", *_last_lines(one.log, SHOWN_LINES)]
    text.append("----")
    for one in ended:
        text.append(
            f"{'FAILED' if one.failure else 'ok':<7}{one.part.name:<28}{one.seconds / 60:5.1f} min  {one.failure}"
        )
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.nightly", description=__doc__)
    every = parts()
    parser.add_argument(
        "--only", nargs="+", metavar="PART", choices=[one.name for one in every], help="run these parts"
    )
    parser.add_argument("--list", action="store_true", help="list the parts, and run none")
    given = parser.parse_args()
    chosen = [one for one in every if given.only is None or one.name in given.only]
    if given.list:
        for part in chosen:
            print(f"{part.name:<28}{part.lane:<11}python {' '.join(part.command)}")
        return
    began = time.monotonic()
    ended = asyncio.run(run(chosen, LOGS))
    print(report(ended))
    failed = [one.part.name for one in ended if one.failure]
    print(
        f"{(time.monotonic() - began) / 60:.0f} minutes; {'failed: ' + ', '.join(failed) if failed else 'nothing failed'}"
    )
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
