"""A picture of one figure by variant: every run a dot, the mean a line with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tongyao.app.pictures import svg

_WIDTH, _LEFT, _ROW = 640.0, 170.0, 44.0
_COLOUR: Final = "#0f766e"


class Spread(NamedTuple):
    """One row: the values of all runs, their mean, and its interval where there is one."""

    label: str
    values: Sequence[float]
    mean: float
    low: float | None
    high: float | None


def measure_svg(title: str, rows: Sequence[Spread]) -> str:
    """Rows from top to bottom over one scale, from the smallest to the largest number that is drawn."""
    numbers = [
        n for row in rows for n in (*row.values, *((row.low, row.high) if row.low is not None else ())) if n is not None
    ]
    least, most = min(numbers, default=0.0), max(numbers, default=1.0)
    span = (most - least) or 1.0

    def x(value: float) -> float:
        return _LEFT + (value - least) / span * (_WIDTH - _LEFT - 40)

    body = [svg.text(16, 26, title, bold=True)]
    for at, row in enumerate(rows):
        y = 64 + at * _ROW
        body.append(svg.text(_LEFT - 16, y + 5, row.label, anchor="end"))
        body.append(svg.line((_LEFT, y), (_WIDTH - 40, y), colour="#e5e9ee", width=1))
        if row.low is not None and row.high is not None:
            body.append(svg.line((x(row.low), y), (x(row.high), y), colour=_COLOUR, width=4))
        body += [svg.circle(x(value), y, 5, fill="#ffffff", stroke=svg.PALE) for value in row.values]
        body.append(
            svg.line((x(row.mean), y - 12), (x(row.mean), y + 12), colour=_COLOUR, width=3, title=f"{row.mean:.4g}")
        )
    bottom = 64 + len(rows) * _ROW
    body += [svg.text(_LEFT, bottom, f"{least:.3g}", colour=svg.PALE)]
    body += [svg.text(_WIDTH - 40, bottom, f"{most:.3g}", anchor="end", colour=svg.PALE)]
    return svg.document(_WIDTH, bottom + 20, title, body)
