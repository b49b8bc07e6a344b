"""Registration, profiles and mandates."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID, uuid5

import structlog
from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_for_profile, authorize_in_process, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotAllowed, NotFound
from tongyao.app.messaging.body_conversion import checked_key
from tongyao.app.notifications.channels import Email, send_code
from tongyao.app.notifications.notifier import NotSent
from tongyao.app.people.acting import tell_acted_for
from tongyao.app.people.profile_versions import checked_name, register_profile
from tongyao.app.quotas import check_profile, check_storage
from tongyao.app.writing import writing
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.messages import Author, SetMandate
from tongyao.protocol.model.projection import Projection
from tongyao.protocol.model.record import EarlierAnswer
from tongyao.protocol.model.requests import Mandate
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.model.value import Body, Value
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.consent import Origin
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.repositories import Repositories

log = structlog.get_logger()

_NAMESPACE = UUID("0d4f7c52-4c36-5d0e-9d36-7c1b1a2f6e60")
MAX_PROFILE = 2_000_000
SECRET_KEY_CHARS = 22
"""Number of characters from which a random key counts as secret. A UUID has 32 or 36."""
Line = Annotated[str, Field(max_length=500)]


class RegisterBody(Body):
    """A registration: a person in their own words. With a mail address, they are notified of open asks."""

    scene: Id = Field(description="The id of a scene, as `scenes` lists it.")
    name: str = Field(min_length=1, max_length=200, description="The name that you go by.")
    text: str = Field(
        min_length=1,
        max_length=MAX_PROFILE,
        description="Your profile: who you are, what you can do, have and look for.",
    )
    email: Email | None = Field(default=None, description="For notifications; a code is sent there first.")


class Registered(Value):
    """A new profile. `token` is shown only once. A repeated request returns the same profile, but no used token."""

    profile_id: str
    version: int
    grade: str
    token: str | None
    note: str = ""


class ProfileBody(Body):
    scene: Id | None = Field(default=None, description="Only if the profile is new.")
    name: str | None = Field(default=None, min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=MAX_PROFILE)


class ProfileView(Value):
    """A profile with the data of its current version. Only its owner reads `text`."""

    id: str
    scene: str
    name: str
    version: int
    grade: str
    language: str
    chars: int
    created_at: datetime
    text: str | None = None


class VersionView(Value):
    version: int
    grade: str
    language: str
    chars: int
    created_at: datetime


class MandateBody(Body):
    """The orders to your proxy: whether it may speak, its topics, and phrases that it must not disclose. They apply
    from the next call on."""

    may_speak: bool = True
    topics: tuple[Line, ...] = Field(default=(), max_length=100)
    never: tuple[Line, ...] = Field(default=(), max_length=100)
    addition: str = Field(default="", max_length=2_000)
    answerers: tuple[Line, ...] = Field(
        default=(),
        max_length=20,
        description="Names of answerers of model calls who may read your profile and also other profiles (docs/models.md).",
    )


async def register(
    context: AppContext, caller: Caller, body: RegisterBody, *, key: str | None, origin: Origin
) -> Registered:
    """Store a new profile and issue its owner's token. It never returns an existing profile for a known mail address.

    A repetition with the same key and input is the same registration. If the first token was not used, the repetition
    revokes that token and issues another, because the first response may have been lost. Only the owner of the key may
    receive the token, so the key must be too long to guess.
    """
    permit(caller, Action.JOIN)
    if not context.registration_open and not caller.operator:
        raise NotAllowed("registration is not open here: ask an operator of this installation")
    name = checked_name(body.name)
    content = json.dumps([body.scene, body.name, body.text, body.email], ensure_ascii=False)
    profile_id = f"p-{uuid5(_NAMESPACE, checked_key(key) + hashlib.sha256(content.encode()).hexdigest()).hex[:20]}"
    known = await context.repositories.tokens.list(person=profile_id)
    contact = {"email": body.email} if body.email else None
    version = await register_profile(
        context,
        profile_id,
        scene=body.scene,
        name=name,
        text=body.text,
        contact=contact,
        origin=origin,
        caller=caller,
    )
    used = any(token.used_at is not None for token in known)
    if used or (known and len(checked_key(key)) < SECRET_KEY_CHARS):
        why = "its token has been used" if used else f"its key has fewer than {SECRET_KEY_CHARS} characters"
        return Registered(
            profile_id=profile_id,
            version=version.version,
            grade=version.grade,
            token=None,
            note=f"registered before; {why}, and the token is not shown again",
        )
    if body.email is not None:
        await _offer_mail(context, caller, profile_id, body.email, version.language)
    days = context.options.token_days
    async with writing(context.repositories, caller, profile_id):
        await context.repositories.tokens.revoke_all(profile_id)
        issued = await context.repositories.tokens.issue(
            "person", person=profile_id, label="owner", lasts=timedelta(days=days) if days else None
        )
    note = "keep the token: it is shown this once"
    if version.grade == Grade.C:
        note += (
            ". Grade C: the text says little about your situation, or about what you want to change. You are found by this text, "
            "so write more (`PUT /profiles/{id}`)"
        )
    return Registered(
        profile_id=profile_id, version=version.version, grade=version.grade, token=issued.secret, note=note
    )


async def _offer_mail(context: AppContext, caller: Caller, profile_id: str, address: str, language: str) -> None:
    """Send a confirmation code if this installation sends mail. An unreachable mail server is no failure."""
    if "mail" in context.notifiers and not await context.repositories.notifications.channels(profile_id):
        try:
            await send_code(context, caller, profile_id, address, language=language)
        except NotSent as failed:
            log.warning("code not sent", profile=profile_id, why=str(failed))


async def people_by_scene(context: AppContext) -> dict[str, int]:
    """Return the number of people of each scene, by its id. Empty scenes are left out."""
    return await context.repositories.scenes.people()


async def read_profile(context: AppContext, caller: Caller, profile_id: str) -> ProfileView:
    authorize_for_profile(caller, profile_id, Action.READ_PROFILE)
    profile = await context.repositories.profiles.get(profile_id)
    version = await context.repositories.profiles.version(profile_id)
    text = None if caller.operator else await context.repositories.texts.get(version.text_id)
    return ProfileView(
        id=profile.id,
        scene=profile.scene_id,
        name=profile.display_name,
        version=version.version,
        grade=version.grade,
        language=version.language,
        chars=version.chars,
        created_at=profile.created_at,
        text=text,
    )


async def list_versions(context: AppContext, caller: Caller, profile_id: str) -> list[VersionView]:
    """Return all versions, oldest first."""
    authorize_for_profile(caller, profile_id, Action.READ_PROFILE)
    return [version_view(version) for version in await _all_versions(context, profile_id)]


async def write_profile(context: AppContext, caller: Caller, profile_id: str, body: ProfileBody) -> VersionView:
    """Store a new version of the caller's profile. On the machine an operator may also create one under a chosen id."""
    authorize_for_profile(caller, profile_id, Action.WRITE_PROFILE)
    known = await context.repositories.profiles.get_many([profile_id])
    old = known.get(profile_id)
    if old is None and body.scene is None:
        raise NotFound("no_such_profile", f"there is no profile {profile_id!r}; to make one, name its `scene`")
    if old is not None and body.scene not in (None, old.scene_id):
        raise BadInput(
            "scene_fixed", f"{profile_id} is in scene {old.scene_id}; a profile cannot move to another scene"
        )
    scene = old.scene_id if old else body.scene
    assert scene is not None
    await check_profile(context, caller, profile_id, chars=len(body.text))  # before the expensive analysis of the text
    await tell_acted_for(context, caller, profile_id, "profile_written")
    name = checked_name(body.name) if body.name else old.display_name if old else ""
    return version_view(
        await register_profile(
            context,
            profile_id,
            scene=scene,
            name=name,
            text=body.text,
            contact=old.contact if old else None,
            caller=caller,
        )
    )


class SaidIn(Value):
    """The words said for a person in one process, the profile version used, and the person's answers to plans."""

    version: int | None
    turns: tuple[Projection, ...]
    answers: tuple[EarlierAnswer, ...] = ()


async def said_for(context: AppContext, caller: Caller, profile_id: str) -> dict[str, SaidIn]:
    """Return the words said for a person, by process, newest first."""
    authorize_for_profile(caller, profile_id, Action.READ_PROFILE_TEXT)
    repositories = context.repositories
    found: dict[str, SaidIn] = {}
    async for row in repositories.processes.every(participant=profile_id):
        seat = next(one for one in await repositories.seats.seats(row.id) if one.person == profile_id)
        record = await repositories.record(row.id, own=[seat.alias], turns_of=[seat.alias])
        own = read_access.own_words(record, seat.alias)
        answers = await _answers_of(repositories, row.id, seat.alias)
        found[row.id] = SaidIn(version=seat.profile_version, turns=own, answers=answers)
    return found


async def _answers_of(repositories: Repositories, process_id: str, alias: str) -> tuple[EarlierAnswer, ...]:
    """Return a person's answers to each plan of a process, as they wrote them."""
    rows = [answer for answer in await repositories.plans.answers(process_id) if answer.alias == alias]
    texts = await repositories.texts.get_many([row.text_id for row in rows if row.text_id], erased="")
    return tuple(
        EarlierAnswer(revision=row.revision, alias=alias, decision=row.decision, words=texts.get(row.text_id or "", ""))
        for row in rows
    )


async def read_version(context: AppContext, caller: Caller, profile_id: str, version: int | None) -> str:
    """Return the text of one version of the caller's own profile. Empty if there is none, or if it was erased."""
    authorize_for_profile(caller, profile_id, Action.READ_PROFILE_TEXT)
    if version is None:
        return ""
    text_id = (await context.repositories.profiles.version(profile_id, version)).text_id
    return (await context.repositories.texts.get_many([text_id], erased=""))[text_id]


async def export_profile(context: AppContext, caller: Caller, profile_id: str) -> dict[str, Any]:
    """Return all stored data of a person: the texts of all versions, the mandate, the words said for them, their
    answers to plans, their contacts, and their intents."""
    authorize_for_profile(caller, profile_id, Action.READ_PROFILE_TEXT)
    repositories = context.repositories
    profile = await repositories.profiles.get(profile_id)
    kept = await _all_versions(context, profile_id)
    texts: dict[str, str] = {}
    for version in kept:  # one by one, because each may have two million characters; other requests run in between
        texts |= await repositories.texts.get_many([version.text_id], erased="[erased]")
    said = await said_for(context, caller, profile_id)
    return {
        "profile": {
            "id": profile.id,
            "scene": profile.scene_id,
            "name": profile.display_name,
            "contact": profile.contact,
        },
        "versions": [
            {**version_view(version).model_dump(mode="json"), "text": texts[version.text_id]} for version in kept
        ],
        "mandate": (await repositories.mandate(profile_id)).model_dump(mode="json"),
        "origin": profile.origin.value,
        "consents": [consent.model_dump(mode="json") for consent in await repositories.consents.of_person(profile_id)],
        "channels": [
            channel.model_dump(exclude={"secret"}) for channel in await repositories.notifications.channels(profile_id)
        ],
        "sign_ins": [
            link.model_dump(mode="json", include={"issuer", "account", "created_at"})
            for link in await repositories.openid_links.of_person(profile_id)
        ],
        "said": {pid: [turn.model_dump(mode="json") for turn in found.turns] for pid, found in said.items()},
        "answers": {
            pid: [answer.model_dump(mode="json") for answer in found.answers]
            for pid, found in said.items()
            if found.answers
        },
        "contacts": await repositories.contacts.of_person(profile_id),
        "asked_for": await _intents_of(context, profile_id),
    }


async def _intents_of(context: AppContext, profile_id: str) -> dict[str, str]:
    """Return the intents of a person, by process, newest first; empty if erased."""
    repositories = context.repositories
    processes = repositories.processes.every(demander=profile_id)
    wanted = {row.id: row.intent_text_id async for row in processes if row.intent_text_id}
    texts = await repositories.texts.get_many(list(wanted.values()), erased="")
    return {pid: texts[text_id] for pid, text_id in wanted.items()}


async def read_mandate(context: AppContext, caller: Caller, profile_id: str) -> Mandate:
    authorize_for_profile(caller, profile_id, Action.MANDATE)
    await context.repositories.profiles.get(profile_id)
    return await context.repositories.mandate(profile_id)


async def set_mandate(context: AppContext, caller: Caller, profile_id: str, body: MandateBody) -> Mandate:
    """Replace the mandate, and report the change to the person's open processes. It applies from the next call on."""
    authorize_for_profile(caller, profile_id, Action.MANDATE)
    repositories = context.repositories
    await repositories.profiles.get(profile_id)
    content = json.dumps(body.model_dump(exclude={"may_speak"}), ensure_ascii=False, sort_keys=True)
    async with writing(repositories, caller, profile_id):
        await check_storage(context, caller, profile_id, chars=len(content))
        text_id = await repositories.texts.put(profile_id, "mandate", content)
        await repositories.mandate_rows.put(
            profile_id, may_speak=body.may_speak, text_id=text_id, answerers=body.answerers
        )
    async for row in repositories.processes.every(participant=profile_id, open=True):
        await _note_mandate(context, caller, row.id, text_id)
    return await repositories.mandate(profile_id)


async def _note_mandate(context: AppContext, caller: Caller, process_id: str, key: str) -> None:
    """Send `set_mandate` to the process. The mandate applies whether or not the process accepts the message."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.SEND_MESSAGE)
    author = Author(role="participant", alias=access.alias)
    message = SetMandate(key=f"mandate-{key}", author=author, alias=access.alias)
    async with writing(context.repositories, caller):
        stored = await context.relay.store(process_id, message, author_id=access.author_id, via="api")
    await context.relay.forward(stored, wait=2.0)


def version_view(version: ProfileVersion) -> VersionView:
    return VersionView.model_validate(version.model_dump(include=set(VersionView.model_fields)))


async def _all_versions(context: AppContext, profile_id: str) -> list[ProfileVersion]:
    profiles = context.repositories.profiles
    latest = await profiles.version(profile_id)
    return await profiles.versions([(profile_id, number) for number in range(1, latest.version + 1)])
