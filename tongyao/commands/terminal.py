"""What a command does at the terminal: prints, ends with an exit code, runs a coroutine. Imports no part of the product."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from typing import Any, Final, NoReturn, TypeVar

from rich.console import Console

EXIT_FAILED: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_UNREACHABLE: Final = 3
EXIT_REFUSED: Final = 4
EXIT_PENDING: Final = 5

T = TypeVar("T")

console = Console(soft_wrap=False)
errors = Console(stderr=True)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine; of several errors in a group the first is raised."""
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def print_json(value: Any) -> None:
    """One JSON document on standard output, nothing else."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def print_json_line(value: Any) -> None:
    """One JSON document on a line of its own, at once: for programs that read while a command runs."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def fail(message: str, code: int = EXIT_FAILED) -> NoReturn:
    errors.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
