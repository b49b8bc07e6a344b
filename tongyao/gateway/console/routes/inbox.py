"""The inbox, which is the home page: the open asks to the visitor, the most urgent first, with forms to answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from starlette.datastructures import FormData

from tongyao.app.action_permissions import Role
from tongyao.app.errors import BadInput, Problem, Refused
from tongyao.app.messaging.given_names import preview
from tongyao.app.people.consents import SceneConsentBody, set_consent
from tongyao.app.processes import ProcessSummary, list_processes, party_view
from tongyao.gateway.console import asks, reading
from tongyao.gateway.console.asks import Answering, keep_draft, one_waiting, projection_message, waiting
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.visit import Form, SignedIn, Visit, dollars_in, lines_in, text_in
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.rules.consent import Consent

router = APIRouter()

AskId = Annotated[str, Path(max_length=200)]

_MOST: Final = 5
"""Processes on the home page for each role. The page of all processes shows the others."""
_NEW: Final = timedelta(days=14)
"""The home page shows a process for this time after its end."""


@dataclass(frozen=True)
class HomeEntry:
    """One process of the visitor. `asked`: the visitor is its demander.

    `page`: the page to link to, below the process's address; empty for the process's own page. `by_proxy`: only the
    proxy has spoken for the visitor. `left`: the visitor has left the process. `paused`: it is suspended (shown only to
    the demander).
    """

    id: str
    title: str
    phase: str
    asked: bool
    page: str
    by_proxy: bool
    left: bool
    paused: bool


@dataclass(frozen=True)
class Home:
    """The home page. `plans`: processes with plans, newest first. `running`: other processes. `newcomer`: there are
    none."""

    plans: tuple[HomeEntry, ...]
    running: tuple[HomeEntry, ...]
    newcomer: bool


@router.get("/")
async def show_inbox(
    visit: SignedIn,
    done: Annotated[str, Query(max_length=20, pattern="^[a-z_]*$")] = "",
    of: Annotated[str, Query(max_length=200)] = "",
    round: Annotated[int, Query(ge=0, le=1_000)] = 0,
    decided: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """Show the home page. `done`: the action that was just taken. `of`: its process. `round`: the round in which late
    words count. `decided`: the id of the ask just answered; it is hidden, because the records may still list it.
    """
    found, total = await waiting(visit)
    asks = [ask for ask in found if ask.id != decided]
    total -= len(found) - len(asks)
    home = await home_of(visit, asks)
    return page(
        visit, "inbox.html", asks=asks, total=total, done=_since(done, of, asks, home), of=of, round=round, home=home
    )


def _since(done: str, of: str, asks: list[Answering], home: Home) -> str:
    """Return `done`, with `_next` if the process already asks for the next round, or `_over` if its plan is written."""
    if done not in ("send", "nothing_new", "proxy") or not of:
        return done
    waiting = [ask.ask for ask in asks if ask.ask.process_id == of]
    if any(ask.ask == "projection" for ask in waiting) and done != "proxy":
        return f"{done}_next"
    written = any(ask.ask == "answer" for ask in waiting) or any(plan.id == of for plan in home.plans)
    return f"{done}_over" if written else done


@router.get("/asks/{process_id}/{ask:path}")
async def show_ask(visit: SignedIn, process_id: Id, ask: AskId) -> Response:
    return page(visit, "ask.html", one=await one_waiting(visit, process_id, ask))


@router.post("/asks/{process_id}/{ask:path}")
async def answer(visit: SignedIn, form: Form, process_id: Id, ask: AskId) -> Response:
    """Answer the ask in the path. Therefore the form of a closed ask cannot answer another ask."""
    answering = await one_waiting(visit, process_id, ask)
    return await (_answer_turn if answering.ask.ask in asks.SAID else _answer_other)(visit, form, process_id, answering)


async def _answer_turn(visit: Visit, form: FormData, process_id: str, answering: Answering) -> Response:
    """Take the words for a turn or gap, or another action. Every button also stores the words as a draft."""
    do = text_in(form, "do")
    if "words" in form:
        await keep_draft(visit, answering, form)
    if do == "keep":
        return Response(status_code=204)
    if do == "preview":
        answering.preview = await preview(visit.context, visit.caller, process_id, answering.words, _names(form))
        return page(visit, "ask.html", one=answering)
    if do == "leave":
        answering.leaving = True
        return page(visit, "ask.html", one=answering)
    try:
        message = _message(do, answering)
        if message["kind"] == "submit_projection" and not message.get("nothing_new"):
            message["names"] = _names(form)
        receipt = await asks.send(visit, process_id, message, form)
    except (BadInput, Refused) as problem:
        return _again(visit, answering, problem, form)
    if do in ("send", "leave_now"):
        await visit.context.repositories.drafts.remove(visit.caller.person, answering.id)
    done = "waiting" if receipt.state == "waiting" else "later" if receipt.later else do
    done = "gap" if answering.ask.ask == "gap" and done != "waiting" else done
    over = f"&decided={quote(answering.id, safe='')}" if do in ("proxy", "leave_now") else ""
    return go_to(f"/?done={done}&of={quote(process_id)}&round={receipt.round or 0}{over}")


async def _answer_other(visit: Visit, form: FormData, process_id: str, answering: Answering) -> Response:
    """Take an answer that is a choice between buttons."""
    try:
        message = _choice(answering, form)
        if text_in(form, "do") == "scene" and answering.ask.consent is not None:
            allow = SceneConsentBody(consent=Consent.ALLOW)
            await set_consent(visit.context, visit.caller, visit.caller.person, answering.ask.consent.scene, allow)
        receipt = await asks.send(visit, process_id, message, form)
    except (BadInput, Refused) as problem:
        return _again(visit, answering, problem, form)
    answered = f"consent_{text_in(form, 'do')}" if answering.ask.ask == "consent" else "answered"
    return go_to(
        f"/?done={'waiting' if receipt.state == 'waiting' else answered}&decided={quote(answering.id, safe='')}"
    )


def _names(form: Form) -> list[str] | None:
    """Return the names that the author confirmed for these words; None if the author saw no preview of these words."""
    if "names" not in form or text_in(form, "previewed").split() != text_in(form, "words").split():
        return None
    return lines_in(form, "names")


def _message(do: str, answering: Answering) -> dict[str, Any]:
    match do:
        case "send":
            return projection_message(answering)
        case "nothing_new":
            return {"kind": "submit_projection", "round": answering.ask.round, "nothing_new": True}
        case "proxy":
            return {"kind": "switch_endpoint", "endpoint": "proxy"}
        case "more_time":
            return {"kind": "extend_deadline", "seconds": turn_seconds(answering)}
        case "leave_now":
            return {"kind": "leave"}
    raise BadInput("no_such_answer", "choose one of the buttons", field="do")


def turn_seconds(answering: Answering) -> int:
    """Return the length of the turn in seconds. The visitor may extend the turn by this time once."""
    if answering.ask.due_at is None:
        return answering.ask.remaining_seconds or 3600
    due, opened = datetime.fromisoformat(answering.ask.due_at), datetime.fromisoformat(answering.ask.opened_at)
    return max(60, int((due - opened).total_seconds()))


def _choice(answering: Answering, form: FormData) -> dict[str, Any]:
    do = text_in(form, "do")
    match answering.ask.ask:
        case "hole" if do == "replan":
            return _replan(answering)
        case "decision":
            return _decision(answering, do, form)
        case "resume":
            do = "resume"
    if (number := _ANSWERS.get(answering.ask.ask, {}).get(do)) is None:
        raise BadInput("no_such_answer", "choose one of the buttons", field="do")
    return answering.ask.messages[number]


_ANSWERS: Final[dict[str, dict[str, int]]] = {
    "replan": {"replan": 0, "conclude": 1},
    "residual": {"yes": 0, "no": 1},
    "hole": {"yes": 0, "no": 1},
    "candidate": {"yes": 0, "no": 1},
    "consent": {"once": 0, "scene": 0, "myself": 1, "no": 2},
    "resume": {"resume": 0},
    "confirm_tension": {"": 0, "confirm": 0},
}
"""The message that each button of an ask sends: its number among the messages that answer the ask (`life.asks`).

Asks with a page of their own have no buttons here."""


def _decision(answering: Answering, do: str, form: FormData) -> dict[str, Any]:
    message: dict[str, Any] = {"kind": "decide", "decision": do, "ask": answering.ask.id}
    if do == "add_participants":
        message["participants"] = [person for person in form.getlist("person") if isinstance(person, str)]
    if do == "raise_budget":
        given = {"tokens": text_in(form, "tokens").strip(), "cost": dollars_in(form, "cost")}
        message |= {name: limit for name, limit in given.items() if limit}
    return message


def _replan(answering: Answering) -> dict[str, Any]:
    answers = answering.ask.view.answers if answering.ask.view and answering.ask.view.answers else {}
    return {
        "kind": "replan",
        "without": [alias for alias, answer in answers.items() if answer == "decline"],
        "proposals": [alias for alias, answer in answers.items() if answer == "propose"],
    }


def _again(visit: Visit, answering: Answering, problem: Problem, form: FormData) -> Response:
    """Return the same page with the problem and with everything that was written."""
    answering.problem = problem
    return page(visit, "ask.html", one=answering, written=form, problem=problem)


async def home_of(visit: Visit, asks: Sequence[Answering]) -> Home:
    """Return recent processes without an open ask to the visitor. Operators get none; they have a separate page."""
    if visit.caller.role is not Role.PERSON:
        return Home((), (), newcomer=False)
    found: dict[str, ProcessSummary] = {}
    for role in ("demander", "participant"):
        listed = await list_processes(visit.context.repositories, visit.caller, role=role, limit=_MOST)
        found |= {process.id: process for process in listed.processes}
    shown = {ask.ask.process_id for ask in asks}
    recent = [process for process in found.values() if process.id not in shown and _is_recent(process)]
    recent.sort(key=lambda process: process.ended_at or process.created_at, reverse=True)
    entries = [await _entry(visit, process) for process in recent]
    return Home(
        plans=tuple(entry for entry in entries if entry.page),
        running=tuple(
            entry for entry, of in zip(entries, recent, strict=True) if not entry.page and of.ended_at is None
        ),
        newcomer=not found and not asks,
    )


def _is_recent(process: ProcessSummary) -> bool:
    return process.ended_at is None or datetime.now(UTC) - process.ended_at < _NEW


async def _entry(visit: Visit, process: ProcessSummary) -> HomeEntry:
    access = await visit.access(process.id)
    view = await party_view(visit.context.repositories, access)
    asked = access.role is Role.DEMANDER
    page = "plan" if asked and view.plan else "delivery" if view.delivery else "plan" if view.plan else ""
    by_proxy = bool(view.own) and all(said.author is EndpointKind.PROXY for said in view.own or ())
    return HomeEntry(
        process.id, reading.title_of(view), process.phase, asked, page, by_proxy, view.left, bool(process.suspended)
    )
