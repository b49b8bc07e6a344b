"""Stores profiles (docs/protocol.md §2.4). A profile is checked, graded and stored as a new version."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final

from tongyao.app.authorization import ANONYMOUS, Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, refuse_file
from tongyao.app.quotas import check_profile
from tongyao.app.writing import writing
from tongyao.heavy_work import READINGS
from tongyao.protocol.identity.names import problem_with
from tongyao.protocol.model.ids import PROFILE_ID
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS, language_of
from tongyao.protocol.model.unicode_text import normalized, without_controls
from tongyao.protocol.rules.consent import Origin
from tongyao.protocol.rules.profile_grade import grade_profile
from tongyao.records.people.profiles import ProfileUnknown, ProfileVersion
from tongyao.texts.catalogue import in_both

_LONG: Final = 100_000
"""Length from which reading a text uses the limited pool `READINGS`."""


async def register_profile(
    context: AppContext,
    profile_id: str,
    *,
    scene: str,
    name: str,
    text: str,
    contact: dict[str, Any] | None = None,
    origin: Origin = Origin.API,
    file_digest: str | None = None,
    caller: Caller | None = None,
) -> ProfileVersion:
    """Store a profile and return its current version. An unchanged text makes no new version. Raises `BadInput`.

    `name`: as `checked_name` returned it, or as stored; empty if the person gave none. `origin`: kept from the first
    time, with `file_digest` as in `Profiles.save`. `caller`: the caller whose credential and quotas count, or None for
    a command. With a caller, also raises `QuotaReached` and the errors of `writing`.
    """
    if not PROFILE_ID.fullmatch(profile_id):
        english, chinese = in_both("field", "import.no_id")
        raise BadInput("profile_id", f"{profile_id!r}: {english}", field="id", zh=f"{profile_id!r}：{chinese}")
    if len(text) > 2 * context.profile_max_chars:  # before the text waits for a thread
        raise _too_long(profile_id, len(text), context.profile_max_chars)
    read = partial(_read, text, profile_id, context.profile_max_chars)
    clean, grade, language = await (
        READINGS.run(read, person="long profiles") if len(text) > _LONG else asyncio.to_thread(read)
    )
    try:
        async with writing(context.repositories, caller or ANONYMOUS, profile_id):
            if caller is not None:
                await check_profile(context, caller, profile_id, chars=len(clean))
            version = await context.repositories.profiles.save(
                profile_id,
                scene_id=scene,
                display_name=name.strip(),
                text=clean,
                grade=grade,
                language=language,
                contact=contact,
                origin=origin,
                file_digest=file_digest,
            )
    except ProfileUnknown as error:
        raise BadInput("profile_taken", str(error), field="id") from None
    if context.request_recitation is not None and version.chars > WHOLE_PROFILE_CHARS:
        await context.request_recitation(version.profile_id, version.version)
    return version


def _read(text: str, profile_id: str, max_chars: int) -> tuple[str, str, str]:
    """Return the canonical text, its grade and its language. Takes seconds for the longest profiles."""
    clean = checked_text(text, profile=profile_id, max_chars=max_chars)
    return clean, grade_profile(clean).value, language_of(clean)


def checked_name(name: str) -> str:
    """Return `name` in canonical form, or empty. Raises `BadInput` if it is not permitted (docs/protocol.md §6.3)."""
    clean = " ".join(normalized("NFC", name).split())
    if clean and (problem := problem_with(clean)):
        raise BadInput("bad_name", f"the name, {clean[:80]!r}, cannot be the name of a person: {problem}", field="name")
    return clean


def checked_text(text: str, *, profile: str, max_chars: int) -> str:
    """Return `text` in NFC without control characters. Raises `BadInput` if it is empty or too long."""
    if len(text) > 2 * max_chars:
        raise _too_long(profile, len(text), max_chars)
    refuse_file(text, field="text")
    clean = without_controls(normalized("NFC", text)).strip()
    if not clean:
        raise BadInput(
            "profile_empty", f"the profile {profile} is empty: write who this is and what they do", field="text"
        )
    if len(clean) > max_chars:
        raise _too_long(profile, len(clean), max_chars)
    return clean


def _too_long(profile: str, length: int, max_chars: int) -> BadInput:
    return BadInput(
        "profile_too_long",
        f"the profile {profile} has {length:,} characters; at most {max_chars:,}: shorten it",
        field="text",
    )
