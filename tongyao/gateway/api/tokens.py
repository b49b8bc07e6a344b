"""Tokens, and the identity of the caller."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import permit
from tongyao.app.messaging.wire import checked_key
from tongyao.app.people import tokens
from tongyao.gateway.api.common import Caller, Context, Key
from tongyao.protocol.model.ids import Id
from tongyao.records.people.tokens import Issued, Token

router = APIRouter(tags=["tokens"])


@router.get("/me")
async def who_am_i(caller: Caller) -> dict[str, str]:
    """The role and the person of this token, with the seat if it has one."""
    permit(caller, Action.WHO_AM_I)
    seat = {"process_id": caller.process_id, "alias": caller.alias} if caller.alias else {}
    return {"role": caller.role.value, "person": caller.person, **seat}


@router.post("/tokens", status_code=201)
async def issue_token(body: tokens.IssueTokenBody, context: Context, caller: Caller, key: Key = None) -> Issued:
    """Create a further token. Its secret is shown only once. A key is required, but a repeat creates a new token."""
    checked_key(key)
    return await tokens.issue_token(context, caller, body)


@router.get("/tokens")
async def list_tokens(context: Context, caller: Caller) -> list[Token]:
    """Your own tokens, without the secrets."""
    return await tokens.list_tokens(context, caller)


@router.delete("/tokens/{token_id}")
async def revoke_token(token_id: Id, context: Context, caller: Caller) -> Token:
    """Revoke a token. Requests with it are refused from now on."""
    return await tokens.revoke_token(context, caller, token_id)
