"""Imports many profiles through the command line, kills the import and repeats it (docs/field.md §1).

`python -m bench.import_bench --people 100000 --kill` writes a file of generated people and runs `tongyao field import`
in a separate home. It kills the import with SIGKILL when four tenths are stored, repeats it, and counts the stored
people.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import psycopg

from bench.field_bench import SCENES, person, sentences_of
from tongyao.runtime.local.postgres import LocalPostgres

SCENE: Final = "bench"
KILL_AT: Final = 0.4
LOOK_EVERY: Final = 0.5
COUNTS: Final = """SELECT count(*) AS people, count(DISTINCT p.id) AS distinct_people,
    count(*) FILTER (WHERE p.current_version <> 1) AS other_versions,
    (SELECT count(*) FROM texts WHERE kind = 'profile') AS texts,
    (SELECT count(*) FROM profile_versions) AS versions,
    (SELECT count(*) FROM field_members) AS indexed,
    (SELECT count(*) FROM field_indexes WHERE state = 'live') AS live
    FROM profiles p WHERE p.scene_id = 'bench'"""


def written(path: Path, people: int) -> set[str]:
    """Write a file with this many people. Returns the ids in it."""
    fields, *_ = sentences_of(SCENES)
    everybody = {f"p{number:06d}": f"{person(fields, number)}\n技能：第 {number} 种手艺" for number in range(people)}
    path.write_text(json.dumps(everybody, ensure_ascii=False), encoding="utf-8")
    return set(everybody)


def importing(file: Path, home: Path, log: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-c", "from tongyao.cli import main; main()", "field", "import", str(file), "--scene", SCENE],
            env={**environment, "TONGYAO_HOME": str(home)}, stdout=out, stderr=out,
        )  # fmt: skip


def stored(url: str) -> int:
    """The number of profiles stored so far. 0 while the database is not running."""
    try:
        with psycopg.connect(url, connect_timeout=2) as connection:
            row = connection.execute("SELECT count(*) FROM profiles WHERE current_version > 0").fetchone()
            return int(row[0]) if row else 0
    except psycopg.Error:
        return 0


async def bench(people: int, kill: bool, folder: Path) -> dict[str, Any]:
    file, home, log = folder / "people.json", folder / "home", folder / "log"
    wanted = written(file, people)
    url = LocalPostgres(home).url()
    shown: dict[str, Any] = {"people": people, "file MB": round(file.stat().st_size / 1e6)}
    begun = time.perf_counter()
    if kill:
        first = importing(file, home, log)
        while stored(url) < KILL_AT * people:
            if first.poll() is not None:
                raise SystemExit(log.read_text())
            await asyncio.sleep(LOOK_EVERY)
        first.send_signal(signal.SIGKILL)
        first.wait()
        shown["killed after s"] = round(time.perf_counter() - begun, 1)
    again = time.perf_counter()
    second = importing(file, home, log)
    while second.poll() is None:
        if "stored after s" not in shown and stored(url) >= people:
            shown["stored after s"] = round(time.perf_counter() - again, 1)
            print(f"stored after {shown['stored after s']} s; the index is made", file=sys.stderr, flush=True)
        await asyncio.sleep(LOOK_EVERY)
    shown["searchable after s"] = round(time.perf_counter() - again, 1)
    if second.returncode:
        raise SystemExit(log.read_text())
    server = LocalPostgres(home)
    try:
        with psycopg.connect(server.start()) as connection:
            cursor = connection.execute(COUNTS)
            names = [column.name for column in cursor.description or ()]
            shown |= dict(zip(names, cursor.fetchone() or (), strict=True))
            there = {
                row[0] for row in connection.execute("SELECT id FROM profiles WHERE scene_id = 'bench'").fetchall()
            }
    finally:
        server.stop()
    shown |= {"missing": len(wanted - there), "not in the file": len(there - wanted), "load": os.getloadavg()[0]}
    print(log.read_text(), file=sys.stderr)
    return shown


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--people", type=int, default=100_000)
    arguments.add_argument("--kill", action="store_true")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="tongyao-bench-") as folder:
        print(json.dumps(asyncio.run(bench(chosen.people, chosen.kill, Path(folder))), indent=1), flush=True)


if __name__ == "__main__":
    main()
