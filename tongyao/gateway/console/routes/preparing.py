"""The demander's pages before the rounds: the tension beside the intent, and the candidates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import Response
from starlette.datastructures import FormData

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import ProcessAccess
from tongyao.app.choosing.candidates import candidates
from tongyao.app.choosing.open_residuals import child_cost
from tongyao.app.choosing.tension_words import words_of_tension
from tongyao.app.errors import BadInput, NotAllowed, Problem, Refused
from tongyao.app.messaging.inbox import Ask
from tongyao.app.messaging.messages import Receipt
from tongyao.app.messaging.party_events import History, read_history
from tongyao.app.messaging.records_follow import not_shown_yet, tension_sent, wait_for_records
from tongyao.app.processes import party_view
from tongyao.gateway.console import asks, reading
from tongyao.gateway.console.intent_highlights import left_over, pieces
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.texts import LANGUAGES, say
from tongyao.gateway.console.visit import Form, SignedIn, Visit, lines_in, text_in, words_in
from tongyao.protocol.identity.listed import parts_of_line
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.steps import FORMULATE
from tongyao.protocol.model.tension import MISSING

router = APIRouter(prefix="/processes/{process_id}")

_STOP_SECONDS: Final = 30 * 24 * 3600
"""Seconds by which the time to confirm is extended when the demander stops the countdown."""
_COUNTED_SECONDS: Final = 3600
"""A countdown is shown if at most this many seconds are left."""
_BEFORE_CHOOSING: Final = (Phase.FORMULATING, Phase.CONFIRMING, Phase.DISCOVERING)


@router.get("/tension")
async def show_tension(
    visit: SignedIn, process_id: Id, message: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """Show the tension. `message`: the id of the message that was just sent from this page."""
    return await _tension_page(visit, process_id, message=message)


@router.post("/tension")
async def answer_tension(visit: SignedIn, form: Form, process_id: Id) -> Response:
    do = text_in(form, "do")
    try:
        if do == "stop":
            message: dict[str, Any] = {"kind": "extend_deadline", "alias": DEMANDER, "seconds": _STOP_SECONDS}
        elif do == "revise":
            message = {"kind": "revise_tension", "tension": _written(form), "ask": text_in(form, "ask")}
        else:
            message = {"kind": "confirm_tension", "ask": text_in(form, "ask")}
        receipt = await _send(visit, process_id, message, form)
    except (BadInput, Refused) as problem:
        return await _tension_page(visit, process_id, problem=problem, written=form)
    page = "" if do == "confirm" else "/tension"
    return go_to(f"/processes/{process_id}{page}?message={quote(receipt.id, safe='')}")


def _written(form: FormData) -> dict[str, Any]:
    return {
        "transition": text_in(form, "transition").strip(),
        "initial_state": text_in(form, "initial_state").strip() or MISSING,
        "barriers": lines_in(form, "barriers") or [MISSING],
        "exchange": text_in(form, "exchange").strip() or MISSING,
        "names": _names(lines_in(form, "names")),
    }


def _names(lines: list[str]) -> list[dict[str, str]]:
    """Return the names of these lines. Each line has one name."""
    return list({part["name"]: part for part in map(parts_of_line, lines)}.values())


async def _send(visit: Visit, process_id: str, message: dict[str, Any], form: FormData) -> Receipt:
    """Send a message and wait until the records contain its effect, so that the next page shows it.

    Raises `Problem`s: `BadInput` for an invalid message.
    """
    receipt = await asks.send(visit, process_id, message, form)
    if receipt.state == "applied":
        await wait_for_records(visit.context, receipt.id, seconds=visit.context.options.answer_seconds)
    return receipt


async def _tension_page(
    visit: Visit,
    process_id: str,
    *,
    message: str = "",
    problem: Problem | None = None,
    written: FormData | None = None,
) -> Response:
    # The events are read first, so none of them is newer than the view.
    history = await read_history(visit.context, visit.caller, process_id, limit=None)
    access = await _of_demander(visit, process_id)
    view = await party_view(visit.context.repositories, access)
    quoted = await words_of_tension(visit.context, access)
    receipt = await asks.receipt_of(visit, message)
    behind = await not_shown_yet(visit.context, process_id, message) if receipt else None
    if behind is not None and (sent := await tension_sent(visit.context, behind)) is not None:
        view, quoted = view.model_copy(update={"tension": sent}), []
    ask = await asks.waiting_in(visit, process_id, "confirm_tension") if behind is None else None
    shown = pieces(view.intent, view.tension, quoted) if view.intent and view.tension and not view.title else []
    return page(
        visit,
        "tension.html",
        view=view,
        title=reading.title_of(view),
        parent=access.process.parent_id,
        pieces=shown,
        unlit=left_over(shown),
        of_profile=list({piece.text: piece for piece in quoted if piece.source == "profile"}.values()),
        ask=ask,
        left=_seconds_left(ask),
        receipt=receipt,
        behind=behind,
        unsorted=await _why_unsorted(visit, access, history) if behind is None else "",
        shown_event=history.next or "",
        problem=problem,
        written=written,
    )


async def _why_unsorted(visit: Visit, access: ProcessAccess, history: History) -> str:
    """Return the reason why T is the raw intent and the other parts are missing: `budget` or `engine`. Otherwise empty.

    If the budget did not cover the call of `formulate`, the ledger of model calls has no entry for it.
    """
    told = [event for event in history.events if event.kind in (EventKind.FORMULATION_READY, EventKind.TENSION_REVISED)]
    if not told or not told[-1].data.get("fallback"):
        return ""
    calls = await visit.context.repositories.ledger.calls(access.process.id)
    return "engine" if any(call.step == FORMULATE.name for call in calls) else "budget"


def _seconds_left(ask: Ask | None) -> int:
    """Return the first value of the countdown, or 0 if no countdown is shown."""
    if ask is None or ask.due_at is None:
        return 0
    left = int((datetime.fromisoformat(ask.due_at) - datetime.now(UTC)).total_seconds())
    return left if 0 < left <= _COUNTED_SECONDS else 0


@router.get("/people")
async def show_people(visit: SignedIn, process_id: Id) -> Response:
    return await _people_page(visit, process_id)


@router.post("/people")
async def choose_people(visit: SignedIn, form: Form, process_id: Id) -> Response:
    chosen = [person for person in form.getlist("person") if isinstance(person, str)]
    try:
        named = [person for person in words_in(form, "others") if person not in chosen]
        speaks = {person: text_in(form, f"endpoint-{person}") for person in chosen}
        speaks |= {person: text_in(form, "endpoint-others") for person in named}
        people = [{"profile_id": person, "endpoint": endpoint or None} for person, endpoint in speaks.items()]
        await _check_number(visit, process_id, len(people))
        message = {"kind": "select_participants", "participants": people, "ask": text_in(form, "ask")}
        receipt = await _send(visit, process_id, message, form)
    except BadInput as problem:
        if unknown := problem.details.get("ids"):
            problem = _in_words("unknown_profiles", "people.unknown", ids=", ".join(unknown), own=visit.caller.person)
        return await _people_page(visit, process_id, problem=problem, given=form)
    except Refused as problem:
        return await _people_page(visit, process_id, problem=problem, given=form)
    return go_to(f"/processes/{process_id}?message={quote(receipt.id, safe='')}")


async def _check_number(visit: Visit, process_id: str, chosen: int) -> None:
    """Raise `BadInput` with the required number if too few or too many people are chosen."""
    access = await _of_demander(visit, process_id)
    settings = ProcessSettings.model_validate(access.process.settings)
    needed = max(1, settings.quorum)
    if chosen < needed:
        words = {
            language: say(language, "people.too_few", n=chosen, needed=say(language, "people.needed", n=needed))
            for language in LANGUAGES
        }
        raise BadInput("too_few_chosen", words["en"], zh=words["zh"])
    if chosen > settings.max_others:
        raise _in_words("too_many_chosen", "people.too_many", chosen=chosen, n=settings.max_others)


def _in_words(code: str, key: str, **values: Any) -> BadInput:
    """Return a problem with texts of the catalogue, in English and Chinese."""
    return BadInput(code, say("en", key, **values), zh=say("zh", key, **values))


async def _people_page(
    visit: Visit, process_id: str, *, problem: Problem | None = None, given: FormData | None = None
) -> Response:
    """Return the page. `given`: the form of a refused choice."""
    # The events are read first, so none of them is newer than the view.
    history = await read_history(visit.context, visit.caller, process_id, limit=None)
    people = await candidates(visit.context.repositories, visit.caller, process_id)
    access = await _of_demander(visit, process_id)
    view = await party_view(visit.context.repositories, access)
    parent = access.process.parent_id
    closed = await visit.context.repositories.events.of_kind(process_id, EventKind.CONSENT_CLOSED)
    return page(
        visit,
        "people.html",
        view=view,
        title=reading.title_of(view),
        people=people,
        parent=parent,
        cost=await child_cost(visit.context, await visit.access(parent)) if parent else None,
        most=ProcessSettings.model_validate(access.process.settings).max_others,
        ask=await asks.waiting_in(visit, process_id, "select_participants"),
        looking=view.phase in _BEFORE_CHOOSING,
        shown_event=history.next or "",
        consents=reading.consents(closed),
        chosen=[one.profile_id for one in people if one.taken] if given is None else given.getlist("person"),
        given=given,
        problem=problem,
    )


async def _of_demander(visit: Visit, process_id: str) -> ProcessAccess:
    """Return the demander's access. Raises `NotAllowed` for everybody else in the process."""
    access = await visit.access(process_id)
    if access.role is not Role.DEMANDER:
        raise NotAllowed("this page is for the person who asked")
    return access
