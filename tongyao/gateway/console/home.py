"""What the home page shows besides what waits: plans to read, and the processes that go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import authorize_in_process
from tongyao.app.processes import ProcessSummary, list_processes, party_view
from tongyao.gateway.console import reading
from tongyao.gateway.console.asks import Answering
from tongyao.gateway.console.visit import Visit
from tongyao.protocol.model.projection import EndpointKind

_MOST: Final = 5
"""Of each role: the page of all processes shows the others."""
_NEW: Final = timedelta(days=14)
"""For so long after its end a process and its plan stand on the home page."""


@dataclass(frozen=True)
class Entry:
    """One process of the visitor's. `page`: of the process, below its address; empty for the process itself. `by_proxy`: all
    that was said for the visitor so far, their proxy said. `left`: the visitor takes no part in it any more.
    `paused`: it is suspended; known to whoever asked.
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
    """`plans`: written, the newest first; `running`: without one yet. `newcomer`: has no process at all."""

    plans: tuple[Entry, ...]
    running: tuple[Entry, ...]
    newcomer: bool


async def home_of(visit: Visit, asks: Sequence[Answering]) -> Home:
    """Without what waits for the visitor already. Operators have a page of their own."""
    if visit.caller.role is not Role.PERSON:
        return Home((), (), newcomer=False)
    found: dict[str, ProcessSummary] = {}
    for role in ("demander", "participant"):
        listed = await list_processes(visit.context, visit.caller, role=role, limit=_MOST)
        found |= {one.id: one for one in listed.processes}
    shown = {one.ask.process_id for one in asks}
    recent = [one for one in found.values() if one.id not in shown and _is_recent(one)]
    recent.sort(key=lambda one: one.ended_at or one.created_at, reverse=True)
    entries = [await _entry(visit, one) for one in recent]
    return Home(
        plans=tuple(one for one in entries if one.page),
        running=tuple(one for one, of in zip(entries, recent, strict=True) if not one.page and of.ended_at is None),
        newcomer=not found and not asks,
    )


def _is_recent(one: ProcessSummary) -> bool:
    return one.ended_at is None or datetime.now(UTC) - one.ended_at < _NEW


async def _entry(visit: Visit, one: ProcessSummary) -> Entry:
    access = await authorize_in_process(visit.context.repositories, visit.caller, one.id, Action.READ_PROCESS)
    view = await party_view(visit.context, access)
    asked = access.role is Role.DEMANDER
    page = "plan" if asked and view.plan else "delivery" if view.delivery else "plan" if view.plan else ""
    by_proxy = bool(view.own) and all(said.author is EndpointKind.PROXY for said in view.own or ())
    return Entry(one.id, reading.title_of(view), one.phase, asked, page, by_proxy, view.left, bool(one.suspended))
