"""Searches people near a raw text, a tension, or the caller's profile. The results are cards without texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from pydantic import Field, model_validator

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_for_profile, permit
from tongyao.app.context import AppContext, FoundPerson, PeopleSearch
from tongyao.app.errors import ADD_PEOPLE, BadInput, NotOffered
from tongyao.app.messaging.body_conversion import tension_of
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.messages import TensionBody
from tongyao.protocol.model.value import Body, Value
from tongyao.protocol.rules.consent import Consent
from tongyao.records.people.profiles import ProfileVersion


class SearchBody(Body):
    """The query of a search: exactly one of the three fields."""

    text: str = Field(default="", max_length=5_000, description="A need in plain words: people by relevance.")
    tension: TensionBody | None = Field(default=None, description="Formulated: people from three perspectives.")
    profile_id: Id | None = Field(default=None, description="Your own profile: people by relevance to it.")
    limit: int = Field(default=20, ge=1, le=100, description="People, of each perspective.")

    @model_validator(mode="after")
    def _one(self) -> SearchBody:
        if bool(self.text.strip()) + (self.tension is not None) + (self.profile_id is not None) != 1:
            raise ValueError("give one of `text`, `tension`, `profile_id`")
        return self


class MatchReason(Value):
    """`part` of the query (T, I, B1 …, E, or need) matches this facet of the person."""

    part: str
    facet: str
    score: float


class Card(Value):
    """The public data of a person in a scene. It has no text, and a name only if the scene shows names.

    `score` and `reasons` are None for people who do not allow their proxy in this scene.
    """

    profile_id: str
    language: str
    grade: str
    name: str | None = None
    perspective: Literal["relevance", "resonance", "complement", "interference"] | None = None
    score: float | None = None
    reasons: tuple[MatchReason, ...] | None = None


async def list_people(
    context: AppContext, caller: Caller, scene: str, *, limit: int = 50, after: str = ""
) -> list[Card]:
    """Return the cards of a scene after the id `after`, ordered by id. Raises `SceneUnknown`."""
    permit(caller, Action.LIST_PEOPLE)
    profiles = context.repositories.profiles
    await context.repositories.scenes.get(scene)
    return await _shown(context, scene, await profiles.page_of_scene(scene, after=after, limit=limit))


async def search_people(context: AppContext, caller: Caller, scene: str, body: SearchBody) -> list[Card]:
    """Return the people near the query, best first within each perspective, without the caller.

    Raises `SceneUnknown`; `NotFound` for a profile that is not the caller's; `NotOffered` if there is no field.
    """
    permit(caller, Action.SEARCH_PEOPLE)
    if context.people_search is None:
        raise NotOffered("no_field", "this gateway cannot look for people; start a process instead")
    await context.repositories.scenes.get(scene)
    if not await context.repositories.profiles.anybody(scene):
        raise BadInput("empty_scene", f"nobody is in scene {scene!r} yet: {ADD_PEOPLE}", field="scene")
    found = await _found(context, context.people_search, caller, scene, body)
    ids = sorted({person.profile_id for perspective in found for person in perspective})
    people = {profile.profile_id: profile for profile in await context.repositories.profiles.some_of_scene(scene, ids)}
    standing = await context.repositories.consents.standing(ids, scene)
    allow = {id for id, consent in standing.items() if consent.consent is Consent.ALLOW}
    return [card for person in found for card in await _cards_of(context, scene, people, person, allow)]


async def _found(
    context: AppContext, search: PeopleSearch, caller: Caller, scene: str, body: SearchBody
) -> Sequence[Sequence[FoundPerson]]:
    excluded, top = [caller.person] if caller.person else [], body.limit
    if body.tension is not None:
        tension = tension_of(body.tension)
        return list((await search.perspectives(tension, scene=scene, top=top, excluded=excluded)).values())
    if body.profile_id is None:
        return await search.relevant([body.text], scene=scene, top=top, excluded=excluded)
    authorize_for_profile(caller, body.profile_id, Action.READ_PROFILE)
    if (await context.repositories.profiles.get(body.profile_id)).scene_id != scene:
        raise BadInput("another_scene", f"{body.profile_id} is not in scene {scene}", field="profile_id")
    return [await search.near_profile(body.profile_id, top=top)]


async def _cards_of(
    context: AppContext,
    scene: str,
    people: dict[str, ProfileVersion],
    found: Sequence[FoundPerson],
    allow: Collection[str],
) -> list[Card]:
    """Make cards of the found people. For people who do not `allow` their proxy in this scene, score and reasons are
    left out, because they would reveal content of the profile."""
    there = [person for person in found if person.profile_id in people]
    shown = await _shown(context, scene, [people[person.profile_id] for person in there])
    return [
        card.model_copy(
            update={
                "perspective": found_person.perspective,
                **(_match(found_person) if found_person.profile_id in allow else {}),
            }
        )
        for card, found_person in zip(shown, there, strict=True)
    ]


def _match(found: FoundPerson) -> dict[str, object]:
    """Return the score of a match, and the matching facets of the person."""
    return {
        "score": found.score,
        "reasons": tuple(MatchReason.model_validate(_labels(reason)) for reason in found.reasons),
    }


def _labels(reason: dict[str, object]) -> dict[str, object]:
    return {name: reason[name] for name in MatchReason.model_fields}


async def _shown(context: AppContext, scene: str, versions: Sequence[ProfileVersion]) -> list[Card]:
    public = (await context.repositories.scenes.get(scene)).settings.get("public", [])
    ids = [version.profile_id for version in versions]
    names = await context.repositories.profiles.get_many(ids) if "name" in public else {}
    return [
        Card(
            profile_id=version.profile_id,
            language=version.language,
            grade=version.grade,
            name=(names[version.profile_id].display_name or None) if version.profile_id in names else None,
        )
        for version in versions
    ]
