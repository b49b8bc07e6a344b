"""`field reindex` and `field evaluate`: what searches are made of, and how well they find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer
from rich.table import Table

from tongyao.commands.terminal import EXIT_BAD_INPUT, console, fail, print_json, run
from tongyao.commands.words import say

Scene = Annotated[str, typer.Option("--scene", help="A scene id.")]

AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]

Model = Annotated[str | None, typer.Option("--model", help="An embedding model: the name on a hub, or a folder.")]

Languages = Annotated[
    list[str] | None, typer.Option("--language", help="Languages of the model: zh or en. Default: all.")
]


def add_to(app: typer.Typer) -> None:
    app.command()(reindex)
    app.command()(evaluate)


def reindex(
    scene: Scene,
    kind: Annotated[str, typer.Option(help="lexical, or model (an embedding model).")] = "lexical",
    model: Model = None,
    language: Languages = None,
    refit: Annotated[bool, typer.Option(help="Fit the lexical encoder again, even if little has changed.")] = False,
    per_second: Annotated[float | None, typer.Option(min=0.01, help="The largest number of people per second.")] = None,
) -> None:
    """Build a scene's index beside the live one, then switch to it. Interrupted, it goes on where it was.

    Where a service runs it is a workflow there, and this command watches; else it is done here.
    """
    from tongyao.commands.actions import field_index as actions
    from tongyao.protocol.contracts.reindex import Kind, ModelSpec, ReindexInput

    if kind not in ("lexical", "model"):
        fail(say("field.no_kind", given=repr(kind)), EXIT_BAD_INPUT)
    spec = ModelSpec(model=actions.whole_path(model), languages=tuple(language or ())) if model else None
    run(
        actions.reindex(
            ReindexInput(scene=scene, kind="model" if spec else cast(Kind, kind), model=spec, refit=refit,
                         per_second=per_second)
        )
    )  # fmt: skip


def evaluate(
    needs: Annotated[Path | None, typer.Argument(help="Labelled needs as JSON lines (scenes/README.md).")] = None,
    scene: Annotated[str | None, typer.Option("--scene", help="A scene id. Default: the scenes of --folder.")] = None,
    folder: Annotated[
        Path, typer.Option(help="The folder of scenes with labelled needs. All people form one pool.")
    ] = Path("scenes"),
    model: Model = None,
    language: Languages = None,
    as_json: AsJson = False,
) -> None:
    """Pass rate and hits in the top ten, by level and perspective, with 95 % intervals (Wilson).

    Everybody is looked at, in memory. With a model also by it alone (with BM25), and by both together (hybrid).
    """
    from tongyao.commands.actions import field_index as actions
    from tongyao.protocol.contracts.reindex import ModelSpec

    if (needs is None) != (scene is None):
        fail(say("field.needs_or_neither"), EXIT_BAD_INPUT)
    if needs is not None and scene is not None:
        texts, labelled = run(actions.texts_of(scene)), actions.read_labelled(needs)
    else:
        texts, labelled = actions.read_folder(folder)
    spec = ModelSpec(model=actions.whole_path(model), languages=tuple(language or ())) if model else None
    rows = actions.evaluate(texts, labelled, spec)
    if as_json:
        print_json([row.model_dump() for row in rows])
        return
    columns = [say(f"field.{name}") for name in ("scheme", "perspective", "level", "passed", "hits")]
    table = Table(*columns[:4], "95 %", columns[4], box=None)
    for row in rows:
        low, high = row.interval
        table.add_row(
            row.scheme, row.perspective, row.level, f"{row.passed}/{row.needs}", f"{low:.2f}-{high:.2f}",
            f"{row.hits}/{row.expected}",
        )  # fmt: skip
    console.print(table)
