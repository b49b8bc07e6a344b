"""Asks of the inbox with the data of their pages, and the conversion of answer forms to messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from starlette.datastructures import FormData

from tongyao.app.authorization import ProcessAccess
from tongyao.app.choosing.open_residuals import ChildCost, child_cost
from tongyao.app.errors import BadInput, NotAllowed, NotFound, Problem, validated
from tongyao.app.messaging.given_names import Preview
from tongyao.app.messaging.inbox import Ask, count_waiting, find_ask, inbox
from tongyao.app.messaging.messages import Receipt, message_state, send_message
from tongyao.app.people.scenes import SceneView, list_scenes
from tongyao.app.processes import party_view
from tongyao.app.writing import writing
from tongyao.gateway.console import reading
from tongyao.gateway.console.visit import Visit, text_in
from tongyao.protocol.life.asks import does
from tongyao.protocol.model.events import AskName, EventKind, Waiting
from tongyao.protocol.model.ids import ask_id
from tongyao.protocol.model.messages import MAX_TEXT, MESSAGE_BODY
from tongyao.protocol.model.projection import Projection
from tongyao.records.privacy.drafts import KeptDraft

PAGE_OF: Final = {"confirm_tension": "tension", "select_participants": "people", "answer": "delivery"}
"""Asks that are answered on a page of their process. The others are answered in the inbox."""

SAID: Final = ("projection", "gap")
"""Asks that are answered with a free text."""

SHOWN: Final = 25
"""Asks on the first page. Each takes about a tenth of a second to load."""


@dataclass
class Answering:
    """An ask with the visitor's draft of an answer, and with the data of its page."""

    ask: Ask
    title: str = ""
    concerning: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    words: str = ""
    draft: KeptDraft | None = None
    preview: Preview | None = None
    problem: Problem | None = None
    leaving: bool = False
    correcting: bool = False
    last_said: Projection | None = None
    scene: str = ""
    cost: ChildCost | None = None
    cause: str = ""

    @property
    def id(self) -> str:
        """The id of the ask in the records."""
        return f"{self.ask.process_id}/{self.ask.id}"

    @property
    def path(self) -> str:
        """The path of the ask's own page, below the console's base."""
        return _path(self.ask)

    @property
    def place(self) -> str:
        return place_of(self.ask)


def place_of(ask: Ask) -> str:
    """Return the path at which the ask is answered, below the console's base."""
    page = PAGE_OF.get(ask.ask)
    return f"/processes/{ask.process_id}/{page}" if page else _path(ask)


def _path(ask: Ask) -> str:
    return f"/asks/{ask.process_id}/{ask.id}"


async def waiting(visit: Visit) -> tuple[list[Answering], int]:
    """Return the open asks to the visitor, the most urgent first, at most `SHOWN`, and their total number."""
    asks = await inbox(visit.context, visit.caller, with_view=True, most=SHOWN)
    total = len(asks) if len(asks) < SHOWN else await count_waiting(visit.context, visit.caller)
    return [await _prepared(visit, ask) for ask in asks], total


async def one_waiting(visit: Visit, process_id: str, id: str) -> Answering:
    """Return an open ask, or the answered turn that the visitor may correct. Raises `NotFound` if there is neither."""
    if (found := await find_ask(visit.context, visit.caller, process_id, id)) is not None:
        return await _prepared(visit, found)
    if (again := await _answered(visit, process_id, id)) is not None:
        return again
    raise NotFound("not_waiting", "this question is not open for you, or no longer")


async def waiting_in(visit: Visit, process_id: str, kind: str = "") -> Ask | None:
    """Return the most urgent open ask to the visitor in a process, of the `kind` if it is not empty."""
    asks = await inbox(visit.context, visit.caller)
    return next((ask for ask in asks if ask.process_id == process_id and kind in ("", ask.ask)), None)


async def _answered(visit: Visit, process_id: str, id: str) -> Answering | None:
    """Return the turn of the current round that the visitor has answered and may correct, or None."""
    try:
        access = await visit.access(process_id)
    except (NotFound, NotAllowed):
        return None
    view = await party_view(visit.context.repositories, access)
    turn = own_turn(access, view.round)
    if id != turn.id or view.said_now is None:
        return None
    ask = Ask(
        process_id=process_id,
        id=turn.id,
        ask=turn.ask,
        alias=access.alias,
        en=does(turn, "en"),
        zh=does(turn, "zh"),
        round=view.round,
        due_at=None,
        opened_at="",
        answer_with="",
        view=view,
    )
    found = await _prepared(visit, ask)
    found.correcting = True
    found.words = found.words or view.said_now
    return found


def own_turn(access: ProcessAccess, number: int) -> Waiting:
    """Return the visitor's ask of a round, open or closed: their turn, or without a seat the gaps addressed to them."""
    id = ask_id("say", number, access.alias) if access.seated else ask_id("gap", number)
    return Waiting(id=id, ask=AskName.PROJECTION if access.seated else AskName.GAP, alias=access.alias, round=number)


async def _prepared(visit: Visit, ask: Ask) -> Answering:
    answering = Answering(ask=ask)
    if ask.consent is not None:
        answering.scene = (await scene_titles(visit)).get(ask.consent.scene, ask.consent.scene)
        answering.title = reading.title_of_words(ask.consent.title, None, ask.consent.tension)
    if ask.view is not None:
        answering.title = reading.title_of(ask.view)
        last = (ask.view.observations or (None,))[-1]
        if last is not None:
            answering.concerning = reading.concerning(last, ask.view.you)
        if ask.ask in SAID:
            answering.unanswered = reading.unanswered(ask.view)
            answering.last_said = reading.last_said(ask.view, ask.round)
    if ask.ask == "decision":
        asked = await visit.context.repositories.events.of_kind(ask.process_id, EventKind.DECISION_NEEDED)
        answering.cause = str(asked[-1].data.get("cause", "")) if asked else ""
        if answering.cause == "quorum" and _enough(ask):
            answering.cause = "silence"  # enough people are in the room, so the cause is that nobody spoke
    if ask.ask in ("residual", "hole"):
        answering.cost = await child_cost(visit.context, await visit.access(ask.process_id))
    if ask.ask in SAID and visit.caller.person:
        answering.draft = await visit.context.repositories.drafts.get(visit.caller.person, answering.id)
        if answering.draft is not None:
            answering.words = answering.draft.text
    return answering


def _enough(ask: Ask) -> bool:
    chosen = ask.choices
    return chosen is not None and (chosen.present or 0) >= max(chosen.needed or 0, 1)


async def scenes_there(visit: Visit) -> list[SceneView]:
    """Return all scenes, with their titles in the visitor's language."""
    return [
        scene.model_copy(update={"title": scene.titles.get(visit.language, scene.title)})
        for scene in await list_scenes(visit.context)
    ]


async def scene_titles(visit: Visit) -> dict[str, str]:
    """Return the title of each scene, by its id."""
    return {scene.id: scene.title or scene.id for scene in await scenes_there(visit)}


async def keep_draft(visit: Visit, answering: Answering, form: FormData) -> None:
    """Store the form's words as a private draft and in `answering`. Empty words delete it. Raises `BadInput`."""
    answering.words = text_in(form, "words")
    drafts, person = visit.context.repositories.drafts, visit.caller.person
    if len(answering.words) > MAX_TEXT:
        raise BadInput("too_long", f"this is too long to be kept: at most {MAX_TEXT:,} characters", field="words")
    async with writing(visit.context.repositories, visit.caller):
        if answering.words.strip():
            await drafts.keep(person, answering.id, answering.words)
            answering.draft = await drafts.get(person, answering.id)
        else:
            await drafts.remove(person, answering.id)
            answering.draft = None


def projection_message(answering: Answering) -> dict[str, Any]:
    """Return the message with the written words. Raises `BadInput` if there are none."""
    if not answering.words.strip():
        raise BadInput("nothing_said", "nothing is written yet; if you have nothing new, say so below")
    return {"kind": "submit_projection", "round": answering.ask.round, "text": answering.words}


async def receipt_of(visit: Visit, message_id: str) -> Receipt | None:
    """Return the receipt of a message. None without an id, and for other people's messages."""
    try:
        return await message_state(visit.context, visit.caller, message_id) if message_id else None
    except Problem:
        return None


async def send(visit: Visit, process_id: str, message: dict[str, Any], form: FormData) -> Receipt:
    """Send a message with the idempotency key of its form, so that a form that is sent twice makes one message.

    Raises `Problem`s: `BadInput` for an invalid message.
    """
    body = validated(MESSAGE_BODY, message)
    return await send_message(
        visit.context, visit.caller, process_id, body, key=text_in(form, "key") or None, via="console"
    )
