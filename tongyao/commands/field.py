"""`field`: who is in a scene, and who in it is near a need. How well that works: `field_index`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tongyao.commands import field_index
from tongyao.commands.field_index import AsJson, Scene
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, fail, run

app = typer.Typer(help="The intent field: people, and who is near a need.", no_args_is_help=True)

scenes_app = typer.Typer(help="The scenes that come with Tongyao.", no_args_is_help=True)

app.add_typer(scenes_app, name="scenes")

field_index.add_to(app)


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="field")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="JSON (object of id → fields, or list), CSV, folder of Markdown.")],
    scene: Scene,
    as_json: AsJson = False,
) -> None:
    """Bring profiles into a scene, which is made when missing. Repeating it changes nothing."""
    from tongyao.commands.actions import field as actions

    run(actions.import_file(file, scene, as_json))


@app.command("list")
def list_people(
    scene: Annotated[str, typer.Option("--scene", help="Only of this scene; of all by default.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the people: their ids, and what is known of their profiles. No text and no name is shown."""
    from tongyao.commands.actions import field as actions

    run(actions.list_people(scene, as_json))


@app.command()
def search(
    scene: Annotated[str, typer.Option("--scene", help="The scene's id; with --near it is the profile's own.")] = "",
    text: Annotated[str | None, typer.Argument(help="A need in plain words.")] = None,
    needs: Annotated[Path | None, typer.Option(help='JSON lines, each {"need": …}, or with "tension".')] = None,
    near: Annotated[str | None, typer.Option(help="A profile's id: who is near this person?")] = None,
    top: Annotated[int, typer.Option(min=1, max=1000, help="People per need.")] = 10,
    perspective: Annotated[str, typer.Option(help="relevance, resonance, complement, interference.")] = "relevance",
    as_json: AsJson = False,
) -> None:
    """Who is near a need, best first, and why. With --json one line per need."""
    from tongyao.commands.actions import field as actions
    from tongyao.commands.actions.field_index import read_lines

    if sum(one is not None for one in (text, needs, near)) != 1:
        fail("give a text, or --needs FILE, or --near PROFILE", EXIT_BAD_INPUT)
    if not scene and near is None:
        fail("say in which scene: --scene ID (`tongyao field stats` lists them)", EXIT_BAD_INPUT)
    if text is not None and not text.strip():
        fail("the text is empty: write what is needed", EXIT_BAD_INPUT)
    if perspective not in ("relevance", "resonance", "complement", "interference"):
        fail(f"--perspective {perspective!r}: one of relevance, resonance, complement, interference", EXIT_BAD_INPUT)
    asked = read_lines(needs) if needs is not None else [{"need": text if text is not None else near}]
    run(actions.search(asked, scene, near, top, perspective, as_json))


@app.command()
def stats(as_json: AsJson = False) -> None:
    """Scenes, how many people are in each, and how they are searched."""
    from tongyao.commands.actions import field as actions

    run(actions.stats(as_json))


@app.command()
def tune(
    scene: Scene,
    k: Annotated[int | None, typer.Option(help="People of a discovery, at most.")] = None,
    threshold: Annotated[float | None, typer.Option(help="The least score; 3 is one standard deviation.")] = None,
    shares: Annotated[str | None, typer.Option(help="resonance,complement,interference: 2,1,2")] = None,
) -> None:
    """The scene's settings of discovery: shown, or set."""
    from tongyao.commands.actions import field as actions

    run(actions.tune(scene, k, threshold, shares))


@app.command()
def delete(profile: Annotated[str, typer.Argument(help="The profile's id.")]) -> None:
    """Take a profile out of its scene and out of every index. Processes keep the versions they froze."""
    from tongyao.commands.actions import field as actions

    run(actions.delete(profile))


@scenes_app.command("load")
def load_scenes(
    folder: Annotated[Path, typer.Option(help="The folder of scenes.")] = Path("scenes"),
) -> None:
    """Load the four scenes, with their titles and settings."""
    from tongyao.commands.actions import field as actions

    run(actions.load(folder))
