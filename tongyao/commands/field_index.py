"""`field reindex` and `field evaluate`: build the indexes of scenes, and measure the quality of the search."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tongyao.commands.context import migrated_records
from tongyao.commands.options import AsJson
from tongyao.commands.terminal import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    CommandGroup,
    errors,
    fail,
    print_json,
    print_table,
)  # fmt: skip
from tongyao.commands.words import say, tell

if TYPE_CHECKING:
    from tongyao.evals.field import LabelledNeed
    from tongyao.field.index.indexer import Indexer
    from tongyao.protocol.contracts.maintenance import ModelSpec, ReindexInput, ReindexProgress
    from tongyao.runtime.settings import Settings

LINE_SECONDS = 5

Scene = Annotated[str, typer.Option("--scene", help="A scene id.")]
Model = Annotated[str | None, typer.Option("--model", help="An embedding model: the name on a hub, or a folder.")]
Languages = Annotated[
    list[str] | None, typer.Option("--language", help="Languages of the model: zh or en. Default: all.")
]

app = CommandGroup()


@app.command()
async def reindex(
    scene: Scene,
    kind: Annotated[
        Literal["lexical", "model"], typer.Option(help="lexical, or model (an embedding model).")
    ] = "lexical",
    model: Model = None,
    language: Languages = None,
    refit: Annotated[bool, typer.Option(help="Fit the lexical encoder again, even if little has changed.")] = False,
    per_second: Annotated[float | None, typer.Option(min=0.01, help="The largest number of people per second.")] = None,
) -> None:
    """Build a scene's index beside the live one, then switch to it. If it is interrupted, it continues where it was.

    If a service runs, a workflow of the service does this, and this command follows it. Otherwise this command does it.
    """
    from temporalio.client import WorkflowFailureError

    from tongyao.field.encoders.encoder import EncoderUnusable
    from tongyao.protocol.contracts.maintenance import ReindexInput
    from tongyao.records.people.scenes import SceneUnknown
    from tongyao.runtime import wiring
    from tongyao.runtime.local.addresses import find_running

    spec = _spec(model, language)
    wanted = ReindexInput(scene=scene, kind="model" if spec else kind, model=spec, refit=refit,
                          per_second=per_second)  # fmt: skip
    async with migrated_records() as (chosen, repositories):
        try:
            await repositories.scenes.get(scene)
            running = find_running(chosen.home)
            address = running.temporal_address if running else chosen.temporal_address
            if address is not None:
                done = await _watch(chosen, address, wanted)
            else:
                done = await fill_here(wiring.intent_field(chosen, repositories).indexer, wanted)
        except SceneUnknown:
            fail(say("field.no_scene", scene=repr(scene)), EXIT_BAD_INPUT)
        except EncoderUnusable as error:
            fail(str(error), EXIT_BAD_INPUT)
        except WorkflowFailureError as error:
            cause = error.cause.__cause__ or error.cause
            fail(say("field.reindex_failed", cause=cause), EXIT_FAILED)
    tell("field.reindexed", scene=scene, held=done.held, people=done.people, encoder=done.encoder)


@app.command()
async def evaluate(
    needs: Annotated[Path | None, typer.Argument(help="Labelled needs as JSON lines (scenes/README.md).")] = None,
    scene: Annotated[str | None, typer.Option("--scene", help="A scene id. Default: the scenes of --folder.")] = None,
    folder: Annotated[
        Path, typer.Option(help="The folder of scenes with labelled needs. All people form one pool.")
    ] = Path("scenes"),
    model: Model = None,
    language: Languages = None,
    as_json: AsJson = False,
) -> None:
    """Print the pass rate and the hits in the top ten, by level and perspective, with 95 % intervals (Wilson).

    All people are compared, in memory. With a model, two more results are given: the model alone (with BM25), and both together (hybrid).
    """
    from tongyao.evals import field
    from tongyao.field.encoders.encoder import EncoderUnusable

    if (needs is None) != (scene is None):
        fail(say("field.needs_or_neither"), EXIT_BAD_INPUT)
    if needs is not None and scene is not None:
        texts, labelled = await _texts_of(scene), _read_labelled(needs)
    else:
        texts, labelled = _read_folder(folder)
    spec, encoder = _spec(model, language), None
    if spec is not None:
        from tongyao.field.encoders.transformer import TransformerEncoder

        try:
            encoder = TransformerEncoder(spec)
        except EncoderUnusable as error:
            fail(str(error), EXIT_BAD_INPUT)
    rows = field.evaluate(texts, labelled, model=encoder)
    if as_json:
        print_json([row.model_dump() for row in rows])
        return
    columns = [say(f"field.{name}") for name in ("scheme", "perspective", "level", "passed", "hits")]
    print_table(
        [*columns[:4], "95 %", columns[4]],
        [
            (row.scheme, row.perspective, row.level, f"{row.passed}/{row.needs}",
             "{:.2f}-{:.2f}".format(*row.interval), f"{row.hits}/{row.expected}")
            for row in rows
        ],
    )  # fmt: skip


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback that takes the number done and the total, and shows a bar (or lines in a log) on stderr."""
    if not errors.is_terminal:
        yield _lines(what)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(what: str) -> Callable[[int, int], None]:
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            tell("field.progress", to=errors, what=what, done=done, total=total)

    return show


async def fill_here(indexer: Indexer, what: ReindexInput) -> ReindexProgress:
    """Run the steps of the reindex workflow in this operating system process."""
    from tongyao.protocol.contracts.maintenance import BATCH

    progress = await indexer.open(what.scene, what.kind, model=what.model, refit=what.refit)
    with counting(say("field.indexing", scene=what.scene, encoder=progress.encoder)) as show:
        for _ in range(2):  # the second pass, after the switch, adds people who came meanwhile
            while True:
                begun = asyncio.get_running_loop().time()
                progress = await indexer.fill_some(progress.index, most=BATCH[what.kind])
                show(progress.held, progress.people)
                if progress.batch == 0:
                    break
                if what.per_second is not None:
                    taken = asyncio.get_running_loop().time() - begun
                    await asyncio.sleep(max(0.0, progress.batch / what.per_second - taken))
            progress = await indexer.switch(progress.index)
    return progress


async def _watch(chosen: Settings, address: str, what: ReindexInput) -> ReindexProgress:
    from temporalio.common import WorkflowIDConflictPolicy
    from temporalio.service import RPCError

    from tongyao.protocol.contracts.maintenance import REINDEX, REINDEX_PROGRESS, REINDEX_QUEUE, ReindexProgress
    from tongyao.runtime.temporal.connection import connect

    client = await connect(chosen, address=address)
    handle = await client.start_workflow(
        REINDEX, what, id=what.workflow_id, task_queue=REINDEX_QUEUE, result_type=ReindexProgress,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )  # fmt: skip
    result = asyncio.ensure_future(handle.result())
    with counting(say("field.workflow", id=what.workflow_id)) as show:
        while not (await asyncio.wait([result], timeout=1))[0]:
            try:
                now = await handle.query(REINDEX_PROGRESS, result_type=ReindexProgress)
            except RPCError:
                continue  # no worker answers now; the command still waits for the result
            show(now.held, now.people)
    return cast("ReindexProgress", result.result())


async def _texts_of(scene: str) -> dict[str, str]:
    from tongyao.records.people.scenes import SceneUnknown

    async with migrated_records() as (_, repositories):
        try:
            await repositories.scenes.get(scene)
        except SceneUnknown:
            fail(say("field.no_scene_yet", scene=repr(scene)), EXIT_BAD_INPUT)
        versions = await repositories.profiles.of_scene(scene)
        texts = await repositories.texts.get_many([version.text_id for version in versions], erased="")
    return {version.profile_id: texts[version.text_id] for version in versions}


def _read_folder(folder: Path) -> tuple[dict[str, str], list[LabelledNeed]]:
    from tongyao.field.profile_import import profile_text

    texts: dict[str, str] = {}
    labelled: list[LabelledNeed] = []
    for path in sorted(folder.glob("*/needs.jsonl")):
        profiles = json.loads((path.parent / "profiles.json").read_text(encoding="utf-8"))
        texts |= {id: profile_text(value) for id, value in profiles.items()}
        labelled += _read_labelled(path)
    if not labelled:
        fail(say("field.no_labelled", folder=folder), EXIT_BAD_INPUT)
    return texts, labelled


def _read_labelled(path: Path) -> list[LabelledNeed]:
    from pydantic import ValidationError

    from tongyao.evals.field import LabelledNeed

    found = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            found.append(LabelledNeed.model_validate(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            fail(say("field.bad_need", path=path, number=number, where=where, why=first["msg"]), EXIT_BAD_INPUT)
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines. Exits if a line is no object with a `need`."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        fail(say("field.unreadable", path=path, error=error), EXIT_BAD_INPUT)
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            fail(say("field.line_no_json", path=path, number=number, error=error.msg), EXIT_BAD_INPUT)
        if not isinstance(value, dict) or not isinstance(value.get("need"), str) or not value["need"].strip():
            fail(say("field.line_no_need", path=path, number=number), EXIT_BAD_INPUT)
        found.append(value)
    return found


def _spec(model: str | None, languages: list[str] | None) -> ModelSpec | None:
    """Return the model, or None. A folder becomes an absolute path, because the worker runs in another folder."""
    from tongyao.protocol.contracts.maintenance import ModelSpec

    if not model:
        return None
    return ModelSpec(
        model=str(Path(model).resolve()) if Path(model).is_dir() else model, languages=tuple(languages or ())
    )
