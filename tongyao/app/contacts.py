"""Contacts: how people who committed to a plan reach each other, and the demander's words to them (docs/plans.md)."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, ProcessAccess, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import NotFound
from tongyao.app.quotas import check_storage
from tongyao.app.writing import writing
from tongyao.protocol.model.messages import MAX_CONTACT
from tongyao.protocol.model.value import Body

_DESCRIPTION: Final = (
    "How the people who commit can reach you, and what you tell them. An empty text also withdraws an earlier one."
)


class ContactGiven(Body):
    text: str = Field(max_length=MAX_CONTACT, description=_DESCRIPTION)


async def give_contact(context: AppContext, caller: Caller, process_id: str, body: ContactGiven) -> None:
    """Store the caller's contact for the people who commit, in place of an earlier one.

    Only the demander and people who commit read it. Raises `NotFound` without a plan, `NotAllowed`, `QuotaReached`.
    """
    access = await authorize_in_process(context.repositories, caller, process_id, Action.GIVE_CONTACT)
    if await context.repositories.plans.latest(process_id) is None:
        raise NotFound("no_plan_yet", f"{process_id} has no plan (yet)")
    await keep_contact(context, access, body.text)


async def keep_contact(context: AppContext, access: ProcessAccess, text: str) -> None:
    """Like `give_contact`, for a caller who is already authorized. Raises `QuotaReached`."""
    async with writing(context.repositories, access.caller, access.person):
        await check_storage(context, access.caller, access.person, chars=len(text))
        await context.repositories.contacts.put(access.process.id, access.alias, text)
