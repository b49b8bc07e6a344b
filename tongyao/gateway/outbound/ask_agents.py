"""Asking people's own agents when their turn waits, and handing in what they say through the message relay.

What an agent said is stored under a key made of the round before anything else happens: however often it is asked, what
was said first counts, and what the person said themself is corrected by no agent.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from tongyao.app.agents import source_of
from tongyao.app.authorization import Standing
from tongyao.app.context import Gateway
from tongyao.app.messages import deliver, view_of
from tongyao.app.permissions import Role
from tongyao.app.problems import Problem, Refused
from tongyao.app.profile_source import SourceError
from tongyao.app.wire import MAX_TEXT, SubmitProjection, read
from tongyao.gateway.outbound.agent_question import question, says_nothing
from tongyao.protocol.rules.refusals import Refusal
from tongyao.records.database import RecordsError
from tongyao.records.people.sources import SourceTurn

log = structlog.get_logger()

IDLE_SECONDS: Final = 2.0
ATTEMPTS: Final = 6
NOT_YET: Final = frozenset({Refusal.PROXY_SPEAKS.value})
"""Refusals that may pass while the turn still waits."""


def retry_seconds(attempts: int) -> float:
    """How long after try number `attempts` the next one is: 10 s, then three times as long each time, at most 1 h."""
    return float(min(10 * 3 ** (attempts - 1), 3600))


class Asking:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def run(self, stop: asyncio.Event, *, idle: float = IDLE_SECONDS) -> None:
        """Until `stop`. Any number may run; each turn is with one of them at a time."""
        while not stop.is_set():
            try:
                await self.once()
            except RecordsError as error:
                log.warning("agents wait for the records", error=type(error).__name__)
            try:
                await asyncio.wait_for(stop.wait(), idle)
            except TimeoutError:
                continue

    async def once(self) -> int:
        """Ask for every turn that waits now; returns how many."""
        due = await self._gateway.library.sources.due()
        await asyncio.gather(*(self._ask(turn) for turn in due))
        return len(due)

    async def _ask(self, turn: SourceTurn) -> None:
        sources = self._gateway.library.sources
        where = {"process": turn.process_id, "alias": turn.alias, "round": turn.round}
        try:
            await self._speak(turn)
        except SourceError as error:
            over = error.permanent or turn.attempts >= ATTEMPTS
            log.warning("an agent did not answer", **where, why=error.code, over=over)
            if over:
                await sources.ended(turn, "failed", error.code)
            else:
                await sources.postpone(turn, retry_seconds(turn.attempts), error.code)
        except Refused as refused:
            if refused.code in NOT_YET:
                await sources.postpone(turn, retry_seconds(turn.attempts), refused.code)
            else:
                await sources.ended(turn, "refused", refused.code)
        except Problem as problem:
            await sources.ended(turn, "failed", problem.code)
        except Exception as error:  # a source of somebody's own: whatever it raises ends nothing else
            log.error("a source failed", **where, error=type(error).__name__)
            await sources.postpone(turn, retry_seconds(turn.attempts), "failed")

    async def _speak(self, turn: SourceTurn) -> None:
        library = self._gateway.library
        source = await source_of(self._gateway, turn.person)
        row = await library.processes.get(turn.process_id)
        author = f"participant:{turn.person}"
        standing = Standing(row, Role.PARTICIPANT, turn.person, turn.alias, author)
        asked = question(await view_of(self._gateway, standing), round_number=turn.round, language=row.language)
        answer = await source.chat(asked)
        if not answer.strip():
            raise SourceError("empty", "the agent answered nothing")
        if len(answer) > MAX_TEXT:
            raise SourceError("too_long", f"the agent answered more than {MAX_TEXT:,} characters")
        if not await library.sources.still_waits(turn):
            await library.sources.ended(turn, "refused", "answered_otherwise")
            return
        silent = says_nothing(answer)
        incoming = SubmitProjection(
            kind="submit_projection", round=turn.round, text="" if silent else answer, nothing_new=silent
        )
        message, words = read(incoming, standing, f"source/{turn.round}")
        await deliver(self._gateway, standing, message, words, via="source")
        await library.sources.ended(turn, "said")
