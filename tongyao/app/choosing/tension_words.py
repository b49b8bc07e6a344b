"""The demander's own words on which each line of their tension rests. Only the demander may read them."""

from __future__ import annotations

from pydantic import Field

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import ProcessAccess
from tongyao.app.context import AppContext
from tongyao.app.errors import NotAllowed
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.tension import Source
from tongyao.protocol.model.value import Value


class LineWords(Value):
    """`text` is the slice `[start:end]` of the intent or of the demander's profile, unchanged."""

    line: str = Field(description="T, I, B1…, E.")
    source: Source
    start: int
    end: int
    text: str


async def words_of_tension(context: AppContext, access: ProcessAccess) -> list[LineWords]:
    """Return the words in the order of the lines. Empty if the tension was not formulated here. Raises `NotAllowed`."""
    if access.role is not Role.DEMANDER:
        raise NotAllowed("only the person who asked may read the words behind a tension")
    record = await context.repositories.record(access.process, own=(DEMANDER,))
    if record.own_tension is None or not record.own_tension.spans:
        return []
    texts = {"intent": record.intent}
    if record.demander.profile is not None:
        texts["profile"] = await context.repositories.profile_text(record.demander.profile)
    return [
        LineWords(line=one.line, source=one.source, start=one.start, end=one.end, text=words)
        for one in record.own_tension.spans
        if (words := texts.get(one.source, "")[one.start : one.end].strip())
    ]
