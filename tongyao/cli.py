"""`tongyao`: every command of an installation. Each group of commands is a module of `tongyao.commands`.

The module of a command is imported when the command is called, because importing all of them takes a second.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

MODULES: Final = {
    "demo": ("demo",),
    "service": ("up", "prepare", "doctor", "reconcile"),
    "start": ("start", "suggest"),
    "show": ("watch", "show", "why", "list"),
    "messages": (
        "confirm", "revise", "select", "decide", "conclude", "replan", "branch", "resume", "cancel", "say", "answer",
        "switch", "extend", "leave",
    ),
    "consents": ("consent", "consents", "standing"),
    "export": ("export",),
    "operators": ("log", "project-again", "schedules", "note-backup"),
    "builds": ("versions", "replay", "upgrade"),
    "plans": ("feedback", "tree", "plan"),
    "models": ("cost", "record", "prompts"),
    "evaluate": ("eval",),
    "forks": ("fork", "compare"),
    "experiments": ("experiment",),
    "calls": ("calls",),
    "gateway": ("gateway", "mcp", "token"),
    "field": ("field",),
    "keys": ("erase", "keys"),
}  # fmt: skip
"""Module → its commands, in the order of the help. A test compares them with the commands that the modules add."""

_FORKS: Final = MODULES["forks"]
_PANELS: Final = {
    "try": ("demo", "up", "doctor"),
    "process": ("suggest", "start", "list", "show", "watch", "why", "plan", "tree", "export", "feedback", *_FORKS),
    "speak": MODULES["messages"],
    "people": ("field", "standing", "token", "gateway", "mcp"),
    "models": ("calls", "prompts", "cost", "record", "eval", "experiment"),
}
"""Panels of the help and their commands. All other commands are for operators."""

_MODULE_OF: Final = {command: module for module, commands in MODULES.items() for command in commands}


class _Commands(TyperGroup):
    """Imports the module of a command when the command is requested."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(
            _MODULE_OF, key=lambda name: next((at for at, names in enumerate(_PANELS.values()) if name in names), 9)
        )

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in _MODULE_OF:
            part = import_module(f"tongyao.commands.{_MODULE_OF[cmd_name]}").app
            self.commands.update(typer.main.get_group(part).commands)
        command = self.commands.get(cmd_name)
        if command is None:
            return None
        panel = next((panel for panel, names in _PANELS.items() if cmd_name in names), "operate")
        shown = _in_language(command)
        shown.rich_help_panel = _panel_title(panel)
        return shown

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super(_Commands, _in_language(self)).format_help(ctx, formatter)


def _in_language(command: Any) -> Any:
    """Return the command, or a copy with Chinese help if the terminal's language is Chinese."""
    from tongyao.commands.words import language

    if language() == "en":
        return command
    from tongyao.commands.chinese_help import in_chinese

    return in_chinese(command)


def _panel_title(panel: str) -> str:
    from tongyao.commands.words import say

    return say(f"typed.panel_{panel}")


app = typer.Typer(
    name="tongyao",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Tongyao runs crystallization processes: from a person's request to a plan that names a source for every claim.\n\n"
    "Exit codes: 0 done, 1 failed, 2 bad input, 3 no service or server reached, 4 refused by the process, "
    "5 accepted and not yet applied.",
)


def _version(asked: bool) -> None:
    if asked:
        from tongyao.runtime.temporal.build import build_id

        typer.echo(build_id())
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the build: version and digest of the code."
        ),
    ] = False,
) -> None: ...


def main() -> NoReturn:
    """Run the command line. An expected error becomes one sentence and an exit code, without a traceback."""
    os.umask(0o077)  # logs, keys and exports contain people's words
    code = 0
    try:
        _run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    if "temporalio" in sys.modules:
        from tongyao.runtime.process_exit import exit_process

        exit_process(code)
    sys.exit(code)


def _run() -> None:
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        from tongyao.commands.expected_errors import exit_code_of, message_of
        from tongyao.commands.terminal import fail

        code = exit_code_of(error)
        if code is None:
            raise
        fail(message_of(error), code)


if __name__ == "__main__":
    main()
