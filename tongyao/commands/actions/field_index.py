"""What `field reindex` and `field evaluate` do: what searches are made of, and how well they find."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tongyao.commands.context import settings
from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_FAILED, console, errors, fail
from tongyao.commands.words import say
from tongyao.protocol.contracts.reindex import (
    BATCH,
    REINDEX,
    REINDEX_PROGRESS,
    REINDEX_QUEUE,
    ModelSpec,
    ReindexInput,
    ReindexProgress,
)
from tongyao.protocol.model.tension import Tension
from tongyao.records.people.scenes import SceneUnknown
from tongyao.records.repositories import Repositories
from tongyao.runtime import wiring
from tongyao.runtime.local.addresses import find_running
from tongyao.runtime.settings import Settings

if TYPE_CHECKING:
    from tongyao.evals.field import LabelledNeed, Result
    from tongyao.field.index.indexer import Indexer

LINE_SECONDS = 5


@asynccontextmanager
async def records() -> AsyncIterator[tuple[Settings, Repositories]]:
    """The records alone: of the running service or the settings, else the embedded PostgreSQL for this block."""
    from tongyao.records.migrate import migrate

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


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Progress on standard error, a bar or, in a log, a line now and then: call it with how many are done, of how many."""
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
            errors.print(say("field.progress", what=what, done=done, total=total), markup=False, highlight=False)

    return show


async def reindex(what: ReindexInput) -> None:
    from temporalio.client import WorkflowFailureError

    from tongyao.field.encoders.encoder import EncoderUnusable

    async with records() as (chosen, repositories):
        try:
            await repositories.scenes.get(what.scene)
            running = find_running(chosen.home)
            address = running.temporal_address if running else chosen.temporal_address
            if address is not None:
                done = await _watch(chosen, address, what)
            else:
                done = await fill_here(wiring.intent_field(chosen, repositories).indexer, what)
        except SceneUnknown:
            fail(say("field.no_scene", scene=repr(what.scene)), EXIT_BAD_INPUT)
        except EncoderUnusable as error:
            fail(str(error), EXIT_BAD_INPUT)
        except WorkflowFailureError as error:
            cause = error.cause.__cause__ or error.cause
            fail(say("field.reindex_failed", cause=cause), EXIT_FAILED)
    counts = {"held": done.held, "people": done.people, "encoder": done.encoder}
    console.print(say("field.reindexed", scene=what.scene, **counts), markup=False)


async def fill_here(indexer: Indexer, what: ReindexInput) -> ReindexProgress:
    """What the workflow does, in this process."""
    progress = await indexer.open(what.scene, what.kind, model=what.model, refit=what.refit)
    with counting(say("field.indexing", scene=what.scene, encoder=progress.encoder)) as show:
        for _ in range(2):  # again after the switch: who came meanwhile
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
                continue  # no worker answers at the moment; the result is still waited for
            show(now.held, now.people)
    return cast(ReindexProgress, result.result())


def evaluate(texts: dict[str, str], needs: list[LabelledNeed], spec: ModelSpec | None) -> list[Result]:
    from tongyao.evals import field
    from tongyao.field.encoders.encoder import EncoderUnusable

    encoder = None
    if spec is not None:
        from tongyao.field.encoders.transformer import TransformerEncoder

        try:
            encoder = TransformerEncoder(spec)
        except EncoderUnusable as error:
            fail(str(error), EXIT_BAD_INPUT)
    return field.evaluate(texts, needs, model=encoder)


async def texts_of(scene: str) -> dict[str, str]:
    async with records() as (_, repositories):
        try:
            await repositories.scenes.get(scene)
        except SceneUnknown:
            fail(say("field.no_scene_yet", scene=repr(scene)), EXIT_BAD_INPUT)
        versions = await repositories.profiles.of_scene(scene)
        texts = await repositories.texts.get_many([version.text_id for version in versions], erased="")
    return {version.profile_id: texts[version.text_id] for version in versions}


def read_folder(folder: Path) -> tuple[dict[str, str], list[LabelledNeed]]:
    from tongyao.field.profile_import import profile_text

    texts: dict[str, str] = {}
    labelled: list[LabelledNeed] = []
    for path in sorted(folder.glob("*/needs.jsonl")):
        profiles = json.loads((path.parent / "profiles.json").read_text(encoding="utf-8"))
        texts |= {id: profile_text(value) for id, value in profiles.items()}
        labelled += read_labelled(path)
    if not labelled:
        fail(say("field.no_labelled", folder=folder), EXIT_BAD_INPUT)
    return texts, labelled


def read_labelled(path: Path) -> list[LabelledNeed]:
    from pydantic import ValidationError

    from tongyao.evals.field import LabelledNeed

    found = []
    for number, one in enumerate(read_lines(path), 1):
        try:
            found.append(LabelledNeed.model_validate(one))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            fail(say("field.bad_need", path=path, number=number, where=where, why=first["msg"]), EXIT_BAD_INPUT)
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    """JSON lines, each an object with a `need`; ends the command where they are not."""
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


def tension_of(one: dict[str, Any]) -> Tension:
    """The tension of a line; ends the command where there is none."""
    if not isinstance(one.get("tension"), dict):
        fail(say("field.no_tension"), EXIT_BAD_INPUT)
    return Tension.model_validate(one["tension"])


def whole_path(model: str) -> str:
    """A folder by its whole path: the worker stands elsewhere."""
    return str(Path(model).resolve()) if Path(model).is_dir() else model
