"""Notifies people that somebody acted in their name on the machine (docs/api.md, "Roles")."""

from __future__ import annotations

import uuid
from typing import Literal

from tongyao.app.action_permissions import MESSAGE_PERMISSIONS, Role
from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.protocol.rules.consent import GIVEN_ON_THE_MACHINE
from tongyao.records.people.notifications import Notice

Act = Literal["token_made", "profile_written", "demanded", "spoken_for"]


async def tell_acted_for(context: AppContext, caller: Caller, person: str, act: Act, *, process_id: str = "") -> None:
    """Notify a person of an action for them on the machine, unless their profile was imported on the machine."""
    if not caller.on_the_machine or not person:
        return
    known = await context.repositories.profiles.get_many([person])
    if person in known and known[person].origin not in GIVEN_ON_THE_MACHINE:
        notice = Notice(
            source=f"acted/{uuid.uuid4().hex}",
            person=person,
            process_id=process_id,
            about={"what": act, "by": caller.login},
        )
        await context.repositories.notifications.tell(notice)


async def tell_spoken_for(context: AppContext, caller: Caller, person: str, kind: str, *, process_id: str) -> None:
    """Notify a person that a message was sent for them, if operators may not send messages of this kind."""
    roles = MESSAGE_PERMISSIONS[kind]
    if roles and Role.OPERATOR not in roles:
        await tell_acted_for(context, caller, person, "spoken_for", process_id=process_id)
