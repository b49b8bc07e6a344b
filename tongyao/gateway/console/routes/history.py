"""All processes of the visitor, those that go on first; the tree of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import authorize_in_process
from tongyao.app.processes import ProcessSummary, list_processes, party_view
from tongyao.gateway.api.common import action
from tongyao.gateway.console import reading
from tongyao.gateway.console.pages import page
from tongyao.gateway.console.visit import SignedIn, Visit

router = APIRouter()

_PAGE: Final = 25


@dataclass
class Listed:
    """A process with its title, and below it what came out of it."""

    process: ProcessSummary
    title: str
    children: list[Listed] = field(default_factory=list)


@router.get("/processes", openapi_extra=action(Action.LIST_PROCESSES))
async def show_processes(
    visit: SignedIn,
    role: Literal["demander", "participant"] | None = None,
    state: Literal["open", "ended", ""] = "",
    since: Annotated[str, Query(max_length=10, pattern=r"^(\d{4}-\d{2}-\d{2})?$")] = "",
    words: Annotated[str, Query(max_length=100)] = "",
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> Response:
    """Without `role`: what one asked and what one takes part in, together. `words` is looked for in the titles of a page."""
    after = datetime.combine(date.fromisoformat(since), time(), visit.place) if since else None
    roles: list[Literal["demander", "participant"]] = [role] if role else ["demander", "participant"]
    if visit.caller.role is not Role.PERSON:
        roles = roles[:1]
    found, following = list[ProcessSummary](), None
    for one in roles:
        listed = await list_processes(
            visit.context,
            visit.caller,
            role=one,
            open={"open": True, "ended": False}.get(state),
            since=after,
            limit=_PAGE,
            cursor=cursor,
        )
        found += [process for process in listed.processes if process.id not in {known.id for known in found}]
        following = listed.next if len(roles) == 1 else following
    found.sort(key=lambda one: (not one.waits_for_you, one.ended_at is not None, -one.created_at.timestamp()))
    rows = _in_trees([Listed(process, await _title(visit, process)) for process in found])
    wanted = words.strip().lower()
    shown = [row for row in rows if not wanted or wanted in row.title.lower()]
    asked = {"role": role or "", "state": state, "since": since, "words": words}
    return page(visit, "processes.html", rows=shown, asked=asked, following=following)


async def _title(visit: Visit, process: ProcessSummary) -> str:
    if process.role is Role.OPERATOR:
        return process.id
    access = await authorize_in_process(visit.context.repositories, visit.caller, process.id, Action.READ_PROCESS)
    return reading.title_of(await party_view(visit.context, access)) or process.id


def _in_trees(rows: list[Listed]) -> list[Listed]:
    """Children below their parents, where both are on the page."""
    known = {row.process.id: row for row in rows}
    for row in reversed(rows):
        if row.process.parent in known:
            known[row.process.parent].children.append(row)
    return [row for row in rows if row.process.parent not in known]
