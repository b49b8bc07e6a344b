"""Time and memory of indexing and querying, by text length: `python bench/highway_scale.py FILE [--plot FILE]`.

FILE is cmrc2018_dev.json. Its contexts are shuffled and, if they do not suffice, repeated with other digits. They make
texts of 10 K to 2 M characters. Each row shows seconds, units, paths, megabytes and milliseconds.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from crystalline_highway.recite.staging import recite
from crystalline_highway.seek.output import select_output
from crystalline_highway.seek.seeking import seek

SIZES = (10_000, 30_000, 100_000, 300_000, 700_000, 2_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cmrc", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    entries = json.loads(options.cmrc.read_text(encoding="utf-8"))["data"]
    contexts = [p["context"] for entry in entries for p in entry["paragraphs"]]
    questions = [q["question"] for entry in entries for p in entry["paragraphs"] for q in p["qas"]]
    draw = random.Random(0)
    draw.shuffle(contexts)
    whole = ""
    while len(whole) < SIZES[-1]:
        shift = str.maketrans("0123456789的是在", "".join(draw.sample("0123456789", 10)) + "的是在")
        whole += "\n".join(draw.sample(contexts, len(contexts))).translate(shift) + "\n"
    warm = recite([whole[:20_000]])
    select_output(seek(warm, [("T", questions[0])]), [whole[:20_000]], 2000)
    print("| characters | recited, s | units | paths | arrays, MB | seek p50, ms | p99, ms |\n" + "|---" * 7 + "|")
    rows = []
    for size in SIZES:
        text = whole[:size]
        began = time.perf_counter()
        memory = recite([text])
        recited = time.perf_counter() - began
        took = []
        for question in ["", *draw.sample(questions, 200)]:
            began = time.perf_counter()
            select_output(seek(memory, [("T", question)]), [text], 2000)
            took.append(1000 * (time.perf_counter() - began))
        p50, p99 = np.percentile(took[1:], [50, 99])
        rows.append((size, recited, memory.nbytes() / 1e6, p99))
        cells = (f"{size:,}", f"{recited:.2f}", f"{len(memory.units):,}", f"{memory.path_count():,}")
        print(f"| {' | '.join(cells)} | {memory.nbytes() / 1e6:.0f} | {p50:.1f} | {p99:.1f} |", flush=True)
    if options.plot:
        plot(rows, options.plot)


def plot(rows: list[tuple[int, float, float, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    _, axes = pyplot.subplots(1, 3, figsize=(12, 3.5))
    titles = ("recited, s", "arrays, MB", "seek p99, ms")
    for column, (axis, title) in enumerate(zip(axes, titles, strict=True), 1):
        axis.loglog([row[0] for row in rows], [row[column] for row in rows], marker="o")
        axis.set_title(title)
        axis.set_xlabel("characters")
    pyplot.tight_layout()
    pyplot.savefig(path)


if __name__ == "__main__":
    main()
