"""Starts a process from files, and registers profiles under ids made from file names."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, Final

from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotFound
from tongyao.app.people.profile_versions import checked_text, register_profile
from tongyao.app.start import StartProcessBody, start_process
from tongyao.commands.context import operator, read_text, validated
from tongyao.commands.references import digest_of_file, find_person
from tongyao.commands.terminal import errors, put
from tongyao.commands.words import say
from tongyao.protocol.identity.names import name_in_heading, problem_with
from tongyao.protocol.model.ids import stem_id
from tongyao.protocol.rules.consent import Origin

LOCAL_SCENE: Final = "local"
"""The scene of profiles that are given as files without a scene."""


async def start_from_files(context: AppContext, given: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Start a process from the fields of `StartProcessBody`, in which files may replace texts and profile ids.

    `intent` may be `@FILE`. `demander` and participants may be files, which are registered first. Returns the id of the
    process, and the profile id of each demander or participant by the given text. Raises `BadInput`.
    """
    intent, demander, scene = given["intent"], given.get("demander"), given.get("scene") or ""
    if intent.startswith("@"):
        intent = read_text(Path(intent[1:]), field="intent")
    if not intent.strip():
        raise BadInput("intent_empty", say("wrong.intent_empty"), field="intent")
    people: dict[str, str] = {}
    for person in [*([demander] if demander else []), *(named["profile_id"] for named in given["participants"])]:
        people[person] = await profile_id_of(context, person, scene)
    owner = people[demander] if demander else f"person:{secrets.token_hex(4)}"
    if demander and not owner.startswith("person:") and not await context.repositories.profiles.known([owner]):
        raise BadInput("unknown_profiles", say("file.no_profile_or_file", given=owner), field="demander")
    participants = [{**named, "profile_id": people[named["profile_id"]]} for named in given["participants"]]
    body = validated(StartProcessBody, {**given, "intent": intent, "demander": owner, "participants": participants})
    return await start_process(context, operator(), body, key=secrets.token_hex(8)), people


async def profile_id_of(context: AppContext, given: str, scene: str) -> str:
    """Return a profile id. `given`: an id, a part of it, or a file to register. Raises `BadInput`, `NotFound`."""
    path = Path(given)
    if not (path.suffix or "/" in given or path.exists()):
        try:
            return await find_person(context.repositories, given)
        except NotFound:
            return given  # the start of the process refuses unknown ids, and its message lists similar ids
    text = checked_text(read_text(path, field=given), profile=given, max_chars=context.profile_max_chars)
    if not scene:
        await context.repositories.scenes.put(LOCAL_SCENE, LOCAL_SCENE)
    elif scene not in {known.id for known in await context.repositories.scenes.all()}:
        raise NotFound("no_such_scene", say("file.no_scene", scene=repr(scene)), field="scene")
    profile_id = await _id_for(context, path, scene)
    await register_profile(
        context,
        profile_id,
        scene=scene or LOCAL_SCENE,
        name=_name_in(text, path),
        text=text,
        origin=Origin.FILE,
        file_digest=digest_of_file(path),
    )
    return profile_id


async def _id_for(context: AppContext, path: Path, scene: str) -> str:
    """Return the id of the file's profile in the scene. At first it is made from the scene and the name of the file.

    If another person has or had that id, characters of a digest follow. So two files of the same name are two people.
    """
    profiles, digest = context.repositories.profiles, digest_of_file(path)
    for known, its_scene in (await profiles.of_file(digest)).items():
        if its_scene == (scene or LOCAL_SCENE):
            return known
    name = f"{scene}-{stem_id(path.stem)}" if scene else stem_id(path.stem)
    suffixes = [digest[:length] for length in (4, 12)]
    ids = [name, *(f"{name}-{suffix}" for suffix in suffixes)]
    for free in ids:
        if not await profiles.was_given(free):
            return free
    return ids[-1]  # every id is taken, so the registration refuses this id


def _name_in(text: str, path: Path) -> str:
    """Return the person's name from the first heading. Empty without a heading. The file name is never used.

    A heading that cannot be a name (`# About me`) is not used either, and a message about it is printed.
    """
    name = name_in_heading(text)
    if name and (problem := problem_with(name)):
        put(f"{path.name}: its heading {name[:60]!r} is not taken as a name: {problem}", to=errors)
        return ""
    return name
