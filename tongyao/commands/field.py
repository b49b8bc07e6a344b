"""`field`: who is in a scene, and who in it is near a need. How well that works: `field_index`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tongyao.commands import field_index
from tongyao.commands.field_index import AsJson, Scene
from tongyao.commands.shared.options import PERSON, complete_person
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, fail, run
from tongyao.commands.shared.words import say

app = typer.Typer(help="The search for people: import, search and index scenes.", no_args_is_help=True)

scenes_app = typer.Typer(help="The sample scenes that are included.", no_args_is_help=True)

app.add_typer(scenes_app, name="scenes")

field_index.add_to(app)


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="field")


@app.command("import")
def import_file(
    file: Annotated[
        Path, typer.Argument(help="JSON (object of id → fields, or list), CSV, a Markdown file, or a folder of them.")
    ],
    scene: Scene,
    as_json: AsJson = False,
) -> None:
    """Import profiles into a scene. Creates the scene if it does not exist. Repeating it changes nothing."""
    from tongyao.commands.actions import field as actions

    run(actions.import_file(file, scene, as_json))


@app.command("list")
def list_people(
    scene: Annotated[str, typer.Option("--scene", help="Only people of this scene. Default: all.")] = "",
    as_json: AsJson = False,
) -> None:
    """List people with their ids and what is known of their profiles. No text and no name is shown."""
    from tongyao.commands.actions import field as actions

    run(actions.list_people(scene, as_json))


@app.command()
def search(
    scene: Annotated[
        str, typer.Option("--scene", help="A scene id. With --near the default is the profile's own scene.")
    ] = "",
    text: Annotated[str | None, typer.Argument(help="A need in plain words.")] = None,
    needs: Annotated[Path | None, typer.Option(help='JSON lines, each {"need": …}, or with "tension".')] = None,
    near: Annotated[str | None, typer.Option(help=f"Finds people near this person. {PERSON}")] = None,
    top: Annotated[int, typer.Option(min=1, max=1000, help="The number of people per need.")] = 10,
    perspective: Annotated[str, typer.Option(help="relevance, resonance, complement, interference.")] = "relevance",
    as_json: AsJson = False,
) -> None:
    """Find people near a need, best first, with the reasons. With --json one line per need."""
    from tongyao.commands.actions import field as actions
    from tongyao.commands.actions.field_index import read_lines

    if sum(one is not None for one in (text, needs, near)) != 1:
        fail(say("field.one_of_three"), EXIT_BAD_INPUT)
    if not scene and near is None:
        fail(say("field.which_scene"), EXIT_BAD_INPUT)
    if text is not None and not text.strip():
        fail(say("field.empty"), EXIT_BAD_INPUT)
    if perspective not in ("relevance", "resonance", "complement", "interference"):
        fail(say("field.no_perspective", given=repr(perspective)), EXIT_BAD_INPUT)
    asked = read_lines(needs) if needs is not None else [{"need": text if text is not None else near}]
    run(actions.search(asked, scene, near, top, perspective, as_json))


@app.command()
def stats(as_json: AsJson = False) -> None:
    """List scenes with the number of people and how they are searched."""
    from tongyao.commands.actions import field as actions

    run(actions.stats(as_json))


@app.command()
def tune(
    scene: Scene,
    k: Annotated[int | None, typer.Option(help="The largest number of people that a discovery returns.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="The smallest score; 3 is one standard deviation above the mean.")
    ] = None,
    shares: Annotated[
        str | None, typer.Option(help="Shares of resonance,complement,interference, for example 2,1,2")
    ] = None,
) -> None:
    """Show or change a scene's settings of discovery."""
    from tongyao.commands.actions import field as actions

    run(actions.tune(scene, k, threshold, shares))


@app.command()
def delete(profile: Annotated[str, typer.Argument(help=PERSON, autocompletion=complete_person)]) -> None:
    """Remove a profile from its scene and from every index. Processes keep the versions they froze."""
    from tongyao.commands.actions import field as actions

    run(actions.delete(profile))


@scenes_app.command("load")
def load_scenes(
    folder: Annotated[Path | None, typer.Option(help="Another folder of scenes.")] = None,
) -> None:
    """Load the four scenes with invented people that are included, with their titles and settings."""
    from tongyao.commands.actions import field as actions

    run(actions.load(folder or actions.included_scenes()))
