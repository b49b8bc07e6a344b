"""`field`: who is in a scene, and who in it is near a need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from tongyao.commands.common import EXIT_BAD_INPUT, console, errors, fail, print_json, run, settings
from tongyao.field.evaluation import Labelled, evaluate_lists, interval
from tongyao.field.importing import NotProfiles, import_profiles
from tongyao.field.intent_field import IntentField
from tongyao.field.perspectives import PERSPECTIVES, Found
from tongyao.protocol.tension import Tension
from tongyao.records.library import Library
from tongyao.records.migrate import migrate
from tongyao.records.profiles import SceneUnknown
from tongyao.runtime import wiring
from tongyao.runtime.local.postgres import LocalPostgres
from tongyao.runtime.local.service import find_running

app = typer.Typer(help="The intent field: people, and who is near a need.", no_args_is_help=True)
scenes_app = typer.Typer(help="The scenes that come with Tongyao.", no_args_is_help=True)
app.add_typer(scenes_app, name="scenes")

Scene = Annotated[str, typer.Option("--scene", help="The scene's id.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="field")


@asynccontextmanager
async def _library() -> AsyncIterator[Library]:
    """The records alone: of the running service or the settings, else the embedded PostgreSQL for this block."""
    chosen = settings()
    running = find_running(chosen.home)
    server: LocalPostgres | None = None
    if running is not None:
        url = running.database_url
    elif chosen.database_url is not None:
        url = chosen.database_url.get_secret_value()
    else:
        server = LocalPostgres(chosen.home)
        url = await asyncio.to_thread(server.start)
    try:
        await asyncio.to_thread(migrate, url)
        async with wiring.library(chosen, database_url=url) as library:
            yield library
    finally:
        if server is not None:
            await asyncio.to_thread(server.stop)


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="JSON (object of id → fields, or list), CSV, folder of Markdown.")],
    scene: Scene,
    as_json: AsJson = False,
) -> None:
    """Bring profiles into a scene, which is made when missing. Repeating it changes nothing."""
    run(_import(file, scene, as_json))


async def _import(file: Path, scene: str, as_json: bool) -> None:
    def progress(count: int) -> None:
        if count % 1000 == 0:
            errors.print(f"{count:,} profiles")

    async with _library() as library:
        try:
            report = await import_profiles(
                library.profiles, file, scene=scene, max_chars=settings().profile_max_chars, progress=progress
            )
        except NotProfiles as error:
            fail(str(error), EXIT_BAD_INPUT)
    if as_json:
        print_json({"scene": scene, "stored": report.stored, "refused": dict(report.refused)})
        return
    for id, reason in report.refused:
        errors.print(f"refused {id}: {reason}", markup=False)
    console.print(f"{report.stored} profiles in scene {scene}, {len(report.refused)} refused", markup=False)


@app.command()
def search(
    scene: Scene,
    text: Annotated[Optional[str], typer.Argument(help="A need in plain words.")] = None,
    needs: Annotated[Optional[Path], typer.Option(help='JSON lines, each {"need": …}, or with "tension".')] = None,
    top: Annotated[int, typer.Option(min=1, help="People per need.")] = 10,
    perspective: Annotated[str, typer.Option(help="relevance, resonance, complement, interference.")] = "relevance",
    as_json: AsJson = False,
) -> None:
    """Who is near a need, best first, and why. With --json one line per need."""
    if (text is None) == (needs is None):
        fail("give a text, or --needs FILE", EXIT_BAD_INPUT)
    if perspective not in ("relevance", *PERSPECTIVES):
        fail(f"--perspective {perspective!r}: one of relevance, {', '.join(PERSPECTIVES)}", EXIT_BAD_INPUT)
    asked = [{"need": text}] if needs is None else _read_lines(needs)
    run(_search(asked, scene, top, perspective, as_json))


async def _search(asked: list[dict[str, Any]], scene: str, top: int, perspective: str, as_json: bool) -> None:
    async with _library() as library:
        field = IntentField(library.pool)
        try:
            if perspective == "relevance":
                answers = await field.relevant([str(one["need"]) for one in asked], scene=scene, top=top)
            else:
                lists = [await field.perspectives(_tension(one), scene=scene, top=top) for one in asked]
                answers = [one[perspective] for one in lists]
        except SceneUnknown as error:
            fail(f"{error}: import profiles into it first", EXIT_BAD_INPUT)
    for one, found in zip(asked, answers, strict=True):
        if as_json:
            line = {"need": one["need"], "results": [_result(person) for person in found]}
            typer.echo(json.dumps(line, ensure_ascii=False))
        else:
            console.print(_table(str(one["need"]), found))


@app.command()
def stats(as_json: AsJson = False) -> None:
    """Scenes and how many people are in each."""
    run(_stats(as_json))


async def _stats(as_json: bool) -> None:
    async with _library() as library:
        rows = [
            {"scene": scene.id, "profiles": len(versions), "characters": sum(one.chars for one in versions)}
            for scene in await library.profiles.scenes()
            for versions in [await library.profiles.of_scene(scene.id)]
        ]
    if as_json:
        print_json(rows)
        return
    table = Table("scene", "profiles", "characters", box=None)
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    console.print(table)


@app.command()
def evaluate(
    needs: Annotated[Path, typer.Argument(help="Labelled needs, JSON lines (scenes/README.md).")],
    scene: Scene,
    as_json: AsJson = False,
) -> None:
    """Pass rate and hits in the top ten, by level and perspective, with 95 % intervals (Wilson)."""
    run(_evaluate(needs, scene, as_json))


async def _evaluate(path: Path, scene: str, as_json: bool) -> None:
    asked = _read_lines(path)
    labelled = [Labelled.model_validate(one) for one in asked]
    async with _library() as library:
        field = IntentField(library.pool)
        try:
            found = {"relevance": await field.relevant([one.need for one in labelled], scene=scene, top=10)}
            if all("tension" in one for one in asked):
                lists = [await field.perspectives(_tension(one), scene=scene, top=10) for one in asked]
                found |= {name: [each[name] for each in lists] for name in PERSPECTIVES}
        except SceneUnknown as error:
            fail(f"{error}: import profiles into it first", EXIT_BAD_INPUT)
    rows = [
        {"perspective": name, **row.model_dump(), "interval": interval(row.passed, row.needs)}
        for name, answers in found.items()
        for row in evaluate_lists(labelled, [[one.profile_id for one in each] for each in answers])
    ]
    if as_json:
        print_json(rows)
        return
    table = Table("perspective", "level", "passed", "95 %", "hits", box=None)
    for row in rows:
        low, high = row["interval"]
        table.add_row(
            row["perspective"], row["level"], f"{row['passed']}/{row['needs']}", f"{low:.2f}-{high:.2f}",
            f"{row['hits']}/{row['expected']}",
        )  # fmt: skip
    console.print(table)


@scenes_app.command("load")
def load_scenes(
    folder: Annotated[Path, typer.Option(help="The folder of scenes.")] = Path("scenes"),
) -> None:
    """Load the four scenes, with their titles and settings."""
    run(_load(folder))


async def _load(folder: Path) -> None:
    found = sorted(folder.glob("*/scene.json"))
    if not found:
        fail(f"there are no scenes in {folder}: name the folder with --folder", EXIT_BAD_INPUT)
    async with _library() as library:
        for path in found:
            scene = json.loads(path.read_text(encoding="utf-8"))
            kept = {name: value for name, value in scene.items() if name not in ("id", "title")}
            await library.profiles.put_scene(scene["id"], scene["title"]["en"], kept)
            report = await import_profiles(library.profiles, path.parent / "profiles.json", scene=scene["id"])
            console.print(f"{scene['id']}: {report.stored} profiles, {len(report.refused)} refused", markup=False)


def _read_lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{path} cannot be read: {error}", EXIT_BAD_INPUT)
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            fail(f"{path}, line {number}: no JSON ({error.msg})", EXIT_BAD_INPUT)
        if not isinstance(value, dict) or not isinstance(value.get("need"), str) or not value["need"].strip():
            fail(f'{path}, line {number}: expected an object with "need": text', EXIT_BAD_INPUT)
        found.append(value)
    return found


def _tension(one: dict[str, Any]) -> Tension:
    if not isinstance(one.get("tension"), dict):
        fail('this perspective needs a formulated tension: --needs lines with "tension", or relevance', EXIT_BAD_INPUT)
    return Tension.model_validate(one["tension"])


def _result(found: Found) -> dict[str, Any]:
    return {"id": found.profile_id, "score": found.score, "perspective": found.perspective, "reasons": found.reasons}


def _table(need: str, found: list[Found]) -> Table:
    table = Table("", "profile", "score", "part", "side", "characters", title=need[:60], box=None)
    for rank, one in enumerate(found, 1):
        for reason in one.reasons[:1] or [{}]:
            where = f"{reason['start']}-{reason['end']}" if reason else ""
            table.add_row(
                str(rank), one.profile_id, f"{one.score:.2f}", reason.get("part", ""), reason.get("facet", ""), where
            )
    return table
