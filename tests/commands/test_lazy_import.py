"""A command imports what it needs: the heavy libraries of the other commands are not loaded."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_group

from tests.commands.command_line import room
from tests.support.stack import Stack
from tongyao import cli

LIBRARIES = (
    "numpy", "fastapi", "yoyo", "temporalio", "anthropic", "mcp", "httpx", "structlog", "jinja2", "activities",
    "workflows",
)  # fmt: skip
"""What no command needs that only reads the records."""
HELP_NEEDS_NONE = (*LIBRARIES, "psycopg", "pydantic_settings", "tongyao.app", "tongyao.records", "tongyao.runtime",
                   "tongyao.protocol.model.value")  # fmt: skip
"""Parsing and help need no part of the product. (pydantic itself is what typer reads options with.)"""


def loaded_by(words: list[str], modules: tuple[str, ...]) -> str:
    """A program that runs a command and prints which of these modules it has imported."""
    return (
        "import sys; from typer.testing import CliRunner; from tongyao.cli import app\n"
        f"done = CliRunner().invoke(app, {words!r}); assert done.exit_code == 0, done.output\n"
        f"print(*(name for name in {modules!r} if name in sys.modules))"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["list", "--help"],
        ["say", "--help"],
        ["field", "--help"],
        ["keys", "rotate", "--help"],
        ["eval", "--help"],
    ],
    ids=" ".join,
)
def test_help_loads_no_part_of_the_product(words: list[str]) -> None:
    """The start of a command is what everybody waits for each time. `--help` alone imports the declarations of all commands."""
    code = loaded_by(words, HELP_NEEDS_NONE)
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_every_command_is_in_the_module_that_the_table_names() -> None:
    group: Any = get_group(cli.app)
    context: Any = None
    for module, commands in cli.MODULES.items():
        for command in commands:
            assert group.get_command(context, command) is not None, f"{module} has no {command}"
    assert set(group.list_commands(context)) == set(group.commands)


async def test_commands_that_read_the_records_load_no_temporal_and_no_web_library(stack: Stack) -> None:
    process, _ = await room(stack)
    for words in (["list"], ["list", "--json"], ["show", process], ["show", process, "--json"], ["cost"], ["log"]):
        code = loaded_by(words, LIBRARIES)
        run = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
        out, _ = await run.communicate()
        assert (run.returncode, out.decode().split()) == (0, []), words
    await stack.say(process, "cancel")
