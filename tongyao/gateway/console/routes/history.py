"""The page of all processes of the visitor, open processes first, with the children of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import Response

from tongyao.app.action_permissions import Role
from tongyao.app.processes import ProcessSummary, list_processes, party_view
from tongyao.gateway.console import reading
from tongyao.gateway.console.pages import page
from tongyao.gateway.console.visit import SignedIn, Visit

router = APIRouter()

_PAGE: Final = 25
_MOST_LOOKED_AT: Final = 200
"""Limit of a search by words, for each role. Titles are encrypted, so the search decrypts the title of each process."""
Side = Literal["demander", "participant"]


@dataclass
class Listed:
    """A process with its title and children. `budget`: of its tree, in US dollars; empty if costs are not visible."""

    process: ProcessSummary
    title: str
    budget: str
    children: list[Listed] = field(default_factory=list)


@router.get("/processes")
async def show_processes(
    visit: SignedIn,
    role: Literal["demander", "participant", ""] = "",
    state: Literal["open", "ended", ""] = "",
    since: date | Literal[""] = "",
    words: Annotated[str, Query(max_length=100)] = "",
    cursor: Annotated[str, Query(max_length=300)] = "",
    cursor_participant: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """Show the processes of one role. Without `role`: of both roles together, each role with its own cursor."""
    after = datetime.combine(since, time(), visit.place) if since else None
    sides: list[Side] = [role] if role else ["demander", "participant"]
    if visit.caller.role is not Role.PERSON:
        sides = sides[:1]
    cursors = {"demander": cursor, "participant": cursor_participant}
    older = bool(cursor or cursor_participant)
    found, following = list[ProcessSummary](), dict[str, str]()
    for side in sides:
        if older and not cursors[side]:
            continue  # all processes of this role were shown
        listed, rest = await _listed(
            visit, side, {"open": True, "ended": False}.get(state), after, cursors[side], words
        )
        found += [process for process in listed if process.id not in {known.id for known in found}]
        if rest:
            following["cursor" if side == "demander" else "cursor_participant"] = rest
    found.sort(
        key=lambda process: (not process.waits_for_you, process.ended_at is not None, -process.created_at.timestamp())
    )
    rows = [await _row(visit, process) for process in found]
    wanted = words.strip().lower()
    shown = _in_trees([row for row in rows if not wanted or wanted in row.title.lower()])
    asked = {"role": role, "state": state, "since": str(since), "words": words}
    next_page = urlencode({**asked, **following}) if following else ""
    return page(visit, "processes.html", rows=shown, asked=asked, following=next_page)


async def _listed(
    visit: Visit, side: Side, open: bool | None, since: datetime | None, cursor: str, words: str
) -> tuple[list[ProcessSummary], str]:
    """Return a page of a role's processes (to search by `words`: `_MOST_LOOKED_AT`) and the cursor of the next page."""
    found = list[ProcessSummary]()
    while True:
        listed = await list_processes(
            visit.context.repositories,
            visit.caller,
            role=side,
            open=open,
            since=since,
            limit=_PAGE,
            cursor=cursor or None,
        )
        found += listed.processes
        cursor = listed.next or ""
        if not cursor or not words.strip() or len(found) >= _MOST_LOOKED_AT:
            return found, cursor


async def _row(visit: Visit, process: ProcessSummary) -> Listed:
    access = await visit.access(process.id)
    operator = process.role is Role.OPERATOR  # sees no texts
    title = process.id if operator else reading.title_of(await party_view(visit.context.repositories, access))
    budget = access.process.settings.get("cost_budget") if process.cost is not None else None
    return Listed(process, title, str(budget or ""))


def _in_trees(rows: list[Listed]) -> list[Listed]:
    """Put children below their parents if both are on the page. Returns the rows without a parent on the page."""
    known = {row.process.id: row for row in rows}
    for row in reversed(rows):
        if row.process.parent in known:
            known[row.process.parent].children.append(row)
    return [row for row in rows if row.process.parent not in known]
