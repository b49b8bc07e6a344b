"""Help with writing an intent. On request, the engine that will formulate the intent reads it before the start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, Literal

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext, IntentReader
from tongyao.app.errors import BadInput, NotOffered
from tongyao.app.quotas import check_day_budget
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.requests import FormulationRequest, Material
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Lens, TensionDraft
from tongyao.protocol.model.value import Value

MOST_CHARS: Final = 20_000
PROFILE_CHARS: Final = 15_000
"""Characters from the beginning of the profile that are read. The limit keeps the answer fast while a person writes."""
MOST_SUGGESTIONS: Final = 4


class Found(Value):
    """A verbatim sentence with material for a lens. `source`: the text that contains the sentence."""

    lens: Lens
    source: Literal["intent", "profile"]
    text: str = Field(description="As its author wrote it.")


async def ask_engine(context: AppContext, caller: Caller, intent: str) -> AsyncIterator[list[Found]]:
    """Yield all sentences found so far, at most one for each lens, each time the engine has found more.

    The engine is the one that will formulate the intent. It is called when the first list is awaited. Raises
    `BadInput`, `NotAllowed`, `QuotaReached` if a day budget is used up, and `NotOffered` if that engine is free of
    charge or unknown. The iterator raises `Unavailable`.
    """
    permit(caller, Action.START_PROCESS)
    if len(intent) > MOST_CHARS:
        raise BadInput("too_long", f"these are {len(intent):,} characters; at most {MOST_CHARS:,}", field="intent")
    if context.intent_reader is None:
        raise NotOffered("not_offered", "no model reads intents here before they are started")
    if not intent.strip():
        raise BadInput("intent_missing", "write what you want first, in your own words")
    await check_day_budget(context, caller, caller.person)
    request = _request(await _profile(context, caller.person), intent)
    return _each(context.intent_reader, request, caller.person)


class Suggestion(Value):
    """A suggested request, as a question, and the verbatim passage of the person's profile on which it rests."""

    question: str
    quote: str


async def suggest_from_profile(context: AppContext, caller: Caller) -> list[Suggestion]:
    """Suggest intents to the caller: at most four questions, each from a passage of their profile. Nothing is stored.

    Raises `BadInput` without a profile, `NotAllowed`, `NotOffered` without a model, `QuotaReached`, `Unavailable`.
    """
    permit(caller, Action.START_PROCESS)
    if context.intent_reader is None:
        raise NotOffered(
            "not_offered",
            "no model reads profiles here, so nothing is suggested: sample intents show what others asked for",
        )
    profile = await _profile(context, caller.person)
    if not profile:
        raise BadInput("no_profile", "there is no profile to read: introduce yourself first")
    await check_day_budget(context, caller, caller.person)
    request = _request(profile, "")
    drafts = [draft async for draft in context.intent_reader.suggest(request, person=caller.person)]
    return _suggestions(drafts[-1], profile)


def _suggestions(draft: TensionDraft, profile: str) -> list[Suggestion]:
    """Return the questions that quote a passage of the profile. Other suggestions are left out."""
    found = []
    for number, question in enumerate(draft.barriers[:MOST_SUGGESTIONS], 1):
        quotes = [
            said.quote.strip() for said in draft.quotes if said.line.strip() == f"B{number}" and said.quote.strip()
        ]
        quote = next((quote for quote in quotes if quote in profile), "")
        if quote and question.strip().endswith(("?", "？")):
            found.append(Suggestion(question=question.strip(), quote=quote))
    return found


async def most_of_reading(context: AppContext, person: str, intent: str) -> Decimal | None:
    """Return the highest possible cost of `ask_engine` in US dollars; None if the help is not offered."""
    if context.intent_reader is None:
        return None
    return context.intent_reader.most(_request(await _profile(context, person), intent))


async def _each(reader: IntentReader, request: FormulationRequest, person: str) -> AsyncIterator[list[Found]]:
    async for draft in reader.read(request, person=person):
        yield _found(draft, request)


def _request(profile: str, intent: str) -> FormulationRequest:
    """Make the request in the language of the intent; without an intent, in the language of the profile."""
    material = Material.whole(profile) if profile else None
    return FormulationRequest(
        language=language_of(intent or profile), began=datetime.now(UTC).date(), intent=intent, material=material
    )


def _found(draft: TensionDraft, request: FormulationRequest) -> list[Found]:
    """Return for each lens the first quote that occurs in the intent, or else in the profile. Omits other quotes."""
    sources: dict[Literal["intent", "profile"], str] = {"intent": request.intent}
    if request.material is not None:
        sources["profile"] = request.material.pieces[0].text
    found = []
    for lens in Lens:
        quotes = [
            quoted.quote.strip() for quoted in draft.quotes if quoted.line.startswith(lens) and quoted.quote.strip()
        ]
        for source, text in sources.items():
            if (quote := next((words for words in quotes if words in text), None)) is not None:
                found.append(Found(lens=lens, source=source, text=quote))
                break
    return found


async def _profile(context: AppContext, person: str) -> str:
    """Return the beginning of the person's current profile. Empty without a profile."""
    known = await context.repositories.profiles.known([person])
    if person not in known:
        return ""
    text = await context.repositories.profile_text(ProfileRef(profile_id=person, version=known[person]))
    return text[:PROFILE_CHARS]
