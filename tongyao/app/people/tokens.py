"""Issuing, listing and revoking tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit_own
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotAllowed, NotFound
from tongyao.app.people.acting import tell_acted_for
from tongyao.app.people.sessions import no_longer_than
from tongyao.app.quotas import check_tokens
from tongyao.app.writing import writing
from tongyao.protocol.model.ids import Alias, Id
from tongyao.protocol.model.steps import StepName
from tongyao.protocol.model.value import Body
from tongyao.records.people.tokens import Issued, Token


class IssueTokenBody(Body):
    """A further token: for yourself, or, with `participant`, for one process under your alias (for your agent).

    `calls`: for answering model calls; only operators issue it. `label` is the answerer's name, which people see.
    """

    role: Literal["operator", "person", "participant", "calls"]
    person: Id | None = None
    process_id: Id | None = None
    step: StepName | None = Field(default=None, description="Of `calls`: only this step of a model.")
    alias: Alias | None = Field(default=None, description="Of `calls`: only calls about this participant.")
    label: str = Field(default="", max_length=200)
    seconds: int | None = Field(default=None, gt=0, le=3_660 * 24 * 3600, description="How long it is valid.")


async def issue_token(context: AppContext, caller: Caller, body: IssueTokenBody) -> Issued:
    """Issue a token. People issue tokens for themselves, operators for operators, and callers on the machine for
    anybody.

    A token is valid no longer than the token with which it is made. Raises `NotAllowed`, `BadInput`, `NotFound`.
    """
    permit_own(caller, Action.ISSUE_TOKEN)
    if body.role == "calls":
        return await _issue_for_calls(context, caller, body)
    if caller.operator and not caller.on_the_machine and body.role != "operator":
        raise NotAllowed(
            "a token for another person cannot be made over the network: use `tongyao token create --person ID` on the machine"
        )
    if not caller.operator and (body.role == "operator" or body.person not in (None, caller.person)):
        raise NotAllowed("you can make tokens for yourself only")
    person = body.person or caller.person or None
    if body.role == "operator":
        person = None
    elif person is None:
        raise BadInput("person_missing", "give the person whose token it is: `person`", field="person")
    process_id, alias = None, None
    if body.role == "participant":
        if body.process_id is None:
            raise BadInput("process_missing", "give the process: `process_id`", field="process_id")
        process_id = body.process_id
        seats = await context.repositories.seats.seats(process_id)
        alias = next((seat.alias for seat in seats if seat.person == person), None)
        if alias is None:
            raise NotFound("no_such_seat", f"{person} takes no part in a process {process_id!r}")
    async with writing(context.repositories, caller, person or ""):
        return await _issue(context, caller, body, person, process_id, alias)


async def _issue_for_calls(context: AppContext, caller: Caller, body: IssueTokenBody) -> Issued:
    """Issue a token for answering model calls. Shown calls are recorded under its name, so it needs one."""
    if not caller.operator:
        raise NotAllowed("operators make tokens for those who answer model calls (`tongyao calls connect NAME`)")
    if not body.label.strip():
        raise BadInput(
            "name_missing", "give the name of the answerer: `label`. The people concerned see it", field="label"
        )
    async with writing(context.repositories, caller):
        return await context.repositories.tokens.issue(
            "calls",
            process_id=body.process_id,
            alias=body.alias,
            step=body.step,
            label=body.label.strip(),
            lasts=timedelta(seconds=body.seconds) if body.seconds else None,
        )


async def _issue(
    context: AppContext,
    caller: Caller,
    body: IssueTokenBody,
    person: str | None,
    process_id: str | None,
    alias: str | None,
) -> Issued:
    if person is not None:
        await check_tokens(context, caller, person)
        await tell_acted_for(context, caller, person, "token_made")
    root = await context.repositories.tokens.root(caller.id)
    lasts = no_longer_than(root, timedelta(seconds=body.seconds) if body.seconds else None)
    return await context.repositories.tokens.issue(
        body.role,
        person=person,
        process_id=process_id,
        alias=alias,
        label=body.label,
        lasts=lasts,
    )


async def list_tokens(context: AppContext, caller: Caller, *, person: str | None = None) -> list[Token]:
    """Return the caller's tokens, newest first, without secrets. For operators: all tokens, or those of `person`."""
    permit_own(caller, Action.LIST_TOKENS)
    return await context.repositories.tokens.list(person=person if caller.operator else caller.person)


async def revoke_token(context: AppContext, caller: Caller, token_id: str) -> Token:
    """Revoke a token. Raises `NotFound` if it is not the caller's."""
    permit_own(caller, Action.REVOKE_TOKEN)
    token = await context.repositories.tokens.get(token_id)
    if not caller.operator and token.person != caller.person:
        raise NotFound("no_such_token", f"there is no token {token_id!r}")
    async with writing(context.repositories, caller, token.person or ""):
        return await context.repositories.tokens.revoke(token_id)
