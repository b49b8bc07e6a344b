"""`field`: lists the people of scenes and searches them. `field_index` has the commands for indexes and evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from rich.table import Column, Table
from rich.text import Text

from tongyao.commands import field_index
from tongyao.commands.context import migrated_records, validated
from tongyao.commands.field_index import Scene, counting, fill_here, read_lines
from tongyao.commands.options import PERSON, AsJson, DryRun, complete_person
from tongyao.commands.terminal import (
    EXIT_BAD_INPUT,
    CommandGroup,
    console,
    errors,
    fail,
    print_json,
    print_table,
    put,
)  # fmt: skip
from tongyao.commands.words import language, say, say_in, tell

if TYPE_CHECKING:
    from tongyao.field.perspectives import Match
    from tongyao.protocol.model.tension import Tension

LARGE: Final = 1_000
"""An import into a larger scene also builds the index. Without an index, each change takes many seconds of fitting."""

app = CommandGroup()
field = CommandGroup(help="The search for people: import, search and index scenes.", no_args_is_help=True)
scenes = CommandGroup(help="The sample scenes that are included.", no_args_is_help=True)
app.add_typer(field, name="field")
field.add_typer(scenes, name="scenes")
field.add_typer(field_index.app)


@field.command("import")
async def import_file(
    file: Annotated[
        Path,
        typer.Argument(help="JSON (object of id → fields, or list), CSV, vCard, a Markdown file, or a folder of them."),
    ],
    scene: Scene,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Import profiles into a scene. Creates the scene if it does not exist. Repeating it changes nothing.

    A field `consent` (ask, allow, never) applies to a new person, `language` (en, zh) to the profile.
    """
    from tongyao.field.profile_import import NotProfiles, import_profiles
    from tongyao.protocol.contracts.maintenance import ReindexInput
    from tongyao.runtime import wiring

    async with migrated_records() as (chosen, repositories):
        try:
            with counting(say("field.importing", scene=scene)) as progress:
                stores, most = (repositories.profiles, repositories.scenes), chosen.profile_max_chars
                report = await import_profiles(
                    *stores,
                    file,
                    scene=scene,
                    max_chars=most,
                    progress=progress,
                    consents=repositories.consents,
                    dry_run=dry_run,
                )
        except NotProfiles as error:
            fail(error.reason.zh if language() == "zh" else error.reason, EXIT_BAD_INPUT)
        indexer = wiring.intent_field(chosen, repositories).indexer
        live = [] if dry_run else [index.kind for index in await indexer.store.indexes(scene) if index.state == "live"]
        if not dry_run and "lexical" not in live and await indexer.store.people_count(scene) > LARGE:
            live.append("lexical")
        for kind in live:
            await fill_here(indexer, ReindexInput.model_validate({"scene": scene, "kind": kind}))
    counts = {"stored": report.stored, "new": report.new, "changed": report.changed}
    if as_json:
        print_json({"scene": scene, **counts, "refused": dict(report.refused)})
    else:
        for id, reason in report.refused:
            worded = reason.zh if language() == "zh" else reason
            tell("field.refused", to=errors, id=id, reason=worded)
        told = {**counts, "same": report.stored - report.new - report.changed, "refused": len(report.refused)}
        put(say("field.would_import" if dry_run else "field.imported", scene=scene, **told), whole=True)
    if report.refused and not report.stored:
        raise typer.Exit(EXIT_BAD_INPUT)


@field.command("list")
async def list_people(
    scene: Annotated[str, typer.Option("--scene", help="Only people of this scene. Default: all.")] = "",
    as_json: AsJson = False,
) -> None:
    """List people with their ids and facts about their profiles. No text and no name is shown."""
    rows: list[dict[str, Any]] = []
    async with migrated_records() as (_, repositories):
        known = [row.id for row in await repositories.scenes.all()]
        if scene and scene not in known:
            fail(say("field.no_scene", scene=repr(scene)), EXIT_BAD_INPUT)
        for name in [scene] if scene else known:
            rows += [
                {"id": row.profile_id, "scene": name, "version": row.version, "grade": row.grade,
                 "language": row.language, "characters": row.chars}
                for row in sorted(await repositories.profiles.of_scene(name), key=lambda row: row.profile_id)
            ]  # fmt: skip
    if as_json:
        print_json(rows)
        return
    widest = max((len(row["id"]) for row in rows), default=0)  # so that no id is cut
    columns = ("scene", "version", "grade", "language", "characters")
    named = [say(f"field.{name}") for name in columns]
    table = Table(Column(say("field.id"), min_width=widest, no_wrap=True), *named, box=None)
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row.values()))
    console.print(table if rows else Text(say("field.nobody")))


@field.command()
async def search(
    scene: Annotated[
        str, typer.Option("--scene", help="A scene id. With --near the default is the profile's own scene.")
    ] = "",
    text: Annotated[str | None, typer.Argument(help="A need in plain words.")] = None,
    needs: Annotated[
        Path | None,
        typer.Option(
            help='JSON lines, each with a text "need". Every perspective but relevance also reads an object "tension" in each line.'
        ),
    ] = None,
    near: Annotated[str | None, typer.Option(help=f"Finds people similar to this person. {PERSON}")] = None,
    top: Annotated[int, typer.Option(min=1, max=1000, help="The number of people per need.")] = 10,
    perspective: Annotated[
        Literal["relevance", "resonance", "complement", "interference"],
        typer.Option(help="relevance, resonance, complement, interference."),
    ] = "relevance",
    as_json: AsJson = False,
) -> None:
    """Find people similar to a need, best first, with the reasons. With --json one line per need."""
    from tongyao.commands.references import find_person
    from tongyao.records.people.scenes import SceneUnknown
    from tongyao.runtime import wiring

    if sum(given is not None for given in (text, needs, near)) != 1:
        fail(say("field.one_of_three"), EXIT_BAD_INPUT)
    if not scene and near is None:
        fail(say("field.which_scene"), EXIT_BAD_INPUT)
    if text is not None and not text.strip():
        fail(say("field.empty"), EXIT_BAD_INPUT)
    asked = read_lines(needs) if needs is not None else [{"need": text if text is not None else near}]

    async with migrated_records() as (chosen, repositories):
        finder = wiring.intent_field(chosen, repositories)
        try:
            if near is not None:
                near = await find_person(repositories, near)
                answers = [await finder.near_profile(near, top=top)]
            elif perspective == "relevance":
                answers = await finder.relevant([str(need["need"]) for need in asked], scene=scene, top=top)
            else:
                lists = [await finder.perspectives(_tension_of(need), scene=scene, top=top) for need in asked]
                answers = [found[perspective] for found in lists]
        except SceneUnknown:
            fail(say("field.no_scene_yet", scene=repr(scene)), EXIT_BAD_INPUT)
        if scene and not await repositories.profiles.anybody(scene):
            fail(say("field.nobody_in", scene=repr(scene), name=scene), EXIT_BAD_INPUT)
    for need, found in zip(asked, answers, strict=True):
        if as_json:
            line = {"need": need["need"], "results": [_result(person) for person in found]}
            typer.echo(json.dumps(line, ensure_ascii=False))
        else:
            console.print(_table(str(need["need"]), found))


@field.command()
async def stats(as_json: AsJson = False) -> None:
    """List scenes with the number of people and how they are searched."""
    from tongyao.field.index.indexer import REFIT_GROWTH
    from tongyao.field.index.store import IndexStore

    rows: list[dict[str, Any]] = []
    async with migrated_records() as (_, repositories):
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
                {"scene": scene.id, "profiles": len(versions), "characters": sum(version.chars for version in versions),
                 "indexes": indexes}
            )  # fmt: skip
    if as_json:
        print_json(rows)
        return
    shown = []
    for row in rows:
        searched = [
            f"{index['encoder']} {index['held']} {index['state']}{say('field.outgrown') if index['outgrown'] else ''}"
            for index in row["indexes"]
        ]
        how = "; ".join(searched) or say("field.in_memory" if row["profiles"] <= LARGE else "field.in_memory_slow")
        shown.append((row["scene"], row["profiles"], row["characters"], how))
    print_table([say(f"field.{name}") for name in ("scene", "profiles", "characters", "searched")], shown)


@field.command()
async def tune(
    scene: Scene,
    k: Annotated[int | None, typer.Option(help="The largest number of people that a discovery returns.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="The smallest score; 3 is one standard deviation above the mean.")
    ] = None,
    shares: Annotated[
        str | None, typer.Option(help="Shares of resonance,complement,interference, for example 2,1,2")
    ] = None,
) -> None:
    """Show or change the settings with which a scene is searched for people."""
    from tongyao.field.intent_field import SceneFieldSettings
    from tongyao.field.perspectives import PERSPECTIVES

    wished: dict[str, Any] = {name: given for name, given in (("k", k), ("threshold", threshold)) if given is not None}
    async with migrated_records() as (_, repositories):
        try:
            if shares is not None:
                wished["shares"] = dict(zip(PERSPECTIVES, map(float, shares.split(",")), strict=True))
        except ValueError:
            fail(say("field.three_numbers", given=repr(shares), names=",".join(PERSPECTIVES)), EXIT_BAD_INPUT)
        kept = await repositories.scenes.get(scene)
        chosen = validated(SceneFieldSettings, {**kept.settings.get("field", {}), **wished})
        if wished:
            await repositories.scenes.put(scene, kept.title, {**kept.settings, "field": chosen.model_dump()})
    print_json(chosen.model_dump())


@field.command()
async def delete(profile: Annotated[str, typer.Argument(help=PERSON, autocompletion=complete_person)]) -> None:
    """Remove a profile from its scene and from every index. Processes that use a version of the profile keep this version."""
    from tongyao.commands.references import find_person

    async with migrated_records() as (_, repositories):
        profile = await find_person(repositories, profile)
        await repositories.profiles.delete(profile)
    tell("field.deleted", profile=profile)


@scenes.command("load")
async def load_scenes(
    folder: Annotated[Path | None, typer.Option(help="Another folder of scenes.")] = None,
) -> None:
    """Load the four scenes with invented people that are included, with their titles and settings."""
    from tongyao.field.profile_import import import_profiles

    folder = folder or _included_scenes()
    found = sorted(folder.glob("*/scene.json"))
    if not found:
        fail(say("field.no_folder", folder=folder), EXIT_BAD_INPUT)
    async with migrated_records() as (_, repositories):
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
            tell("field.loaded", scene=scene["id"], new=report.new, all=report.stored, refused=len(report.refused))


def _included_scenes() -> Path:
    """Return the folder of the sample scenes, in the installed package or in the checkout."""
    package = Path(__file__).resolve().parents[1]
    return next(
        (folder for folder in (package / "sample_scenes", package.parent / "scenes") if folder.is_dir()), package
    )


def _result(found: Match) -> dict[str, Any]:
    return {"id": found.profile_id, "score": found.score, "perspective": found.perspective, "reasons": found.reasons}


def _table(need: str, found: list[Match]) -> Table:
    from tongyao.protocol.model.sizes import shortened

    named = [say(f"field.{name}") for name in ("profile", "score", "part", "side", "characters")]
    table = Table("", *named, title=shortened(need, 30), box=None)
    for rank, match in enumerate(found, 1):
        for reason in match.reasons[:1] or [{}]:
            where = f"{reason['start']}-{reason['end']}" if reason else ""
            table.add_row(
                str(rank),
                match.profile_id,
                f"{match.score:.2f}",
                reason.get("part", ""),
                reason.get("facet", ""),
                where,
            )
    return table


def _tension_of(need: dict[str, Any]) -> Tension:
    """Return the tension of a line. Exits if there is none."""
    from tongyao.protocol.model.tension import Tension

    if not isinstance(need.get("tension"), dict):
        fail(say("field.no_tension"), EXIT_BAD_INPUT)
    return Tension.model_validate(need["tension"])
