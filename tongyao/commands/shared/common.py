"""What the commands share of the product: the caller, the settings, the context of the use cases."""

from __future__ import annotations

import getpass
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import not_valid
from tongyao.app.reading import RecordsContext
from tongyao.runtime import installation
from tongyao.runtime.settings import Settings, load_settings


def _login() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # the system has no name for this user
        return "cli"


OPERATOR: Final = Caller(role=Role.OPERATOR, id="cli", login=_login(), on_the_machine=True)
"""Whoever may run commands here is an operator; commands for a demander or a participant act in that role."""


def settings() -> Settings:
    return load_settings()


@asynccontextmanager
async def app_context() -> AsyncIterator[AppContext]:
    """The use cases of the installation that runs. Raises `NotRunning`."""
    async with installation.running(settings()) as joined:
        yield joined.context


@asynccontextmanager
async def records_context() -> AsyncIterator[RecordsContext]:
    """The records of the installation that runs, for commands that only read. Raises `NotRunning`."""
    async with installation.records(settings()) as repositories:
        yield RecordsContext(repositories)


def validated(model: Any, given: Mapping[str, Any]) -> Any:
    """The request body of a command, without the options that were left out (None). Raises `BadInput`."""
    try:
        return TypeAdapter(model).validate_python({name: one for name, one in given.items() if one is not None})
    except ValidationError as error:
        raise not_valid(error) from None
