"""How well code tells recommendations, judgements and private talks from statements: `python -m tests.guards.statements`.

The held-out half is scored and never shown. `first`, `second` and `mended` are further sentences (tests/guards/data/README.md).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from tongyao.protocol.guards.advice import breach_of, doubt_of

DATA: Final = Path(__file__).parent / "data"
Half = Literal["dev", "held_out", "first", "second", "mended"]


class Statement(NamedTuple):
    lang: str
    label: str
    text: str


class Score(NamedTuple):
    """Of the sentences that the catalyst may not say: how many are struck, remarked on, missed; and the false ones."""

    forbidden: int
    struck: int
    remarked: int
    allowed: int
    struck_wrongly: int
    remarked_wrongly: int

    @property
    def precision(self) -> float:
        found = self.struck + self.struck_wrongly
        return self.struck / found if found else 1.0

    @property
    def recall(self) -> float:
        return self.struck / self.forbidden

    @property
    def recall_with_remarks(self) -> float:
        return (self.struck + self.remarked) / self.forbidden


def statements(half: Half, lang: str) -> list[Statement]:
    lines = (DATA / f"statements_{half}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Statement(row["lang"], row["label"], row["text"]) for row in rows if row["lang"] == lang]


def score(rows: list[Statement]) -> Score:
    struck = [bool(breach_of(row.text)) for row in rows]
    remarked = [not hit and bool(doubt_of(row.text)) for hit, row in zip(struck, rows, strict=True)]
    bad = [row.label != "ok" for row in rows]
    return Score(
        forbidden=sum(bad),
        struck=sum(b and s for b, s in zip(bad, struck, strict=True)),
        remarked=sum(b and r for b, r in zip(bad, remarked, strict=True)),
        allowed=len(rows) - sum(bad),
        struck_wrongly=sum(not b and s for b, s in zip(bad, struck, strict=True)),
        remarked_wrongly=sum(not b and r for b, r in zip(bad, remarked, strict=True)),
    )


def table() -> str:
    head = (
        f"{'half':<9} {'lang':<5} {'forbidden':>9} {'struck':>7} {'remarked':>9} {'allowed':>8} {'struck wrongly':>15} "
    )
    lines = [head + f"{'remarked wrongly':>17} {'precision':>10} {'recall':>7} {'with remarks':>13}"]
    for half in get_args(Half):
        for lang in ("en", "zh"):
            one = score(statements(half, lang))
            lines.append(
                f"{half:<9} {lang:<5} {one.forbidden:>9} {one.struck:>7} {one.remarked:>9} {one.allowed:>8} "
                f"{one.struck_wrongly:>15} {one.remarked_wrongly:>17} {one.precision:>10.3f} {one.recall:>7.3f} "
                f"{one.recall_with_remarks:>13.3f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
