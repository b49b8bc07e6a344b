"""Common parts of commands: the settings, the caller, the context of the use cases, and the reading of arguments.

Other packages are imported only when they are used.
"""

from __future__ import annotations

import asyncio
import getpass
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongyao.commands.words import say

if TYPE_CHECKING:
    from tongyao.app.authorization import Caller
    from tongyao.app.context import AppContext
    from tongyao.records.repositories import Repositories
    from tongyao.runtime.settings import Settings


def settings() -> Settings:
    from tongyao.runtime.settings import load_settings

    return load_settings()


def operator() -> Caller:
    """Return the caller of commands, an operator. Commands for a demander or a participant act in that role instead."""
    from tongyao.app.action_permissions import Role
    from tongyao.app.authorization import Caller

    try:
        login = getpass.getuser()
    except (ImportError, KeyError, OSError):  # the system has no name for this user
        login = "cli"
    return Caller(role=Role.OPERATOR, id="cli", login=login, on_the_machine=True)


@asynccontextmanager
async def app_context() -> AsyncIterator[AppContext]:
    """Open the use cases of the running installation. Raises `NotRunning`."""
    from tongyao.runtime import installation

    async with installation.running(settings()) as joined:
        yield joined.context


@asynccontextmanager
async def open_records() -> AsyncIterator[Repositories]:
    """Open the records of the running installation, for commands that only read. Raises `NotRunning`."""
    from tongyao.runtime import installation

    async with installation.records(settings()) as repositories:
        yield repositories


def validated(model: Any, given: Mapping[str, Any]) -> Any:
    """Return the request body of a command, without omitted options (None). Raises `BadInput`."""
    from tongyao.app import errors

    return errors.validated(model, {name: value for name, value in given.items() if value is not None})


def read_text(path: Path, *, field: str) -> str:
    """Return the text of a file. Raises `BadInput`."""
    from tongyao.app.errors import BadInput, refuse_file

    try:
        given = path.read_bytes()
        refuse_file(given, field=field)
        return given.decode("utf-8-sig")
    except IsADirectoryError:
        raise BadInput("not_a_file", say("file.folder", file=path), field=field) from None
    except OSError as error:
        raise BadInput("no_such_file", say("file.unreadable", file=path, error=error.strerror), field=field) from None
    except UnicodeDecodeError as error:
        raise BadInput("not_utf8", say("file.no_utf8_at", file=path, byte=error.start), field=field) from None


def read_json(path: Path, *, field: str) -> Any:
    """Return the JSON document in a file. Raises `BadInput`."""
    from tongyao.app.errors import BadInput

    try:
        return json.loads(read_text(path, field=field))
    except ValueError as error:
        raise BadInput("not_json", say("file.no_json", file=path, error=error), field=field) from None
    except RecursionError:
        raise BadInput("not_json", say("file.too_deep", file=path), field=field) from None


def assignments(option: str, given: Iterable[str] | None) -> dict[str, str]:
    """Return a dictionary of the `NAME=VALUE` pairs of a repeatable option. Raises `BadInput`."""
    from tongyao.app.errors import BadInput

    found = {}
    for assignment in given or ():
        name, equals, value = assignment.partition("=")
        if not equals:
            raise BadInput(option, say("file.no_value", option=option, given=repr(assignment)), field=option)
        found[name.strip()] = value.strip()
    return found


@asynccontextmanager
async def migrated_records() -> AsyncIterator[tuple[Settings, Repositories]]:
    """Open the settings and the records, after migration to the newest schema.

    The database is that of the running service, else of the settings, else an embedded PostgreSQL that is started for
    this block.
    """
    from tongyao.records.migrate import migrate
    from tongyao.runtime import wiring
    from tongyao.runtime.local.addresses import find_running

    chosen = settings()
    running = find_running(chosen.home)
    server = None
    if running is not None:
        url = running.database_url
    elif chosen.database_url is not None:
        url = chosen.database_url.get_secret_value()
    else:
        from tongyao.runtime.local.postgres import LocalPostgres

        server = LocalPostgres(chosen.home)
        url = await asyncio.to_thread(server.start)
    try:
        await asyncio.to_thread(migrate, url)
        async with wiring.repositories(chosen, database_url=url) as repositories:
            yield chosen, repositories
    finally:
        if server is not None:
            await asyncio.to_thread(server.stop)
