"""`demo`: one of the examples on real servers, from a raw intent to a plan; with `--crash`, through a killed worker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tongyao.commands.shared.terminal import fail, run


def add_to(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    lang: Annotated[
        str, typer.Option(help="zh or en: which of the two example cases. Default: the language of the terminal.")
    ] = "",
    crash: Annotated[
        bool, typer.Option("--crash", help="Kill the worker in the middle of a round, and go on.")
    ] = False,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded",
            help="Play a run whose answers are recorded: no key is needed and no model is asked.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(help="Run the case of --recorded with the engine of the settings, and write its recording there."),
    ] = None,
) -> None:
    """Run one example process on a real Temporal server and a real PostgreSQL. Prints its rounds live and a summary of the result."""
    from tongyao.commands.actions import demo as actions
    from tongyao.commands.shared.words import language, say

    os.environ["TONGYAO_LANGUAGE"] = lang = lang or language()
    if lang not in actions.CASES:
        fail(say("demo.lang", given=repr(lang)), 2)
    if recorded and record:
        fail(say("demo.record_and_play"), 2)
    folder = actions.EXAMPLES / (actions.RECORDED if recorded or record else actions.CASES)[lang]
    if not folder.is_dir():
        fail(say("demo.no_examples", folder=folder), 2)
    recording = actions.EXAMPLES / "recorded" / f"{folder.name}.jsonl" if recorded else None
    if recording is not None:  # the worker process reads its settings from the environment, too
        os.environ |= {"TONGYAO_ENGINE": "recorded", "TONGYAO_ENGINE_FILE": str(recording)}
    run(actions.demo(folder, lang, crash, recording, record_to=record))
