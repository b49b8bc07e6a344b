"""One class name means one thing in the whole product (docs: ARCHITECTURE.md)."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("tongyao", "workflows", "activities", "crystalline_highway")


def test_no_class_name_is_defined_twice() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name.lstrip("_")].add(str(file.relative_to(ROOT)))
    assert {name: sorted(files) for name, files in found.items() if len(files) > 1} == {}
