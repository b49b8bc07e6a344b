"""Preview of a person's words as others will read them.

Names are proposed from the words alone. A mark for a name that only the room knows would reveal who takes part.
"""

from __future__ import annotations

from collections.abc import Sequence

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.app.messaging.given_names import names_in
from tongyao.protocol.identity.marks import Hidden, Marker, forms_to_hide, seat
from tongyao.protocol.model.messages import MAX_TEXT
from tongyao.protocol.model.value import Value


class Preview(Value):
    """`text`: as others read it. `named`: whether the author's name is known here. `open_record`: whether others also
    read it after the plan. `names`: texts taken for names of persons; the author confirms or changes them."""

    text: str
    named: bool
    open_record: bool
    names: tuple[str, ...] = ()


async def preview(
    context: AppContext, caller: Caller, process_id: str, text: str, names: Sequence[str] | None = None
) -> Preview:
    """Return the words without the author's own names, `names` (None: the proposed ones), addresses and markup."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.SEND_MESSAGE)
    if len(text) > MAX_TEXT:
        raise BadInput("too_long", f"these are {len(text):,} characters; at most {MAX_TEXT:,}", field="words")
    found = await names_in(text, names)
    faces = await context.repositories.profiles.summaries([(access.person, None)])
    own = [name for face in faces.values() for name in face.identities]
    hidden = Hidden(forms=forms_to_hide(Hidden(), [[name] for name in found], authors=[seat(process_id, access.alias)]))
    return Preview(
        named=bool(own),
        text=Marker(hidden, {access.alias: own}, process_id).text(text, author=access.alias),
        open_record=access.process.open_record,
        names=tuple(name.name for name in found),
    )
