"""The table of docs/phases.md: the phases that followed each input in the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.simulation.generator import OPEN_PHASES
from tongyao.protocol.model import messages as m

PAGE: Final = Path(__file__).parents[2] / "docs" / "phases.md"
BEGIN: Final = "<!-- observed: begin -->"
END: Final = "<!-- observed: end -->"


def table(followed: Mapping[tuple[str, str], set[str]]) -> str:
    """Return the table. Each phase has a row for each input that may change it, and a row for all other inputs."""
    lines = ["| phase | input | phases that followed |", "|---|---|---|"]
    for phase in OPEN_PHASES:
        seen = {
            what: after
            for (where, what), after in followed.items()
            if where == phase.value and not (what.endswith("late") and after == {where})
        }
        stays = [what for what, after in seen.items() if after == {phase.value}]
        for what in sorted(seen, key=_order):
            if what not in stays:
                after = ", ".join(sorted(f"({one})" if one == phase.value else one for one in seen[what]))
                lines.append(f"| {phase.value} | {_name(what)} | {after} |")
        names = ", ".join(_name(what) for what in sorted(stays, key=_order))
        lines.append(f"| {phase.value} | {names} | ({phase.value}) |")
    return "\n".join(lines)


def lacking(observed: str) -> list[str]:
    """Return the transitions of `observed` that the table on the page lacks."""
    return sorted(_followed(observed) - _followed(committed()))


def _followed(text: str) -> set[str]:
    found = set()
    for line in text.splitlines()[2:]:
        phase, inputs, after = (cell.strip() for cell in line.strip("|").split("|"))
        found |= {f"{phase}: {what}: {one.strip('()')}" for what in inputs.split(", ") for one in after.split(", ")}
    return found


def _order(what: str) -> tuple[int, str]:
    kinds = list(m.MESSAGE_TYPES)
    return (0, f"{kinds.index(what):02d}") if what in m.MESSAGE_TYPES else (1, what)


def _name(what: str) -> str:
    return f"`{what}`" if what in m.MESSAGE_TYPES else what


def committed() -> str:
    """Return the table on the page."""
    page = PAGE.read_text(encoding="utf-8")
    return page[page.index(BEGIN) + len(BEGIN) : page.index(END)].strip()


def write(observed: str) -> None:
    """Replace the table on the page."""
    page = PAGE.read_text(encoding="utf-8")
    head, tail = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{head}\n{observed}\n{tail}", encoding="utf-8")
