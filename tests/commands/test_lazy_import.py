"""A command imports what it needs: the heavy libraries of the other commands are not loaded."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_group

from tests.support.stack import Stack
from tongyao import cli

HEAVY = ("numpy", "networkx", "fastapi", "yoyo", "temporalio.worker", "anthropic", "mcp", "activities")


@pytest.mark.parametrize("command", ["list", "say", "doctor", "field"])
def test_a_command_loads_no_heavy_library_of_another(command: str) -> None:
    """The start of a command is what everybody waits for each time."""
    code = (
        "import sys; from typer.testing import CliRunner; from tongyao.cli import app\n"
        f"done = CliRunner().invoke(app, [{command!r}, '--help']); assert done.exit_code == 0, done.output\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_every_command_is_in_the_module_that_the_table_names() -> None:
    group: Any = get_group(cli.app)
    context: Any = None
    for module, commands in cli.MODULES.items():
        for command in commands:
            assert group.get_command(context, command) is not None, f"{module} has no {command}"
    assert set(group.list_commands(context)) == set(group.commands)


async def test_a_whole_run_loads_none_either(stack: Stack) -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from tongyao.cli import app\n"
        "done = CliRunner().invoke(app, ['list']); assert done.exit_code == 0, done.output\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    run = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    out, _ = await run.communicate()
    assert (run.returncode, out.decode().split()) == (0, [])
