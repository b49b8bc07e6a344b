"""Compares two versions: `python -m bench.against REV [--runs 1x0.2 30x2] [--repeat 3] [--out FOLDER]`.

Checks out REV into a temporary folder. Runs `bench.orchestration_bench` of both versions in turn, `--repeat` times,
with variant `plain` and one worker. Both use this environment's libraries. Prints the medians. With `--out` it writes
`against.svg`. The floor makes the same calls as its version, without orchestration.

    of the floor    wall time of the floor ÷ wall time of the processes
    over the floor  milliseconds of CPU per process of worker, Temporal server and PostgreSQL, minus the floor's CPU

Use an idle machine. Three repetitions of both default runs take about 12 minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
GOAL: Final = 0.75
"""The goal: at most this share of the earlier version's CPU over the floor (docs/performance.md §1)."""
_REPORT: Final = re.compile(
    r"wall (?P<wall>[\d.]+) s, critical path (?P<critical>[\d.]+) s\n"
    r"  share (?P<share>[\d.]+).*?the floor's (?P<floor_share>[\d.]+)\n"
    r"  CPU a process: worker (?P<worker>\d+), server (?P<server>\d+), database (?P<database>\d+) = \d+ ms, "
    r"the floor (?P<floor>\d+) ms"
)


@dataclass(frozen=True)
class Figures:
    """One measurement of one version: wall times in seconds, and CPU per process in milliseconds."""

    wall: float
    floor_wall: float
    worker: float
    server: float
    database: float
    floor: float

    @property
    def of_the_floor(self) -> float:
        return self.floor_wall / self.wall

    @property
    def over_the_floor(self) -> float:
        return self.worker + self.server + self.database - self.floor


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """A folder with the files of `revision`. Raises `CalledProcessError` if git does not know the revision."""
    with tempfile.TemporaryDirectory(prefix="ty-against-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def measure(tree: Path, run: str) -> Figures:
    """Run the benchmark of the version in `tree` once. Raises `RuntimeError` if its report cannot be read."""
    command = [sys.executable, "-m", "bench.orchestration_bench", "--runs", run]
    if "--variants" in (tree / "bench" / "orchestration_bench.py").read_text(encoding="utf-8"):
        command += ["--variants", "plain"]
    ended = subprocess.run(
        command, cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, text=True, check=False
    )
    found = _REPORT.search(ended.stdout)
    if found is None:
        raise RuntimeError(f"the benchmark of {tree} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}")
    value = {name: float(text) for name, text in found.groupdict().items()}
    floor_wall = value["critical"] / value["floor_share"]
    return Figures(value["wall"], floor_wall, value["worker"], value["server"], value["database"], value["floor"])


def table(revision: str, seen: dict[tuple[str, str], list[Figures]]) -> str:
    """The medians by run and version, as a Markdown table."""
    lines = [
        "| run | version | wall | floor's wall | of the floor | worker | server | database | CPU over the floor | to "
        f"{revision} |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for run in dict.fromkeys(run for run, _ in seen):
        before = median(figures.over_the_floor for figures in seen[run, revision])
        for version in (revision, "this version"):
            figures = seen[run, version]
            over = median(measured.over_the_floor for measured in figures)
            columns = [
                *(
                    f"{median(getattr(measured, name) for measured in figures):.2f} s"
                    for name in ("wall", "floor_wall")
                ),
                f"{median(measured.of_the_floor for measured in figures):.2f}",
                *(
                    f"{median(getattr(measured, name) for measured in figures):.0f} ms"
                    for name in ("worker", "server", "database")
                ),
                f"{over:.0f} ms",
                f"{over / before:.2f}",
            ]
            lines.append(f"| {run} | {version} | {' | '.join(columns)} |")
    return "\n".join(lines)


def picture(revision: str, seen: dict[tuple[str, str], list[Figures]], path: Path) -> None:
    """Draw stacked bars of CPU by part, one for each run and version, with the floor's CPU as a line."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 0.7 * len(seen) + 1))
    for row, measured in enumerate(reversed(seen.values())):
        left = 0.0
        for part, colour in (("worker", "#2f6f6b"), ("server", "#c98b3c"), ("database", "#7d6b91")):
            width = median(getattr(figures, part) for figures in measured)
            axes.barh(row, width, left=left, color=colour, label=part if row == 0 else None)
            left += width
        floor = median(figures.floor for figures in measured)
        axes.plot([floor, floor], [row - 0.4, row + 0.4], color="black", label="floor" if row == 0 else None)
    axes.set_yticks(range(len(seen)), [f"{run}, {version}" for run, version in reversed(seen)])
    axes.set_xlabel("ms of CPU for one process, medians")
    axes.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.25))
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main(revision: str, runs: Sequence[str], repeat: int, out: Path | None) -> None:
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}", flush=True)
    seen: dict[tuple[str, str], list[Figures]] = defaultdict(list)
    with checked_out(revision) as tree:
        for run in runs:
            for number in range(repeat):
                for version, folder in ((revision, tree), ("this version", ROOT)):
                    seen[run, version].append(measure(folder, run))
                    last = seen[run, version][-1]
                    print(
                        f"{run}, {number + 1} of {repeat}, {version}: wall {last.wall:.2f} s, "
                        f"{last.over_the_floor:.0f} ms over the floor",
                        flush=True,
                    )
    print(table(revision, seen))
    if out is not None:
        picture(revision, seen, out / "against.svg")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="a commit of this repository with a benchmark that prints the same report")
    parser.add_argument("--runs", nargs="+", default=["1x0.2", "30x2"], help="processes x seconds of a model call")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder for the picture")
    options = parser.parse_args()
    main(options.revision, options.runs, options.repeat, options.out)
