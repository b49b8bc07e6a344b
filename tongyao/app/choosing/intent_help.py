"""What an intent still lacks: read by an engine that costs nothing, before anything is started or kept."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.requests import FormulationRequest, Material, Piece
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.value import Value

MOST_CHARS: Final = 20_000
PROFILE_CHARS: Final = 15_000
"""Of the profile, from its beginning: an answer is wanted while somebody writes."""
Lens = Literal["T", "I", "B", "E"]
LENSES: Final[tuple[Lens, ...]] = ("T", "I", "B", "E")


class Found(Value):
    """One sentence that says something of a lens, verbatim. `source`: where it stands."""

    lens: Lens
    source: Literal["intent", "profile"]
    text: str = Field(description="As its author wrote it.")


async def read_intent(context: AppContext, caller: Caller, intent: str) -> list[Found]:
    """What is said already, at most one sentence for each lens, those of the intent first; a lens that is missing was not spoken of.

    Nothing is stored and no service is asked. Raises `BadInput`, and `NotAllowed` for who starts no processes.
    """
    permit(caller, Action.START_PROCESS)
    if len(intent) > MOST_CHARS:
        raise BadInput("too_long", f"these are {len(intent):,} characters; at most {MOST_CHARS:,}", field="intent")
    if context.sort_intent is None or not intent.strip():
        return []
    profile = await _profile(context, caller.person)
    material = Material(pieces=(Piece(start=0, text=profile),), total_chars=len(profile)) if profile else None
    language: Literal["en", "zh"] = "zh" if language_of(intent) == "zh" else "en"
    draft = await context.sort_intent(FormulationRequest(language=language, intent=intent, material=material))
    found = []
    for lens in LENSES:
        quotes = [one.quote for one in draft.quotes if one.line.startswith(lens)]
        quotes.sort(key=lambda quote: quote not in intent)
        if quotes:
            source: Literal["intent", "profile"] = "intent" if quotes[0] in intent else "profile"
            found.append(Found(lens=lens, source=source, text=quotes[0]))
    return found


async def _profile(context: AppContext, person: str) -> str:
    """The beginning of the person's profile as it stands; empty without one."""
    known = await context.repositories.profiles.get_many([person])
    if person not in known:
        return ""
    version = await context.repositories.profiles.version(person)
    text = await context.repositories.profile_text(ProfileRef(profile_id=person, version=version.version))
    return text[:PROFILE_CHARS]
