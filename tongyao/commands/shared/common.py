"""What the commands share: exit codes, output, the caller, and the context of the use cases."""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError
from rich.console import Console

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import not_valid
from tongyao.runtime import installation
from tongyao.runtime.settings import Settings, load_settings

EXIT_FAILED: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_UNREACHABLE: Final = 3
EXIT_REFUSED: Final = 4
EXIT_PENDING: Final = 5


def _login() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # the system has no name for this user
        return "cli"


OPERATOR: Final = Caller(role=Role.OPERATOR, id="cli", login=_login(), on_the_machine=True)
"""Whoever may run commands here is an operator; commands for a demander or a participant act in that role."""

T = TypeVar("T")

console = Console(soft_wrap=False)
errors = Console(stderr=True)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine; of several errors in a group the first is raised."""
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def settings() -> Settings:
    return load_settings()


@asynccontextmanager
async def app_context() -> AsyncIterator[AppContext]:
    """The use cases of the installation that runs. Raises `NotRunning`."""
    async with installation.running(settings()) as joined:
        yield joined.context


def validated(model: Any, given: Mapping[str, Any]) -> Any:
    """The request body of a command, without the options that were left out (None). Raises `BadInput`."""
    try:
        return TypeAdapter(model).validate_python({name: one for name, one in given.items() if one is not None})
    except ValidationError as error:
        raise not_valid(error) from None


def print_json(value: Any) -> None:
    """One JSON document on standard output, nothing else."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def fail(message: str, code: int = EXIT_FAILED) -> NoReturn:
    errors.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
