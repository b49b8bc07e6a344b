"""Every package says in at most five lines what it is and what is public, and the modules that it names exist. It holds no code."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = sorted(
    file.parent
    for room in ("tongyao", "workflows", "activities", "crystalline_highway")
    for file in (ROOT / room).rglob("__init__.py")
)
LINES: Final = 5
_MODULE: Final = re.compile(r"`([a-z][a-z_]*)`")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_package_says_what_it_is(package: Path) -> None:
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    assert said, "no docstring"
    assert len(said.splitlines()) <= LINES
    missing = [name for name in _MODULE.findall(said) if not _exists(package, name)]
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_package_holds_no_code(package: Path) -> None:
    """But for the Highway, which names the folder of its migrations."""
    body = ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body
    assert len(body) == 1 or package.name == "crystalline_highway"


def _exists(package: Path, name: str) -> bool:
    """A module or package of that name in the package, or beside it."""
    return any((folder / f"{name}.py").is_file() or (folder / name).is_dir() for folder in (package, package.parent))
