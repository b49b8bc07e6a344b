"""`demo`: one of the examples on real servers, from a raw intent to a plan; with `--crash`, through a killed worker."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from tongyao.commands.terminal import fail, run


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
            help="Play a run in Chinese whose answers were written by hand in place of a model (no key needed).",
        ),
    ] = False,
) -> None:
    """Run one example process on a real Temporal server and a real PostgreSQL. Prints its rounds live and a summary of the result."""
    from tongyao.commands.actions import demo as actions
    from tongyao.commands.words import language, say

    lang = lang or language()
    if lang not in actions.CASES:
        fail(say("demo.lang", given=repr(lang)), 2)
    if recorded and lang not in actions.RECORDED:
        fail(say("demo.no_recording", languages=", ".join(actions.RECORDED)), 2)
    folder = actions.EXAMPLES / (actions.RECORDED if recorded else actions.CASES)[lang]
    if not folder.is_dir():
        fail(say("demo.no_examples", folder=folder), 2)
    recording = actions.EXAMPLES / "recorded" / f"{folder.name}.jsonl" if recorded else None
    if recording is not None:  # the worker process reads its settings from the environment, too
        os.environ |= {"TONGYAO_ENGINE": "recorded", "TONGYAO_ENGINE_FILE": str(recording)}
    run(actions.demo(folder, lang, crash, recording))
