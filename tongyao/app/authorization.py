"""Authorization: determines a caller's role in a process or for a profile, and checks it against the permissions.

`gateway/access/authentication.py` turns a token into a caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tongyao.app.action_permissions import ON_THE_MACHINE, PERMISSIONS, Action, Role, is_permitted, roles_in_words
from tongyao.app.errors import NotAllowed, NotFound, Unauthenticated
from tongyao.protocol.model.messages import Author
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.process.process_rows import ProcessRow, ProcessUnknown
from tongyao.records.repositories import Repositories

TOKEN_NEEDED: Final = "this needs a token: send `Authorization: Bearer <token>`; registering gives one (`POST /profiles`, over MCP `join`)"

OPERATOR_NEEDED: Final = "this needs an operator's token: send `Authorization: Bearer <token>`; `tongyao token create --operator` makes one on the machine"


@dataclass(frozen=True)
class Caller:
    """The caller of a use case.

    `role`: anonymous, person, participant, operator or `calls`. A participant is limited to one process, and possibly
    to one `alias`. `id`: the id of the token, or `cli` on the command line. `login`: the operator's name in the
    operators' log, or the name of a caller who answers model calls. Such a caller may be limited to one process, alias
    and `step`. `on_the_machine`: the caller runs a command on the machine, in most cases as operator. Such a caller may
    act for others in ways that no operator may over the network. The installation's limits do not apply to such a
    caller.
    """

    role: Role = Role.ANONYMOUS
    person: str = ""
    process_id: str = ""
    alias: str = ""
    id: str = ""
    login: str = ""
    on_the_machine: bool = False
    step: str = ""

    @property
    def anonymous(self) -> bool:
        return self.role is Role.ANONYMOUS

    @property
    def operator(self) -> bool:
        return self.role is Role.OPERATOR


ANONYMOUS: Final = Caller()


@dataclass(frozen=True)
class ProcessAccess:
    """A caller's role in one process. `person`: the owner of the sent texts; empty for operators, who have a `login`.

    `author_id` identifies the author of messages across processes, and is the scope of idempotency keys. `caller`: the
    caller whose credential is checked again at a write. A person's own agent has none.
    """

    process: ProcessRow
    role: Role
    person: str
    alias: str
    author_id: str
    login: str = ""
    caller: Caller = ANONYMOUS

    @property
    def seated(self) -> bool:
        """Whether the caller has a seat in the process. A demander has a seat only if they take part."""
        return self.role is Role.PARTICIPANT or bool(
            self.role is Role.DEMANDER and self.process.settings.get("demander_takes_part")
        )

    @property
    def author(self) -> Author:
        if self.role is Role.OPERATOR:
            return Author(role="operator")
        if self.role is Role.INVITED:
            return Author(role="invited", alias=self.alias)
        return Author(role="demander" if self.role is Role.DEMANDER else "participant", alias=self.alias)


def permit(caller: Caller, action: Action, role: Role | None = None) -> None:
    """Raises unless the table permits `action` to `role` (default: the caller's general role)."""
    role = role or caller.role
    if is_permitted(role, action) or (caller.on_the_machine and action in ON_THE_MACHINE):
        return
    allowed = PERMISSIONS[action]
    if caller.anonymous:
        raise Unauthenticated("token_missing", OPERATOR_NEEDED if allowed == {Role.OPERATOR} else TOKEN_NEEDED)
    what, who = action.value.replace("_", " "), roles_in_words(allowed)
    raise NotAllowed(f"a token of role {role.value} does not open this ({what}): it is for {who}")


def permit_own(caller: Caller, action: Action) -> None:
    """Like `permit`, for objects that belong to the caller. A person acts on them as owner."""
    permit(caller, action, Role.OWNER if caller.role is Role.PERSON else None)


async def authorize_in_process(
    repositories: Repositories, caller: Caller, process_id: str, action: Action
) -> ProcessAccess:
    """Return the caller's access to a process if their role in it permits the action.

    Raises `NotFound` for an unknown process. It raises the same error for a process in which the caller has no role, so
    that the process's existence is not revealed.
    """
    return await authorize_in_row(repositories, caller, await _row(repositories, caller, process_id), action)


async def _row(repositories: Repositories, caller: Caller, process_id: str) -> ProcessRow:
    if caller.anonymous:
        raise Unauthenticated("token_missing", TOKEN_NEEDED)
    try:
        return await repositories.processes.get(process_id)
    except ProcessUnknown:
        raise _no_process(process_id) from None


async def authorize_in_row(
    repositories: Repositories, caller: Caller, row: ProcessRow, action: Action
) -> ProcessAccess:
    """Like `authorize_in_process`, for a row that was just read."""
    access = await _access(repositories, caller, row)
    if access is None:
        raise _no_process(row.id)
    permit(caller, action, access.role)
    return access


async def _access(repositories: Repositories, caller: Caller, row: ProcessRow) -> ProcessAccess | None:
    if caller.operator:
        login = caller.login or caller.id
        return ProcessAccess(row, Role.OPERATOR, "", "", f"operator:{caller.id}", login=login, caller=caller)
    if caller.role is Role.PARTICIPANT and caller.process_id != row.id:
        return None
    if caller.role is Role.PERSON and row.demander == caller.person:
        return ProcessAccess(row, Role.DEMANDER, caller.person, DEMANDER, f"demander:{caller.person}", caller=caller)
    if row.forked_from is not None:
        return None  # only the demander has access to a fork; its other participants are not asked in it
    for seat in await repositories.seats.seats(row.id):
        if seat.person == caller.person and caller.alias in ("", seat.alias):
            author = f"participant:{caller.person}"
            return ProcessAccess(row, Role.PARTICIPANT, caller.person, seat.alias, author, caller=caller)
    return await _invited(repositories, caller, row)


async def authorize_invited(
    repositories: Repositories, caller: Caller, process_id: str, number: int | None = None
) -> ProcessAccess:
    """Return the access of a person who was asked for consent, also after they got a seat. `number`: the number of the
    question; None means the last question.

    Raises `NotFound` if the person was not asked, or not with this number.
    """
    access = await _invited(repositories, caller, await _row(repositories, caller, process_id), number)
    if access is None:
        raise _no_process(process_id)
    return access


async def _invited(
    repositories: Repositories, caller: Caller, row: ProcessRow, number: int | None = None
) -> ProcessAccess | None:
    if caller.role is not Role.PERSON:
        return None
    asked = await repositories.inbox.invitation(row.id, caller.person, number)
    if asked is None:
        return None
    return ProcessAccess(row, Role.INVITED, caller.person, asked.alias, invited_author(caller.person), caller=caller)


def invited_author(person: str) -> str:
    """Return the `author_id` of a person's answer to a question for consent."""
    return f"invited:{person}"


def authorize_for_profile(caller: Caller, profile_id: str, action: Action) -> None:
    """Raises unless the caller may do this to a profile. Raises `NotFound` for other people's and unknown profiles."""
    if caller.role is Role.PERSON and caller.person == profile_id:
        permit(caller, action, Role.OWNER)
    elif caller.operator or caller.anonymous or caller.person == profile_id:
        permit(caller, action)
    else:
        raise NotFound("no_such_profile", f"you have no profile {profile_id!r}")


def _no_process(process_id: str) -> NotFound:
    return NotFound(
        "no_such_process",
        f"you are in no process {process_id!r}. People who were named for a process are in it when its rounds begin: after "
        "the tension is confirmed, people are chosen, and the people who are asked have answered. Open questions to you are in "
        "your inbox (`GET /inbox`, over MCP `pending`)",
    )
