"""From a token to a caller, and from a caller to what they are in one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tongyao.app.permissions import Action, Role, may
from tongyao.app.problems import NotAllowed, NotFound, Unauthenticated
from tongyao.protocol.model.messages import Author
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.library import Library
from tongyao.records.people.tokens import Token
from tongyao.records.process.processes import ProcessRow, ProcessUnknown


@dataclass(frozen=True)
class Caller:
    """Whoever asks. Without a token: anonymous."""

    token: Token | None = None

    @property
    def role(self) -> Role:
        return Role(self.token.role) if self.token else Role.ANONYMOUS

    @property
    def person(self) -> str:
        return (self.token.person or "") if self.token else ""

    @property
    def operator(self) -> bool:
        return self.role is Role.OPERATOR


ANONYMOUS: Final = Caller()
NO_TOKEN: Final = "this needs a token: send `Authorization: Bearer <token>`; registering gives one (`POST /profiles`, over MCP `join`)"


@dataclass(frozen=True)
class Standing:
    """What a caller is in one process. `person` is whose words they speak; empty for operators."""

    process: ProcessRow
    role: Role
    person: str
    alias: str
    author_id: str

    @property
    def seated(self) -> bool:
        """Whether they have a seat in the room; of demanders only those do who take part."""
        return self.role is Role.PARTICIPANT or bool(
            self.role is Role.DEMANDER and self.process.settings.get("demander_takes_part")
        )

    @property
    def author(self) -> Author:
        if self.role is Role.OPERATOR:
            return Author(role="operator")
        return Author(role="demander" if self.role is Role.DEMANDER else "participant", alias=self.alias)


async def authenticate(library: Library, secret: str | None) -> Caller:
    """Who this is. Raises `Unauthenticated` for a secret that opens nothing (any more)."""
    if not secret:
        return ANONYMOUS
    token = await library.tokens.find(secret)
    if token is None:
        raise Unauthenticated("token_unknown", "this token is not known here: check that it is whole")
    if token.revoked_at is not None:
        raise Unauthenticated("token_revoked", "this token was revoked: ask for a new one")
    if token.expired:
        raise Unauthenticated("token_expired", "this token has expired: ask for a new one")
    return Caller(token)


def permit(caller: Caller, action: Action, role: Role | None = None) -> None:
    """Raises unless the table lets `role` (by default the caller's general one) do this."""
    role = role or caller.role
    if may(role, action):
        return
    if caller.token is None:
        raise Unauthenticated("token_missing", NO_TOKEN)
    raise NotAllowed(f"a token of role {role.value} does not open this ({action.value.replace('_', ' ')})")


async def in_process(library: Library, caller: Caller, process_id: str, action: Action) -> Standing:
    """What the caller is in this process, if they may do that there.

    Raises `NotFound` for strangers exactly as for ids that do not exist: nobody learns of a process by guessing.
    """
    if caller.token is None:
        raise Unauthenticated("token_missing", NO_TOKEN)
    try:
        row = await library.processes.get(process_id)
    except ProcessUnknown:
        raise _no_process(process_id) from None
    standing = await _standing(library, caller, caller.token, row)
    if standing is None:
        raise _no_process(process_id)
    permit(caller, action, standing.role)
    return standing


async def _standing(library: Library, caller: Caller, token: Token, row: ProcessRow) -> Standing | None:
    if token.role == "operator":
        return Standing(row, Role.OPERATOR, "", "", f"operator:{token.id}")
    if token.role == "participant" and token.process_id != row.id:
        return None
    if token.role == "person" and row.demander == caller.person:
        return Standing(row, Role.DEMANDER, caller.person, DEMANDER, f"demander:{caller.person}")
    for seat in await library.room.seats(row.id):
        if seat.person == caller.person and token.alias in (None, seat.alias):
            return Standing(row, Role.PARTICIPANT, caller.person, seat.alias, f"participant:{caller.person}")
    return None


def towards_profile(caller: Caller, profile_id: str, action: Action) -> None:
    """Whether the caller may do this to a profile. Strangers get the answer for profiles that do not exist."""
    if caller.role is Role.PERSON and caller.person == profile_id:
        permit(caller, action, Role.OWNER)
    elif caller.operator or caller.token is None:
        permit(caller, action)
    else:
        raise NotFound("no_such_profile", f"you have no profile {profile_id!r}")


def _no_process(process_id: str) -> NotFound:
    return NotFound("no_such_process", f"you are in no process {process_id!r}")
