"""`make size` counts every line of a module once, by its kind."""

from __future__ import annotations

from pathlib import Path

from bench.code_size import GOALS, ROOT, Lines, count, modules, size_of

MODULE = '''"""A module.

Its second paragraph.
"""

import os  # code, with a comment

# A comment.

LIMIT = 3
"""How many."""


def run(
    name: str,
) -> str:
    """One line."""
    text = """two
# lines"""

    return text + name
'''


def test_every_line_is_of_one_kind() -> None:
    counted = count(MODULE)
    assert counted == Lines(code=8, docstring=6, comment=1, blank=6)
    assert counted.all == len(MODULE.splitlines())


def test_every_module_of_the_product_is_in_one_package() -> None:
    listed = [file for places, _ in GOALS.values() for place in places for file in modules(place)]
    expected = {file for folder in ("tongyao", "workflows", "activities") for file in (ROOT / folder).rglob("*.py")}
    assert len(listed) == len(set(listed))
    assert set(listed) == expected


def test_the_size_of_files_is_the_sum_of_theirs(tmp_path: Path) -> None:
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    for file in files:
        file.write_text(MODULE, encoding="utf-8")
    assert size_of(files).all == 2 * len(MODULE.splitlines())
