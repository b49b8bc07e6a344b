"""Found, missed and false names on sixty written texts; the held-out half is scored and was not looked at while mending."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tongyao.llm.extractive.names_in_text import names_in_text

DATA: Final = Path(__file__).parent / "data"
Half = Literal["dev", "held_out"]


class Score(NamedTuple):
    there: int
    found: int
    false: int

    @property
    def recall(self) -> float:
        return self.found / self.there

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.false)


def texts(lang: str, half: Half) -> list[tuple[str, dict[str, str]]]:
    lines = (DATA / f"{lang}.{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["text"], row["names"]) for row in map(json.loads, lines)]


def score(lang: str, half: Half) -> Score:
    there = found = false = 0
    for text, names in texts(lang, half):
        seen = {one.name for one in names_in_text(text)}
        there += len(names)
        found += len(seen & set(names))
        false += len(seen - set(names))
    return Score(there, found, false)


def table() -> str:
    lines = [f"{'half':<9} {'lang':<5} {'names':>5} {'found':>6} {'false':>6} {'recall':>7} {'precision':>10}"]
    halves: tuple[Half, ...] = ("dev", "held_out")
    for half in halves:
        for lang in ("en", "zh"):
            one = score(lang, half)
            lines.append(
                f"{half:<9} {lang:<5} {one.there:>5} {one.found:>6} {one.false:>6} {one.recall:>7.2f} {one.precision:>10.2f}"
            )
    return "\n".join(lines)
