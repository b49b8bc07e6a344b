"""What `field` does: who is in a scene, and who in it is near a need. How well that works: `field_index`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Column, Table
from rich.text import Text

import tongyao
from tongyao.app.errors import NotFound
from tongyao.app.reading import RecordsContext
from tongyao.commands.actions.field_index import counting, fill_here, records, tension_of
from tongyao.commands.shared.references import find_person
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, EXIT_REFUSED, console, errors, fail, print_json
from tongyao.commands.shared.words import language, say, say_in
from tongyao.protocol.contracts.reindex import ReindexInput
from tongyao.protocol.model.sizes import shortened
from tongyao.records.people.profiles import ProfileUnknown
from tongyao.records.people.scenes import SceneUnknown

if TYPE_CHECKING:
    from tongyao.field.perspectives import Match

LARGE = 1_000
"""From so many people on an import also makes the scene's index: in memory each change would cost a fit of many seconds."""


async def import_file(file: Path, scene: str, as_json: bool) -> None:
    from tongyao.field.profile_import import NotProfiles, import_profiles
    from tongyao.runtime import wiring

    async with records() as (chosen, repositories):
        try:
            with counting(say("field.importing", scene=scene)) as progress:
                report = await import_profiles(
                    repositories.profiles,
                    repositories.scenes,
                    file,
                    scene=scene,
                    max_chars=chosen.profile_max_chars,
                    progress=progress,
                )
        except NotProfiles as error:
            fail(error.reason.zh if language() == "zh" else error.reason, EXIT_BAD_INPUT)
        indexer = wiring.intent_field(chosen, repositories).indexer
        live = [index.kind for index in await indexer.store.indexes(scene) if index.state == "live"]
        if "lexical" not in live and await indexer.store.people_count(scene) > LARGE:
            live.append("lexical")
        for kind in live:
            await fill_here(indexer, ReindexInput.model_validate({"scene": scene, "kind": kind}))
    if as_json:
        counts = {"stored": report.stored, "new": report.new, "changed": report.changed}
        print_json({"scene": scene, **counts, "refused": dict(report.refused)})
    else:
        for id, reason in report.refused:
            worded = reason.zh if language() == "zh" else reason
            errors.print(say("field.refused", id=id, reason=worded), markup=False, highlight=False)
        same = report.stored - report.new - report.changed
        counts = {"new": report.new, "changed": report.changed, "same": same, "refused": len(report.refused)}
        console.print(say("field.imported", scene=scene, **counts), markup=False, highlight=False, soft_wrap=True)
    if report.refused and not report.stored:
        raise typer.Exit(EXIT_BAD_INPUT)


async def list_people(scene: str, as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    async with records() as (_, repositories):
        known = [one.id for one in await repositories.scenes.all()]
        if scene and scene not in known:
            fail(say("field.no_scene", scene=repr(scene)), EXIT_BAD_INPUT)
        for name in [scene] if scene else known:
            rows += [
                {"id": one.profile_id, "scene": name, "version": one.version, "grade": one.grade,
                 "language": one.language, "characters": one.chars}
                for one in sorted(await repositories.profiles.of_scene(name), key=lambda one: one.profile_id)
            ]  # fmt: skip
    if as_json:
        print_json(rows)
        return
    widest = max((len(row["id"]) for row in rows), default=0)  # an id that is cut cannot be used
    columns = ("scene", "version", "grade", "language", "characters")
    named = [say(f"field.{name}") for name in columns]
    table = Table(Column(say("field.id"), min_width=widest, no_wrap=True), *named, box=None)
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row.values()))
    console.print(table if rows else Text(say("field.nobody")))


async def search(
    asked: list[dict[str, Any]], scene: str, near: str | None, top: int, perspective: str, as_json: bool
) -> None:
    from tongyao.runtime import wiring

    async with records() as (chosen, repositories):
        field = wiring.intent_field(chosen, repositories)
        try:
            if near is not None:
                near = await find_person(RecordsContext(repositories), near)
                answers = [await field.near_profile(near, top=top)]
            elif perspective == "relevance":
                answers = await field.relevant([str(one["need"]) for one in asked], scene=scene, top=top)
            else:
                lists = [await field.perspectives(tension_of(one), scene=scene, top=top) for one in asked]
                answers = [one[perspective] for one in lists]
        except SceneUnknown:
            fail(say("field.no_scene_yet", scene=repr(scene)), EXIT_BAD_INPUT)
        except (ProfileUnknown, NotFound) as error:
            fail(str(error), EXIT_BAD_INPUT)
        if scene and not await repositories.profiles.anybody(scene):
            fail(say("field.nobody_in", scene=repr(scene), name=scene), EXIT_BAD_INPUT)
    for one, found in zip(asked, answers, strict=True):
        if as_json:
            line = {"need": one["need"], "results": [_result(person) for person in found]}
            typer.echo(json.dumps(line, ensure_ascii=False))
        else:
            console.print(_table(str(one["need"]), found))


async def stats(as_json: bool) -> None:
    from tongyao.field.index.indexer import REFIT_GROWTH
    from tongyao.field.index.store import IndexStore

    rows: list[dict[str, Any]] = []
    async with records() as (_, repositories):
        store = IndexStore(repositories.pool)
        for scene in await repositories.scenes.all():
            versions = await repositories.profiles.of_scene(scene.id)
            indexes = [
                {**index.model_dump(include={"kind", "encoder", "version", "dimension", "state"}),
                 "held": (await store.counts(index))[0],
                 "outgrown": index.kind == "lexical" and len(versions) >= REFIT_GROWTH * max(1, index.people)}
                for index in await store.indexes(scene.id)
            ]  # fmt: skip
            rows.append(
                {"scene": scene.id, "profiles": len(versions), "characters": sum(one.chars for one in versions),
                 "indexes": indexes}
            )  # fmt: skip
    if as_json:
        print_json(rows)
        return
    table = Table(*(say(f"field.{name}") for name in ("scene", "profiles", "characters", "searched")), box=None)
    for row in rows:
        shown = [
            f"{one['encoder']} {one['held']} {one['state']}{say('field.outgrown') if one['outgrown'] else ''}"
            for one in row["indexes"]
        ]
        table.add_row(
            row["scene"], str(row["profiles"]), str(row["characters"]), "; ".join(shown) or _in_memory(row["profiles"])
        )
    console.print(table)


async def tune(scene: str, k: int | None, threshold: float | None, shares: str | None) -> None:
    from pydantic import ValidationError

    from tongyao.field.intent_field import SceneFieldSettings
    from tongyao.field.perspectives import PERSPECTIVES

    wished: dict[str, Any] = {name: one for name, one in (("k", k), ("threshold", threshold)) if one is not None}
    async with records() as (_, repositories):
        try:
            if shares is not None:
                wished["shares"] = dict(zip(PERSPECTIVES, map(float, shares.split(",")), strict=True))
            kept = await repositories.scenes.get(scene)
            chosen = SceneFieldSettings.model_validate({**kept.settings.get("field", {}), **wished})
        except SceneUnknown as error:
            fail(str(error), EXIT_BAD_INPUT)
        except ValidationError as error:
            fail("; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors()), EXIT_BAD_INPUT)
        except ValueError:
            fail(say("field.three_numbers", given=repr(shares), names=",".join(PERSPECTIVES)), EXIT_BAD_INPUT)
        if wished:
            await repositories.scenes.put(scene, kept.title, {**kept.settings, "field": chosen.model_dump()})
    print_json(chosen.model_dump())


async def delete(profile: str) -> None:
    async with records() as (_, repositories):
        try:
            profile = await find_person(RecordsContext(repositories), profile)
        except NotFound as error:
            fail(str(error), EXIT_REFUSED)
        await repositories.profiles.delete(profile)
    console.print(say("field.deleted", profile=profile), markup=False)


def included_scenes() -> Path:
    """The folder of the sample scenes: in the package as it is installed, or in the checkout."""
    package = Path(tongyao.__file__).parent
    return next(
        (folder for folder in (package / "sample_scenes", package.parent / "scenes") if folder.is_dir()), package
    )


async def load(folder: Path) -> None:
    """Load the scenes below `folder`. Their titles say that the people are invented, wherever a title is shown."""
    from tongyao.field.profile_import import import_profiles

    found = sorted(folder.glob("*/scene.json"))
    if not found:
        fail(say("field.no_folder", folder=folder), EXIT_BAD_INPUT)
    async with records() as (_, repositories):
        for path in found:
            scene = json.loads(path.read_text(encoding="utf-8"))
            kept = {name: value for name, value in scene.items() if name not in ("id", "title")} | {"sample": True}
            titles = {
                tongue: say_in(tongue, "field.sample_title", title=title) for tongue, title in scene["title"].items()
            }
            await repositories.scenes.put(scene["id"], titles["en"], {**kept, "titles": titles})
            report = await import_profiles(
                repositories.profiles,
                repositories.scenes,
                path.parent / "profiles.json",
                scene=scene["id"],
                sample=True,
            )
            counts = {"new": report.new, "all": report.stored, "refused": len(report.refused)}
            console.print(say("field.loaded", scene=scene["id"], **counts), markup=False)


def _in_memory(people: int) -> str:
    return say("field.in_memory") if people <= LARGE else say("field.in_memory_slow")


def _result(found: Match) -> dict[str, Any]:
    return {"id": found.profile_id, "score": found.score, "perspective": found.perspective, "reasons": found.reasons}


def _table(need: str, found: list[Match]) -> Table:
    named = [say(f"field.{name}") for name in ("profile", "score", "part", "side", "characters")]
    table = Table("", *named, title=shortened(need, 30), box=None)
    for rank, one in enumerate(found, 1):
        for reason in one.reasons[:1] or [{}]:
            where = f"{reason['start']}-{reason['end']}" if reason else ""
            table.add_row(
                str(rank), one.profile_id, f"{one.score:.2f}", reason.get("part", ""), reason.get("facet", ""), where
            )
    return table
