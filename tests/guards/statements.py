"""How well code tells recommendations, judgements and private talks from statements: `python -m tests.guards.statements`.

The held-out half is scored and never shown. `first`, `second` and `mended` are further sentences (tests/guards/data/README.md).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from tongyao.protocol.guards.advice import breach_of

DATA: Final = Path(__file__).parent / "data"
Half = Literal["dev", "held_out", "first", "second", "mended"]


class Statement(NamedTuple):
    lang: str
    label: str
    text: str


class Score(NamedTuple):
    """Of the sentences that the catalyst may not say: how many are struck. Of the others: how many are struck wrongly."""

    forbidden: int
    struck: int
    allowed: int
    struck_wrongly: int

    @property
    def precision(self) -> float:
        found = self.struck + self.struck_wrongly
        return self.struck / found if found else 1.0

    @property
    def recall(self) -> float:
        return self.struck / self.forbidden


def statements(half: Half, lang: str) -> list[Statement]:
    lines = (DATA / f"statements_{half}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Statement(row["lang"], row["label"], row["text"]) for row in rows if row["lang"] == lang]


def score(rows: list[Statement]) -> Score:
    struck = [row.label for row in rows if breach_of(row.text)]
    allowed = sum(row.label == "ok" for row in rows)
    wrongly = struck.count("ok")
    return Score(forbidden=len(rows) - allowed, struck=len(struck) - wrongly, allowed=allowed, struck_wrongly=wrongly)


def table() -> str:
    lines = ["half      lang  forbidden  struck  allowed  struck wrongly  precision  recall"]
    for half in get_args(Half):
        for lang in ("en", "zh"):
            found = score(statements(half, lang))
            lines.append(
                f"{half:<9} {lang:<5} {found.forbidden:>9} {found.struck:>7} {found.allowed:>8} "
                f"{found.struck_wrongly:>15} {found.precision:>10.3f} {found.recall:>7.3f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
