"""Looking for people: near a raw text, a tension, or one's own profile. What is found are cards, never texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from tongyao.app.authorization import Caller, permit, towards_profile
from tongyao.app.context import Found, Gateway, Search
from tongyao.app.errors import PEOPLE
from tongyao.app.permissions import Action
from tongyao.app.problems import Problem
from tongyao.app.wire import Given, Id, TensionGiven
from tongyao.protocol.model.value import Value
from tongyao.records.people.profiles import ProfileVersion


class Sought(Given):
    """What to look near: exactly one of the three."""

    text: str = Field(default="", max_length=5_000, description="A need in plain words: people by relevance.")
    tension: TensionGiven | None = Field(default=None, description="Formulated: people from three perspectives.")
    profile_id: Id | None = Field(default=None, description="Your own profile: people by relevance to it.")
    limit: int = Field(default=20, ge=1, le=100, description="People, of each perspective.")

    @model_validator(mode="after")
    def _one(self) -> Sought:
        if bool(self.text.strip()) + (self.tension is not None) + (self.profile_id is not None) != 1:
            raise ValueError("say one of `text`, `tension`, `profile_id`")
        return self


class Reason(Value):
    """`part` of what was sought (T, I, B1 …, E, or need) meets this side of the person."""

    part: str
    facet: str
    score: float


class Card(Value):
    """What is public of a person in a scene: never their text; the name only where the scene says so."""

    profile_id: str
    language: str
    grade: str
    name: str | None = None
    perspective: Literal["relevance", "resonance", "complement", "interference"] | None = None
    score: float | None = None
    reasons: tuple[Reason, ...] | None = None


async def cards(gateway: Gateway, caller: Caller, scene: str, *, limit: int = 50, after: str = "") -> list[Card]:
    """The public cards of a scene in the order of ids, those behind `after`. Raises `SceneUnknown`."""
    permit(caller, Action.LIST_PEOPLE)
    people = await _of_scene(gateway, scene)
    return await _shown(gateway, scene, [people[one] for one in sorted(people) if one > after][:limit])


async def search(gateway: Gateway, caller: Caller, scene: str, sought: Sought) -> list[Card]:
    """The people near what is sought, best first within each perspective; oneself left out.

    Raises `SceneUnknown`; `NotFound` for a profile that is not the caller's; `Problem` where there is no field.
    """
    permit(caller, Action.SEARCH_PEOPLE)
    if gateway.search is None:
        raise Problem("no_field", "this gateway cannot look for people; start a process instead", status=501)
    people = await _of_scene(gateway, scene)
    if not people:
        raise Problem("empty_scene", f"nobody is in scene {scene!r} yet: {PEOPLE}", status=422, field="scene")
    found = await _found(gateway, gateway.search, caller, scene, sought)
    return [card for one in found for card in await _cards_of(gateway, scene, people, one)]


async def _found(
    gateway: Gateway, search: Search, caller: Caller, scene: str, sought: Sought
) -> Sequence[Sequence[Found]]:
    excluded, top = [caller.person] if caller.person else [], sought.limit
    if sought.tension is not None:
        tension = sought.tension.tension()
        return list((await search.perspectives(tension, scene=scene, top=top, excluded=excluded)).values())
    if sought.profile_id is None:
        return await search.relevant([sought.text], scene=scene, top=top, excluded=excluded)
    towards_profile(caller, sought.profile_id, Action.READ_PROFILE)
    if (await gateway.library.profiles.get(sought.profile_id)).scene_id != scene:
        raise Problem("another_scene", f"{sought.profile_id} is not in scene {scene}", status=422, field="profile_id")
    return [await search.near_profile(sought.profile_id, top=top)]


async def _of_scene(gateway: Gateway, scene: str) -> dict[str, ProfileVersion]:
    await gateway.library.profiles.scene(scene)
    return {one.profile_id: one for one in await gateway.library.profiles.of_scene(scene)}


async def _cards_of(
    gateway: Gateway, scene: str, people: dict[str, ProfileVersion], found: Sequence[Found]
) -> list[Card]:
    there = [one for one in found if one.profile_id in people]
    shown = await _shown(gateway, scene, [people[one.profile_id] for one in there])
    return [
        card.model_copy(
            update={
                "perspective": one.perspective,
                "score": one.score,
                "reasons": tuple(Reason.model_validate(_labels(reason)) for reason in one.reasons),
            }
        )
        for card, one in zip(shown, there, strict=True)
    ]


def _labels(reason: dict[str, object]) -> dict[str, object]:
    return {name: reason[name] for name in Reason.model_fields}


async def _shown(gateway: Gateway, scene: str, versions: Sequence[ProfileVersion]) -> list[Card]:
    public = (await gateway.library.profiles.scene(scene)).settings.get("public", [])
    ids = [one.profile_id for one in versions]
    names = await gateway.library.profiles.get_many(ids) if "name" in public else {}
    return [
        Card(
            profile_id=one.profile_id,
            language=one.language,
            grade=one.grade,
            name=names[one.profile_id].display_name if one.profile_id in names else None,
        )
        for one in versions
    ]
