"""`keys`: which master keys are in use, a new one, and when an old one can go (docs/erasure.md)."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from tongyao.commands.terminal import console, run
from tongyao.commands.words import say

DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be done and change nothing.")]

app = typer.Typer(help="Master keys: show, rotate, retire.", no_args_is_help=True)


def add_to(parent: typer.Typer) -> None:
    parent.add_typer(app, name="keys")


@app.command("show")
def show() -> None:
    """List the master keys, newest first: their fingerprints, since when, how many texts' keys each wraps. No key is printed."""
    from tongyao.commands.actions import keys as actions

    uses, runs = run(actions.key_uses())
    table = Table(say("keys.key"), "", say("keys.since"), say("keys.data_keys"), box=None)
    for number, use in enumerate(uses):
        since = f"{use.first_used:%Y-%m-%d %H:%M}" if use.first_used else ""
        table.add_row(use.id, say("keys.older") if number else say("keys.active"), since, str(use.data_keys))
    console.print(table, highlight=False)
    if len(uses) > 1:
        console.print(say("keys.histories", n=runs), highlight=False)


@app.command("rotate")
def rotate(dry_run: DryRun = False) -> None:
    """Make a new master key the active one and wrap every data key with it. Older keys still open what Temporal holds.

    A key in the home's file is made here. Keys that are given by TONGYAO_MASTER_KEY are made by whoever gives them: "<new>,<old>".
    """
    from tongyao.commands.actions import keys as actions

    run(actions.rotate(dry_run))


@app.command("retire")
def retire(dry_run: DryRun = False) -> None:
    """Remove the older master keys, if no data key and no history in Temporal needs them any more."""
    from tongyao.commands.actions import keys as actions

    run(actions.retire(dry_run))
