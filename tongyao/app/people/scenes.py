"""Scenes: their titles, and the public data of their people."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext
from tongyao.app.writing import writing
from tongyao.protocol.model.value import Body, Value
from tongyao.records.people.scenes import SceneRow, SceneUnknown

Public = tuple[Literal["name"], ...]


Titles = dict[Literal["en", "zh"], Annotated[str, Field(min_length=1, max_length=200)]]


class SceneBody(Body):
    title: str = Field(min_length=1, max_length=200)
    titles: Titles = Field(
        default={}, description="The title by language, if it differs. If left out: `title` in all languages."
    )
    public: Public | None = Field(
        default=None,
        max_length=5,
        description='The data of people that cards show: `["name"]` or `[]`. If left out: no change; at first `[]`.',
    )


class SceneView(Value):
    """A scene. `titles`: by language, else `title` is used. `public`: data on cards besides id, language, grade."""

    id: str
    title: str
    titles: Titles
    public: tuple[str, ...]
    sample: bool = Field(
        default=False, description="Its people are invented: it came with the program, to try things out."
    )
    sample_intents: tuple[dict[str, str], ...] = Field(default=(), description="Examples of requests, by language.")


async def list_scenes(context: AppContext) -> list[SceneView]:
    """Return all scenes, ordered by id."""
    return [_view(scene) for scene in await context.repositories.scenes.all()]


async def write_scene(context: AppContext, caller: Caller, id: str, body: SceneBody) -> SceneView:
    """Create a scene, or change its title and its public data. Other settings are kept. Raises `NotAllowed`."""
    permit(caller, Action.WRITE_SCENE)
    scenes = context.repositories.scenes
    try:
        settings = {**(await scenes.get(id)).settings, "titles": body.titles}
    except SceneUnknown:
        settings = {"titles": body.titles}
    if body.public is not None:
        settings["public"] = list(body.public)
    async with writing(context.repositories, caller):
        await scenes.put(id, body.title, settings)
    return _view(await scenes.get(id))


def _view(scene: SceneRow) -> SceneView:
    settings = scene.settings
    return SceneView(
        id=scene.id,
        title=scene.title,
        titles=settings.get("titles", {}),
        public=tuple(settings.get("public", ())),
        sample=bool(settings.get("sample")),
        sample_intents=tuple(settings.get("sample_intents", ())),
    )
