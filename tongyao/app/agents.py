"""Registering one's own agent, and fetching one's profile from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field, SecretStr, ValidationError

from tongyao.app.authorization import Caller, towards_profile
from tongyao.app.context import Gateway
from tongyao.app.permissions import Action
from tongyao.app.problems import NotFound, Problem
from tongyao.app.profile_source import ProfileSource, SourceError
from tongyao.app.wire import Given
from tongyao.protocol.model.value import Value
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.people.sources import SourceRow, SourceUnknown


class SourceGiven(Given):
    """`config` and `credentials` as the kind wants them; of `http` see docs/extending.md."""

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
    """One's agent, without its credentials, and how it did when it was asked."""

    kind: str
    config: dict[str, Any]
    created_at: datetime
    turns: tuple[SourceTurnView, ...] = ()


async def source_of(gateway: Gateway, person: str) -> ProfileSource:
    """The agent of a person, ready to be asked. Raises `Problem` where there is none, or its kind is not known here."""
    try:
        row = await gateway.library.sources.get(person)
    except SourceUnknown as error:
        raise NotFound("no_such_source", str(error)) from None
    return _made(gateway, person, row.kind, row.config, await gateway.library.sources.credentials(row))


async def set_source(gateway: Gateway, caller: Caller, person: str, given: SourceGiven) -> SourceView:
    """Register one's agent, or replace it. It is asked in seats whose endpoint is `agent`. Raises `Problem`."""
    towards_profile(caller, person, Action.SOURCE)
    credentials = {name: value.get_secret_value() for name, value in given.credentials.items()}
    _made(gateway, person, given.kind, given.config, credentials)
    await gateway.library.sources.put(person, given.kind, given.config, credentials)
    return await _view(gateway, await gateway.library.sources.get(person))


async def read_source(gateway: Gateway, caller: Caller, person: str) -> SourceView:
    towards_profile(caller, person, Action.SOURCE)
    try:
        row = await gateway.library.sources.get(person)
    except SourceUnknown as error:
        raise NotFound("no_such_source", str(error)) from None
    return await _view(gateway, row)


async def remove_source(gateway: Gateway, caller: Caller, person: str) -> None:
    towards_profile(caller, person, Action.SOURCE)
    await gateway.library.sources.remove(person)


async def fetch_profile(gateway: Gateway, caller: Caller, person: str) -> ProfileVersion:
    """A new version of one's profile, as one's agent tells it; the same text again is the same version.

    Raises `Problem`: no agent, no profile there, or a profile that is refused here (empty, too long).
    """
    towards_profile(caller, person, Action.SOURCE)
    profile = await gateway.library.profiles.get(person)
    source = await source_of(gateway, person)
    try:
        text = await source.get_profile()
    except SourceError as error:
        raise Problem(f"source_{error.code}", str(error), status=422 if error.permanent else 503) from None
    return await gateway.registering.register(
        person, scene=profile.scene_id, name=profile.display_name, text=text, contact=profile.contact
    )


def _made(
    gateway: Gateway, person: str, kind: str, config: dict[str, Any], credentials: dict[str, str]
) -> ProfileSource:
    make = gateway.sources.get(kind)
    if make is None:
        known = ", ".join(sorted(gateway.sources)) or "none"
        raise Problem("unknown_kind", f"there are no agents of kind {kind!r} here; known: {known}", status=422)

    async def keep(changed: dict[str, str]) -> None:
        await gateway.library.sources.keep(person, changed)

    try:
        return make(config, credentials, keep)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, wrong["loc"]))
        raise Problem("not_valid", f"{where}: {wrong['msg']}", status=422, field=where) from None
    except ValueError as error:
        raise Problem("not_valid", str(error), status=422) from None


async def _view(gateway: Gateway, row: SourceRow) -> SourceView:
    turns = await gateway.library.sources.turns(row.person)
    shown = tuple(
        SourceTurnView.model_validate(one.model_dump(include=set(SourceTurnView.model_fields))) for one in turns
    )
    return SourceView(kind=row.kind, config=row.config, created_at=row.created_at, turns=shown)
