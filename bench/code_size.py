"""Counts the lines of each package and compares them with the goals of the design. Run it with `make size`.

Every line of a Python file counts as code, docstring, comment or blank. Prompts, and texts in two languages, are
counted separately.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
GOALS: Final[dict[str, tuple[tuple[str, ...], int | None]]] = {
    "protocol": (("tongyao/protocol",), 10_000),
    "workflows, activities": (("workflows", "activities"), 2_600),
    "llm": (("tongyao/llm",), 3_800),
    "field": (("tongyao/field",), 2_700),
    "records": (("tongyao/records",), 6_000),
    "app": (("tongyao/app",), 6_000),
    "gateway": (("tongyao/gateway",), 5_600),
    "commands": (("tongyao/commands",), 4_200),
    "runtime": (("tongyao/runtime",), 3_600),
    "evals": (("tongyao/evals",), 1_200),
    "other modules": (("tongyao/*.py", "tongyao/texts"), None),
}
"""Package → its folders, and its goal (the most lines). `other modules`: those of `tongyao` itself, and its texts."""
TOGETHER: Final = 46_000
PROMPT_GOALS: Final = {
    "en/observe.md": 7_000,
    "en/project.md": 5_000,
    "zh/observe.md": 2_800,
    "zh/project.md": 2_000,
}
"""Prompt → its goal (the most characters)."""


@dataclass(frozen=True)
class Lines:
    """The number of lines of each kind."""

    code: int = 0
    docstring: int = 0
    comment: int = 0
    blank: int = 0

    @property
    def all(self) -> int:
        return sum(astuple(self))

    def __add__(self, other: Lines) -> Lines:
        return Lines(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


def count(source: str) -> Lines:
    """Count the lines of one Python module. A line with code and a comment is code. A blank line in a docstring is
    docstring.

    A string that is a statement of its own is a docstring, also after an assignment. Raises `SyntaxError`.
    """
    documented = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code: set[int] = set()
    commented: set[int] = set()
    empty = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        lines = range(token.start[0], token.end[0] + 1)
        if token.type == tokenize.COMMENT:
            commented.update(lines)
        elif token.type not in empty:
            code.update(lines)
    code -= documented
    commented -= code | documented
    whole = len(source.splitlines())
    counted = len(code), len(documented), len(commented)
    return Lines(*counted, whole - sum(counted))


def size_of(files: Iterable[Path]) -> Lines:
    return sum((count(file.read_text(encoding="utf-8")) for file in files), Lines())


def modules(place: str) -> list[Path]:
    """The Python files below a folder, or the files that match a pattern."""
    return sorted(ROOT.glob(place) if "*" in place else (ROOT / place).rglob("*.py"))


def main() -> None:
    sizes = {
        name: (size_of(file for place in places for file in modules(place)), goal)
        for name, (places, goal) in GOALS.items()
    }
    together = sum((lines for lines, _ in sizes.values()), Lines())
    rows: list[Sequence[object]] = [("package", "code", "docstring", "comment", "blank", "lines", "goal", "over")]
    rows += [_row(name, lines, goal) for name, (lines, goal) in sizes.items()]
    rows.append(_row("together", together, TOGETHER))
    rows.append(_row("crystalline_highway (apart)", size_of(modules("crystalline_highway")), None))
    _print(rows)
    texts = [file for file in ROOT.glob("tongyao/**/*.toml") if "texts" in file.parts]
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in texts)
    sys.stdout.write(f"\ntexts in two languages (apart): {lines:,} lines in {len(texts)} files\n\n")
    prompts: list[Sequence[object]] = [("prompt", "characters", "goal", "over")]
    for name, goal in PROMPT_GOALS.items():
        characters = len((ROOT / "prompts" / name).read_text(encoding="utf-8"))
        prompts.append((name, characters, goal, max(0, characters - goal) or ""))
    _print(prompts)


def _row(name: str, lines: Lines, goal: int | None) -> Sequence[object]:
    over = max(0, lines.all - goal) if goal is not None else 0
    return (name, *astuple(lines), lines.all, "" if goal is None else goal, over or "")


def _print(rows: Sequence[Sequence[object]]) -> None:
    shown = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for first, *others in shown:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        sys.stdout.write("  ".join([first.ljust(widths[0]), *cells]).rstrip() + "\n")


if __name__ == "__main__":
    main()
