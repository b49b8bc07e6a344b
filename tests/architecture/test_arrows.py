"""The rooms know whom they may know (ARCHITECTURE.md), and a workflow loads nothing that does anything."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PROTOCOL_FOLDER = REPOSITORY / "tongyao" / "protocol"
PROTOCOL = sorted(PROTOCOL_FOLDER.rglob("*.py"))
EFFECTS = {"asyncio", "random", "secrets", "socket", "subprocess", "time", "os", "pathlib"}
EFFECTS |= {"uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7"}  # uuid5 is a hash
READ_A_TABLE = {"guards/advice.py", "identity/words.py"}
"""Of `protocol`: modules that read a TOML file beside them when they are imported, or when it is first asked for."""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=REPOSITORY, capture_output=True, text=True)


def test_the_arrows_between_the_rooms_hold() -> None:
    linted = run("-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache")
    assert linted.returncode == 0, linted.stdout + linted.stderr


def loaded(heavy: list[str], script: str) -> str:
    """Which of these modules a fresh interpreter has loaded after `script`."""
    found = run("-c", f"import sys\n{script}\nprint(*[name for name in {heavy!r} if name in sys.modules], end='')")
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_importing_the_workflow_loads_no_model_no_database_and_no_learner() -> None:
    heavy = ["anthropic", "torch", "sklearn", "psycopg", "numpy", "httpx", "activities"]
    assert loaded(heavy, "import workflows.crystallization") == ""


def test_a_gateway_in_which_nobody_searches_holds_no_learner() -> None:
    heavy = ["torch", "sklearn", "anthropic", "activities"]
    assert loaded(heavy, "import tongyao.runtime.serve, tongyao.field.intent_field") == ""


@pytest.mark.parametrize("module", PROTOCOL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_protocol_has_no_clock_no_chance_and_no_input_or_output(module: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            imported |= {node.module.split(".")[0], *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            imported.add(f"{node.value.id}.{node.attr}")
    allowed = {"pathlib"} if module.relative_to(PROTOCOL_FOLDER).as_posix() in READ_A_TABLE else set()
    assert imported & EFFECTS == allowed
