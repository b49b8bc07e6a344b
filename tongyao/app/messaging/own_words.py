"""What somebody has said in the open round, and what others will read of what they are about to say.

Names of other people stay in a preview. A mark in the place of one would tell its author who is in the room.
"""

from __future__ import annotations

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, ProcessAccess, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.app.messaging.wire import MAX_TEXT
from tongyao.app.reading import Reading
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.read_access import PartyView


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
        named=any(one.identities for one in seats if one.alias == access.alias),
        text=read_access.own_anonymizer(record, access.alias).text(text, author=access.alias),
        open_record=access.process.open_record,
    )


class SaidNow(Value):
    """What somebody said in the open round, which they may still correct. `text`: empty where they said that nothing is new."""

    text: str


async def said_in_open_round(context: Reading, access: ProcessAccess, view: PartyView) -> SaidNow | None:
    """What the reader of `view` said themself in the round that is open; None where they did not, or can no longer correct it.

    Their words come into the record when the gate closes. Until then they are texts of messages.
    """
    taken = any(turn.round == view.round for turn in view.own or ())
    if view.phase is not Phase.CRYSTALLIZING or taken or view.left:
        return None
    said = await context.repositories.messages.said_last(access.process.id, access.author_id, view.round)
    if said is None:
        return None
    texts = await context.repositories.texts.get_many([said.text_id] if said.text_id else [], erased="")
    return SaidNow(text=texts.get(said.text_id or "", ""))
