"""Tokens, and who one is with them."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.app import profiles
from tongyao.app.authorization import permit
from tongyao.app.messages import checked_key
from tongyao.app.permissions import Action
from tongyao.app.wire import Id
from tongyao.gateway.api.common import Here, Key, Who, action
from tongyao.records.people.tokens import Issued, Token

router = APIRouter(tags=["tokens"])


@router.get("/me", openapi_extra=action(Action.WHO_AM_I))
async def who_am_i(who: Who) -> dict[str, str]:
    permit(who, Action.WHO_AM_I)
    token = who.token
    seat = {"process_id": token.process_id, "alias": token.alias} if token and token.alias and token.process_id else {}
    return {"role": who.role.value, "person": who.person, **seat}


@router.post("/tokens", status_code=201, openapi_extra=action(Action.ISSUE_TOKEN))
async def issue_token(wish: profiles.TokenWish, here: Here, who: Who, key: Key = None) -> Issued:
    """A further token; its secret is shown this once. The key is asked for as everywhere, but a repeat makes a new one."""
    checked_key(key)
    return await profiles.issue(here, who, wish)


@router.get("/tokens", openapi_extra=action(Action.LIST_TOKENS))
async def list_tokens(here: Here, who: Who) -> list[Token]:
    return await profiles.tokens(here, who)


@router.delete("/tokens/{token_id}", openapi_extra=action(Action.REVOKE_TOKEN))
async def revoke_token(token_id: Id, here: Here, who: Who) -> Token:
    return await profiles.revoke(here, who, token_id)
