"""Asks people's own agents when a turn waits for them, and sends their answers as messages.

The key of an answer is made from the round, so only the first answer counts if the agent is asked several times. An
agent never corrects a statement of its owner.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import structlog

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import ProcessAccess
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem, Refused
from tongyao.app.messaging.messages import send_as
from tongyao.app.people.agents import source_of
from tongyao.app.people.profile_source import ChatMessage, SourceError
from tongyao.app.processes import party_view
from tongyao.gateway.outbound.deliveries import Deliveries, retry_seconds
from tongyao.protocol.model.messages import MAX_TEXT, SubmitProjectionBody
from tongyao.protocol.rules.read_access import PartyView, Stands
from tongyao.protocol.rules.refusals import Refusal
from tongyao.records.people.sources import SourceTurn
from tongyao.texts.catalogue import catalogue, worded

log = structlog.get_logger()

ATTEMPTS: Final = 6
SECONDS: Final = 150.0
"""Limit of one conversation with an agent, with the renewal of its token. It is shorter than the lease of a turn."""
NOT_YET: Final = frozenset({Refusal.PROXY_SPEAKS.value})
"""Refusals whose reason may end while the turn waits. After such a refusal the answer is sent again later."""
NOTHING_NEW: Final = "NOTHING NEW"
_pause = partial(retry_seconds, first=10, factor=3, most=3600)


class AgentCaller(Deliveries[SourceTurn]):
    """Asks agents until it is stopped."""

    what = "agents"

    def __init__(self, context: AppContext) -> None:
        super().__init__(context.repositories.changes)
        self._context = context

    async def due(self, most: int, *, of_one: int, running: Counter[str]) -> Sequence[SourceTurn]:
        return await self._context.repositories.sources.due(most, of_one=of_one, running=running) if most else ()

    async def deliver(self, turn: SourceTurn) -> None:
        sources = self._context.repositories.sources
        where = {"process": turn.process_id, "alias": turn.alias, "round": turn.round}
        try:
            await self._answer(turn)
        except SourceError as error:
            over = error.permanent or turn.attempts >= ATTEMPTS
            log.warning("an agent did not answer", **where, why=error.code, over=over)
            if over:
                await sources.ended(turn, "failed", error.code)
            else:
                await sources.postpone(turn, _pause(turn.attempts), error.code)
        except Refused as refused:
            if refused.code in NOT_YET:
                await sources.postpone(turn, _pause(turn.attempts), refused.code)
            else:
                await sources.ended(turn, "refused", refused.code)
        except Problem as problem:
            await sources.ended(turn, "failed", problem.code)
        except Exception as error:  # a source that was added to the installation may raise any exception
            log.error("a source failed", **where, error=type(error).__name__)
            await sources.postpone(turn, _pause(turn.attempts), "failed")

    async def _answer(self, turn: SourceTurn) -> None:
        repositories = self._context.repositories
        source = await source_of(self._context, turn.person)
        row = await repositories.processes.get(turn.process_id)
        access = ProcessAccess(row, Role.PARTICIPANT, turn.person, turn.alias, f"participant:{turn.person}")
        view = await party_view(self._context.repositories, access)
        try:
            async with asyncio.timeout(SECONDS):
                answer = await source.chat(_question(view, round_number=turn.round, language=row.language))
        except TimeoutError:
            raise SourceError("timed_out", f"the agent did not answer within {SECONDS:.0f} s") from None
        if not answer.strip():
            raise SourceError("empty", "the agent's answer is empty")
        if len(answer) > MAX_TEXT:
            raise SourceError("too_long", f"the agent answered more than {MAX_TEXT:,} characters")
        if not await repositories.sources.still_waits(turn):
            await repositories.sources.ended(turn, "refused", "answered_otherwise")
            return
        nothing_new = answer.strip().strip(".。!！*\"'`").upper() == NOTHING_NEW
        body = SubmitProjectionBody(
            kind="submit_projection", round=turn.round, text="" if nothing_new else answer, nothing_new=nothing_new
        )
        await send_as(self._context, access, body, key=f"source/{turn.round}", via="source")
        await repositories.sources.ended(turn, "said")


def _question(view: PartyView, *, round_number: int, language: str) -> list[ChatMessage]:
    """Return the conversation of one turn. It contains nothing that other participants said."""
    shown: dict[str, Any] = {"tension": True, "stands": {"relations", "notes"}, "own": True}
    seen = json.loads(view.model_dump_json(include=shown, exclude_none=True))
    seen["words"] = view.observations[-1].words if view.observations else ""
    stands = view.stands or Stands()
    seen["asked"] = [id for id, gap in stands.asked.items() if gap.alias == view.you and gap.outcome == "open"]
    values = {"alias": view.you, "round": round_number, "nothing": NOTHING_NEW}
    task = worded(catalogue("outbound"), language, "agents.task", **values)
    return [
        ChatMessage(role="system", content=task),
        ChatMessage(role="user", content=json.dumps(seen, ensure_ascii=False)),
    ]
