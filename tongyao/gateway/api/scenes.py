"""Scenes, and the public cards of the people in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import permit
from tongyao.app.people import scenes, search
from tongyao.gateway.api.common import Caller, Context, rate_limits_of
from tongyao.protocol.model.ids import Id

router = APIRouter(prefix="/scenes", tags=["scenes"])


@router.get("")
async def list_scenes(context: Context, caller: Caller) -> list[scenes.SceneView]:
    """All scenes. A scene is a collection of people. The search for participants stays within one scene."""
    permit(caller, Action.LIST_SCENES)
    return await scenes.list_scenes(context)


@router.put("/{scene}")
async def write_scene(scene: Id, body: scenes.SceneBody, context: Context, caller: Caller) -> scenes.SceneView:
    """Create a scene, or change its title and the public data of its people. For operators."""
    return await scenes.write_scene(context, caller, scene, body)


@router.get("/{scene}/people", response_model_exclude_none=True)
async def list_people(
    scene: Id,
    context: Context,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: Annotated[str, Query(max_length=200, description="The last id of the previous page.")] = "",
) -> list[search.Card]:
    """The people of a scene with their public data: an opaque id, language, grade, and if the scene allows it, name."""
    return await search.list_people(context, caller, scene, limit=limit, after=after)


@router.post("/{scene}/search", response_model_exclude_none=True)
async def search_people(
    scene: Id, body: search.SearchBody, request: Request, context: Context, caller: Caller
) -> list[search.Card]:
    """Search people who match a text, a tension or your profile, with reasons. It changes nothing and takes no key."""
    await rate_limits_of(request).count_search(caller)
    return await search.search_people(context, caller, scene, body)
