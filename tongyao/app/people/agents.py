"""People's own agents: registration, and fetching the profile from the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import Any, Final

from pydantic import Field, SecretStr, ValidationError

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_for_profile
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotFound, Unavailable, not_valid
from tongyao.app.people.profile_source import ProfileSource, RenewCredentials, SourceError
from tongyao.app.people.profile_versions import register_profile
from tongyao.app.people.profiles import VersionView, version_view
from tongyao.app.quotas import check_profile
from tongyao.app.writing import writing
from tongyao.protocol.model.value import Body, Value
from tongyao.records.people.sources import SourceRow, SourceUnknown
from tongyao.records.privacy.texts import TextErased

_FETCHING: Final[set[str]] = set()
"""People whose profile is being fetched. Each response is held in memory: up to 8 MB, as text four times that."""


class SourceBody(Body):
    """`config` and `credentials` have the form of the kind. docs/extending.md describes the kind `http`."""

    kind: str = Field(default="http", min_length=1, max_length=50)
    config: dict[str, Any] = Field(default_factory=dict, max_length=20)
    credentials: dict[str, SecretStr] = Field(default_factory=dict, max_length=20)


class SourceTurnView(Value):
    process_id: str
    alias: str
    round: int
    state: str
    why: str
    attempts: int


class SourceView(Value):
    """A person's agent, without its credentials, and its answers in recent turns."""

    kind: str
    config: dict[str, Any]
    created_at: datetime
    turns: tuple[SourceTurnView, ...] = ()


async def source_of(context: AppContext, person: str) -> ProfileSource:
    """Return the agent of a person. Raises `NotFound`, and `BadInput` for a kind that is not installed."""
    try:
        row = await context.repositories.sources.get(person)
    except SourceUnknown as error:
        raise NotFound("no_such_source", str(error)) from None
    credentials = await context.repositories.sources.credentials(row)
    return _make(context, row.kind, row.config, credentials, partial(_renewing, context, row))


async def set_source(context: AppContext, caller: Caller, person: str, body: SourceBody) -> SourceView:
    """Register or replace the person's agent. It is asked in seats whose endpoint is `agent`. Raises `BadInput`."""
    authorize_for_profile(caller, person, Action.SOURCE)
    credentials = {name: value.get_secret_value() for name, value in body.credentials.items()}
    _make(context, body.kind, body.config, credentials, lambda: nullcontext(credentials))
    async with writing(context.repositories, caller, person):
        await context.repositories.sources.put(person, body.kind, body.config, credentials)
    return await _view(context, await context.repositories.sources.get(person))


async def read_source(context: AppContext, caller: Caller, person: str) -> SourceView:
    authorize_for_profile(caller, person, Action.SOURCE)
    try:
        row = await context.repositories.sources.get(person)
    except SourceUnknown as error:
        raise NotFound("no_such_source", str(error)) from None
    return await _view(context, row)


async def remove_source(context: AppContext, caller: Caller, person: str) -> None:
    authorize_for_profile(caller, person, Action.SOURCE)
    async with writing(context.repositories, caller, person):
        await context.repositories.sources.remove(person)


async def fetch_profile(context: AppContext, caller: Caller, person: str) -> VersionView:
    """Fetch the profile from the person's agent and store it as a new version. An unchanged text makes no new version.

    Only one fetch per person runs at a time. Raises `NotFound` without an agent, `BadInput` if the profile is refused
    (empty, too long), `QuotaReached`, `Unavailable`.
    """
    authorize_for_profile(caller, person, Action.SOURCE)
    if person in _FETCHING:
        raise Unavailable("fetched_already", "your profile is being fetched from your agent: wait until that has ended")
    _FETCHING.add(person)
    try:
        return await _fetch_profile(context, caller, person)
    finally:
        _FETCHING.discard(person)


async def _fetch_profile(context: AppContext, caller: Caller, person: str) -> VersionView:
    profile = await context.repositories.profiles.get(person)
    source = await source_of(context, person)
    await check_profile(context, caller, person, chars=1)  # before the request to the agent
    try:
        text = await source.get_profile()
    except SourceError as error:
        code = f"source_{error.code}"
        raise (BadInput if error.permanent else Unavailable)(code, str(error)) from None
    version = await register_profile(
        context,
        person,
        scene=profile.scene_id,
        name=profile.display_name,
        text=text,
        contact=profile.contact,
        caller=caller,
    )
    return version_view(version)


def _make(
    context: AppContext, kind: str, config: dict[str, Any], credentials: dict[str, str], renew: RenewCredentials
) -> ProfileSource:
    make = context.profile_sources.get(kind)
    if make is None:
        known = ", ".join(sorted(context.profile_sources)) or "none"
        raise BadInput("unknown_kind", f"there are no agents of kind {kind!r} here; known: {known}")
    try:
        return make(config, credentials, renew)
    except ValidationError as error:
        raise not_valid(error) from None
    except ValueError as error:
        raise BadInput("not_valid", str(error)) from None


@asynccontextmanager
async def _renewing(context: AppContext, agent: SourceRow) -> AsyncIterator[dict[str, str]]:
    """Like `Sources.renewing`. Raises `SourceError` if the agent was replaced or removed in the meantime."""
    try:
        async with context.repositories.sources.renewing(agent) as credentials:
            yield credentials
    except (SourceUnknown, TextErased):
        raise SourceError("replaced", "this agent was replaced or removed meanwhile") from None


async def _view(context: AppContext, row: SourceRow) -> SourceView:
    turns = await context.repositories.sources.turns(row.person)
    shown = tuple(
        SourceTurnView.model_validate(turn.model_dump(include=set(SourceTurnView.model_fields))) for turn in turns
    )
    return SourceView(kind=row.kind, config=row.config, created_at=row.created_at, turns=shown)
