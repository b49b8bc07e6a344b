"""Joining, profiles, mandates and tokens: the same for the API and for MCP."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

import structlog
from pydantic import Field

from tongyao.app.authorization import Caller, in_process, permit, towards_profile
from tongyao.app.channels import Email, offer_mail
from tongyao.app.context import Gateway
from tongyao.app.erasure import Erasing
from tongyao.app.messages import checked_key
from tongyao.app.notifier import NotSent
from tongyao.app.permissions import Action, Role
from tongyao.app.problems import NotAllowed, NotFound, Problem
from tongyao.app.wire import Given, Id
from tongyao.protocol.model.messages import MESSAGE, Author
from tongyao.protocol.model.projection import Projection
from tongyao.protocol.model.requests import Mandate
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules import views
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.people.tokens import Issued, Token

log = structlog.get_logger()

_NAMESPACE = UUID("0d4f7c52-4c36-5d0e-9d36-7c1b1a2f6e60")
MAX_PROFILE = 2_000_000
Line = Annotated[str, Field(max_length=500)]


class Introduction(Given):
    """Who somebody is, in their own words. With an address they can be told when something waits for them."""

    scene: Id
    name: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=MAX_PROFILE)
    email: Email | None = None


class Joined(Value):
    """A new profile. `token` is shown this once; a repeated request finds the profile again, and no token used before."""

    profile_id: str
    version: int
    grade: str
    token: str | None
    note: str = ""


class ProfileText(Given):
    scene: Id | None = Field(default=None, description="Only where the profile is new.")
    name: str | None = Field(default=None, min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=MAX_PROFILE)


class ProfileView(Value):
    """A profile and its versions; `text` is for its owner alone."""

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


class MandateGiven(Given):
    """What your proxy may speak of, must never disclose, and whether it may speak at all. Works at its next call."""

    may_speak: bool = True
    topics: tuple[Line, ...] = Field(default=(), max_length=100)
    never: tuple[Line, ...] = Field(default=(), max_length=100)
    addition: str = Field(default="", max_length=2_000)


class TokenWish(Given):
    """A further token: for yourself, or, with `participant`, for one process under your alias (for an agent of yours)."""

    role: Literal["operator", "person", "participant"]
    person: Id | None = None
    process_id: Id | None = None
    label: str = Field(default="", max_length=200)
    seconds: int | None = Field(default=None, gt=0, le=3_660 * 24 * 3600, description="How long it is good for.")


async def join(gateway: Gateway, caller: Caller, said: Introduction, *, key: str | None) -> Joined:
    """A new profile and its owner's token. Never an existing person's: an address that is known gets a new one as well.

    The same key with the same words is the same registration. Its token can be had again, in exchange for the one
    before, until it has opened a door once: the first answer may have been lost on its way.
    """
    permit(caller, Action.JOIN)
    if not gateway.options.open_registration and not caller.operator:
        raise NotAllowed("registration is not open here: ask whoever runs this installation")
    words = json.dumps([said.scene, said.name, said.text, said.email], ensure_ascii=False)
    profile_id = f"p-{uuid5(_NAMESPACE, checked_key(key) + hashlib.sha256(words.encode()).hexdigest()).hex[:20]}"
    known = await gateway.library.tokens.list(person=profile_id)
    contact = {"email": said.email} if said.email else None
    version = await gateway.registering.register(
        profile_id, scene=said.scene, name=said.name, text=said.text, contact=contact
    )
    if any(token.used_at is not None for token in known):
        return Joined(
            profile_id=profile_id,
            version=version.version,
            grade=version.grade,
            token=None,
            note="registered before; its token has been used and is not shown again",
        )
    await gateway.library.tokens.revoke_all(profile_id)
    days = gateway.options.token_days
    if said.email is not None:
        await _offer_mail(gateway, profile_id, said.email, version.language)
    issued = await gateway.library.tokens.issue(
        "person", person=profile_id, label="owner", lasts=timedelta(days=days) if days else None
    )
    note = "keep the token: it is shown this once"
    if version.grade == Grade.C:
        note += (
            ". Grade C: the text says little of where you stand, or of what you want to change; you are found by what it "
            "says, so write more (`PUT /profiles/{id}`)"
        )
    return Joined(profile_id=profile_id, version=version.version, grade=version.grade, token=issued.secret, note=note)


async def _offer_mail(gateway: Gateway, profile_id: str, address: str, language: str) -> None:
    """Ask there whether it is theirs. Nobody fails to register because a mail server is away."""
    if "mail" in gateway.notifiers and not await gateway.library.notifications.channels(profile_id):
        try:
            await offer_mail(gateway, profile_id, address, language=language)
        except NotSent as failed:
            log.warning("code not sent", profile=profile_id, why=str(failed))


async def scenes(gateway: Gateway) -> list[dict[str, str]]:
    return [{"id": scene.id, "title": scene.title} for scene in await gateway.library.profiles.scenes()]


async def read_profile(gateway: Gateway, caller: Caller, profile_id: str) -> ProfileView:
    towards_profile(caller, profile_id, Action.READ_PROFILE)
    profile = await gateway.library.profiles.get(profile_id)
    version = await gateway.library.profiles.version(profile_id)
    text = None if caller.operator else await gateway.library.texts.get(version.text_id)
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


async def versions(gateway: Gateway, caller: Caller, profile_id: str) -> list[VersionView]:
    """Every version, oldest first."""
    towards_profile(caller, profile_id, Action.READ_PROFILE)
    return [version_view(one) for one in await _all_versions(gateway, profile_id)]


async def write_profile(gateway: Gateway, caller: Caller, profile_id: str, new: ProfileText) -> VersionView:
    """A new version of one's own profile; an operator may also make a profile under an id of their choice."""
    towards_profile(caller, profile_id, Action.WRITE_PROFILE)
    known = await gateway.library.profiles.get_many([profile_id])
    old = known.get(profile_id)
    if old is None and new.scene is None:
        raise NotFound("no_such_profile", f"there is no profile {profile_id!r}; to make one, name its `scene`")
    if old is not None and new.scene not in (None, old.scene_id):
        raise Problem("scene_fixed", f"{profile_id} is in scene {old.scene_id}; profiles do not move", status=422)
    scene = old.scene_id if old else new.scene
    assert scene is not None
    name = new.name or (old.display_name if old else profile_id)
    return version_view(
        await gateway.registering.register(
            profile_id, scene=scene, name=name, text=new.text, contact=old.contact if old else None
        )
    )


async def delete_profile(gateway: Gateway, caller: Caller, profile_id: str) -> None:
    """Erase a person (docs/erasure.md): nothing of theirs is read any more when this returns; the rest follows."""
    towards_profile(caller, profile_id, Action.DELETE_PROFILE)
    await gateway.library.profiles.get(profile_id)
    await Erasing(gateway.library, gateway.relay, gateway.forgetting).erase_soon(profile_id)


async def export(gateway: Gateway, caller: Caller, profile_id: str) -> dict[str, Any]:
    """Everything kept of a person that is theirs: every version's text, the mandate, what was said for them and where."""
    towards_profile(caller, profile_id, Action.READ_PROFILE_TEXT)
    library = gateway.library
    profile = await library.profiles.get(profile_id)
    kept = await _all_versions(gateway, profile_id)
    texts = await library.texts.get_many([one.text_id for one in kept], erased="[erased]")
    said: dict[str, list[Projection]] = {}
    cursor: str | None = None
    while True:
        page = await library.processes.list(participant=profile_id, cursor=cursor)
        for row in page.rows:
            seat = next(one for one in await library.room.seats(row.id) if one.person == profile_id)
            view = views.for_party(await library.record(row.id), role="participant", alias=seat.alias)
            said[row.id] = list(view.own or ())
        if (cursor := page.next) is None:
            break
    return {
        "profile": {
            "id": profile.id,
            "scene": profile.scene_id,
            "name": profile.display_name,
            "contact": profile.contact,
        },
        "versions": [{**version_view(one).model_dump(mode="json"), "text": texts[one.text_id]} for one in kept],
        "mandate": (await library.mandate(profile_id)).model_dump(mode="json"),
        "channels": [one.model_dump(exclude={"secret"}) for one in await library.notifications.channels(profile_id)],
        "said": {pid: [one.model_dump(mode="json") for one in turns] for pid, turns in said.items()},
    }


async def read_mandate(gateway: Gateway, caller: Caller, profile_id: str) -> Mandate:
    towards_profile(caller, profile_id, Action.MANDATE)
    await gateway.library.profiles.get(profile_id)
    return await gateway.library.mandate(profile_id)


async def set_mandate(gateway: Gateway, caller: Caller, profile_id: str, given: MandateGiven) -> Mandate:
    """Replace the mandate, and note the change in every open process of theirs. It works from the next call on."""
    towards_profile(caller, profile_id, Action.MANDATE)
    library = gateway.library
    await library.profiles.get(profile_id)
    said = given.model_dump(exclude={"may_speak"})
    text_id = await library.texts.put(profile_id, "mandate", json.dumps(said, ensure_ascii=False, sort_keys=True))
    await library.profiles.set_mandate(profile_id, may_speak=given.may_speak, text_id=text_id)
    cursor: str | None = None
    while True:
        page = await library.processes.list(participant=profile_id, open=True, cursor=cursor)
        for row in page.rows:
            await _note_mandate(gateway, caller, row.id, text_id)
        if (cursor := page.next) is None:
            break
    return await library.mandate(profile_id)


async def _note_mandate(gateway: Gateway, caller: Caller, process_id: str, key: str) -> None:
    """Only a note in the process: whether it can be taken now or not, the mandate holds already."""
    standing = await in_process(gateway.library, caller, process_id, Action.SEND_MESSAGE)
    author = Author(role="participant", alias=standing.alias)
    message = MESSAGE.validate_python(
        {"kind": "set_mandate", "key": f"mandate-{key}", "author": author, "alias": standing.alias}
    )
    await gateway.relay.send(process_id, message, author_id=standing.author_id, via="api", wait=2.0)


async def issue(gateway: Gateway, caller: Caller, wish: TokenWish) -> Issued:
    """A further token. People make them for themselves; operators for anybody. Raises `NotAllowed`, `Problem`."""
    permit(caller, Action.ISSUE_TOKEN, Role.OWNER if caller.role is Role.PERSON else None)
    if not caller.operator and (wish.role == "operator" or wish.person not in (None, caller.person)):
        raise NotAllowed("you can make tokens for yourself only")
    person = wish.person or caller.person or None
    if wish.role == "operator":
        person = None
    elif person is None:
        raise Problem("person_missing", "say whose token it is: `person`", status=422, field="person")
    process_id, alias = None, None
    if wish.role == "participant":
        if wish.process_id is None:
            raise Problem("process_missing", "say for which process: `process_id`", status=422, field="process_id")
        process_id = wish.process_id
        seats = await gateway.library.room.seats(process_id)
        alias = next((seat.alias for seat in seats if seat.person == person), None)
        if alias is None:
            raise NotFound("no_such_seat", f"{person} takes no part in a process {process_id!r}")
    lasts = timedelta(seconds=wish.seconds) if wish.seconds else None
    return await gateway.library.tokens.issue(
        wish.role, person=person, process_id=process_id, alias=alias, label=wish.label, lasts=lasts
    )


async def tokens(gateway: Gateway, caller: Caller) -> list[Token]:
    permit(caller, Action.LIST_TOKENS, Role.OWNER if caller.role is Role.PERSON else None)
    return await gateway.library.tokens.list(person=None if caller.operator else caller.person)


async def revoke(gateway: Gateway, caller: Caller, token_id: str) -> Token:
    permit(caller, Action.REVOKE_TOKEN, Role.OWNER if caller.role is Role.PERSON else None)
    token = await gateway.library.tokens.get(token_id)
    if not caller.operator and token.person != caller.person:
        raise NotFound("no_such_token", f"there is no token {token_id!r}")
    return await gateway.library.tokens.revoke(token_id)


def version_view(version: ProfileVersion) -> VersionView:
    return VersionView.model_validate(version.model_dump(include=set(VersionView.model_fields)))


async def _all_versions(gateway: Gateway, profile_id: str) -> list[ProfileVersion]:
    latest = await gateway.library.profiles.version(profile_id)
    profiles = gateway.library.profiles
    return [*[await profiles.version(profile_id, number) for number in range(1, latest.version)], latest]
