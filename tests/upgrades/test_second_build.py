"""The second build of the rehearsal (a slow test) is a change of this tree: the places that it changes must be there."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.upgrades.second_build import make_second_build


def test_the_second_build_can_be_made(tmp_path: Path) -> None:
    tree = make_second_build(tmp_path / "second")
    assert "nudges" in (tree / "tongyao/protocol/life/state.py").read_text(encoding="utf-8")
    for path in (tree / "tongyao/protocol").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))
