"""What others will read of what somebody is about to say.

Names of other people stay in a preview. A mark in the place of one would tell its author who is in the room.
"""

from __future__ import annotations

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.app.messaging.wire import MAX_TEXT
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules import read_access


class Preview(Value):
    """`text`: as the catalyst gets it. `named`: whether the author's name is known here. `open_record`: whether the others read it
    after the plan, too.
    """

    text: str
    named: bool
    open_record: bool


async def preview(context: AppContext, caller: Caller, process_id: str, text: str) -> Preview:
    """What others would read of these words: the author's own names, addresses and markup are replaced as `views` does."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.SEND_MESSAGE)
    if len(text) > MAX_TEXT:
        raise BadInput("too_long", f"these are {len(text):,} characters; at most {MAX_TEXT:,}", field="words")
    record = await context.repositories.record(access.process)
    seats = (record.demander, *record.participants)
    return Preview(
        named=any(seat.identities for seat in seats if seat.alias == access.alias),
        text=read_access.own_anonymizer(record, access.alias).text(text, author=access.alias),
        open_record=access.process.open_record,
    )
