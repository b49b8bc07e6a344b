"""How many cells the tables of a Markdown text can have at most, before it is parsed.

A parser fills up each row of a table to the width of its header: a thousand characters may become 65,000 cells.
"""

from __future__ import annotations

from typing import Final

MOST_CELLS: Final = 5_000
_MARKS_OF_A_DELIMITER: Final = " \t|:->*+.)0123456789"
"""What the line under a table's header consists of, also inside quotations and lists."""


def tables_are_bounded(text: str) -> bool:
    """Whether all tables of `text` together have `MOST_CELLS` cells at most. Counts too many rather than too few."""
    cells = columns = 0
    for line in text.splitlines():
        bare = line.strip(" \t>")
        if not bare:
            columns = 0
        elif "-" in bare and not bare.strip(_MARKS_OF_A_DELIMITER):
            columns = max(columns, bare.count("|") + 1)
        cells += columns
        if cells > MOST_CELLS:
            return False
    return True
