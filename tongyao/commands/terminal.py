"""Registration, running, printing and exit codes of commands. Imports no other package of Tongyao."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Final, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

EXIT_FAILED: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_UNREACHABLE: Final = 3
EXIT_REFUSED: Final = 4
EXIT_PENDING: Final = 5

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])

console = Console(soft_wrap=False)
errors = Console(stderr=True)


class CommandGroup(typer.Typer):
    """A group of commands. A command may be a coroutine function, which runs in its own event loop."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Command], Command]:
        register = super().command(name, **options)

        def add(function: Command) -> Command:
            register(_in_event_loop(function) if iscoroutinefunction(function) else function)
            return function

        return add


def _in_event_loop(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(function)
    def call(*values: Any, **options: Any) -> None:
        run(function(*values, **options))

    return call


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine. Raises the first error of an exception group."""
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def print_json(value: Any) -> None:
    """Print an indented JSON document."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def print_json_line(value: Any) -> None:
    """Print a JSON document on one line and flush it, for programs that read while a command runs."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def put(text: str, *, to: Console = console, style: str | None = None, whole: bool = False) -> None:
    """Print a text without markup. `whole`: its lines are not broken, so that commands in them can be copied."""
    to.print(text, style=style, markup=False, highlight=False, soft_wrap=whole)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], **look: Any) -> None:
    """Print a table without borders. `columns`: the titles. `look`: options of `rich.table.Table`."""
    table = Table(*columns, box=None, **look)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else str(cell) for cell in row))
    console.print(table, highlight=False)


def fail(message: str, code: int = EXIT_FAILED) -> NoReturn:
    put(message, to=errors, style="red", whole=True)
    sys.exit(code)
