"""`tongyao`: every command of an installation. Each group of commands is a module of `tongyao.commands`."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from tongyao.app.errors import Problem, Refused, Unavailable, problem_of
from tongyao.commands import (
    demo,
    erase,
    evaluate,
    export,
    field,
    gateway,
    messages,
    models,
    operators,
    plans,
    processes,
    service,
)
from tongyao.commands.common import EXIT_BAD_INPUT, EXIT_REFUSED, EXIT_UNREACHABLE, fail
from tongyao.records.database import RecordsError
from tongyao.runtime.installation import NotRunning
from tongyao.runtime.local.processes import LocalServiceError
from tongyao.runtime.process_exit import exit_process
from tongyao.runtime.settings import SettingsError
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.connection import TemporalUnreachable
from tongyao.runtime.temporal.workers import NotReady

app = typer.Typer(
    name="tongyao",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Crystallization processes: from a raw intent to a plan with a source for every claim.\n\n"
    "Exit codes: 0 done, 1 it failed, 2 bad input, 3 no service or server reached, 4 refused by the process, "
    "5 accepted and not yet applied.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(build_id())
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="The build: version and digest of the code."),
    ] = False,
) -> None: ...


demo.add_to(app)
service.add_to(app)
processes.add_to(app)
messages.add_to(app)
export.add_to(app)
erase.add_to(app)
operators.add_to(app)
plans.add_to(app)
models.add_to(app)
evaluate.add_to(app)
field.add_to(app)
gateway.add_to(app)


def main() -> NoReturn:
    """The entry point: an expected error becomes one sentence and an exit code, never a traceback."""
    os.umask(0o077)  # logs, keys and exports hold people's words
    try:
        _run()
    except SystemExit as ended:
        exit_process(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    exit_process(0)


def _run() -> None:
    try:
        app()
    except Refused as refused:
        fail(f"refused: {refused} ({refused.details['zh']})", EXIT_REFUSED)
    except (Problem, RecordsError) as error:
        problem = problem_of(error)
        bad_input = problem is not None and not isinstance(problem, Unavailable)
        fail(str(error), EXIT_BAD_INPUT if bad_input else EXIT_UNREACHABLE)
    except SettingsError as error:
        fail(str(error), EXIT_BAD_INPUT)
    except (NotRunning, LocalServiceError, TemporalUnreachable, NotReady) as error:
        fail(str(error), EXIT_UNREACHABLE)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
