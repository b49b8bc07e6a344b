"""Figures about all processes, for operators: running, waiting, suspended and failed processes, model calls, notifications."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Final, Literal, LiteralString

from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository

ProcessState = Literal["running", "waiting", "suspended", "failed"]
"""`running`: a step is being executed. `waiting`: for a person or a date. `suspended`: open, with a cause. `failed`: ended by a failure."""

_CONDITIONS: Final[dict[ProcessState, LiteralString]] = {
    "running": "p.ended_at IS NULL AND p.suspended = '{}' AND NOT p.waiting",
    "waiting": "p.ended_at IS NULL AND p.suspended = '{}' AND p.waiting",
    "suspended": "p.ended_at IS NULL AND p.suspended <> '{}'",
    "failed": "p.phase = 'failed'",
}


class StateCounts(Value):
    """Processes by state. `failed`: processes that failed in the requested hours."""

    running: int
    waiting: int
    suspended: int
    failed: int


class OpenAsk(Value):
    """An open ask of a process. `alias` is empty if the ask is for an operator."""

    ask: str
    alias: str
    round: int = 0
    subject: str = ""
    others: int | None = None
    ends_answers: bool = False
    due_at: datetime | None = None


class ProcessLine(Value):
    """One process in a list for operators. `last_suspension`: the reason for its last suspension, a text of Tongyao, not of a person."""

    id: str
    run_id: str
    phase: str
    round: int
    suspended: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    last_suspension: str
    asks: tuple[OpenAsk, ...] = ()


class SuspendedProcess(Value):
    """One cause that suspends one process. `held`: the number of processes suspended by this code, including this one."""

    code: str
    process_id: str
    run_id: str
    phase: str
    round: int
    since: datetime | None
    reason: str
    kind: str
    held: int


class StepFigures(Value):
    """Model calls of one step. `cost` is a lower bound unless `cost_known`.

    `median_seconds`: duration of settled calls; None if no call was settled.
    """

    step: str
    calls: int
    failed: int
    rate_limited: int
    median_seconds: float | None
    cost: Decimal
    cost_known: bool


class CallsInWait(Value):
    """Model calls that wait for an answer from outside. `oldest`: when the first of them was made; None if there is none."""

    count: int
    oldest: datetime | None


class FailureCount(Value):
    """The number of model calls that failed for one reason. `reason` is a closed word."""

    reason: str
    count: int


class ChannelFigures(Value):
    """Notifications through one channel, by their result. `pending` counts pending ones of any age."""

    channel: str
    sent: int
    failed: int
    pending: int


class Overview(Repository):
    """Queries over all processes. They read no texts of people."""

    async def counts(self, *, hours: int) -> StateCounts:
        found = await self._one(
            StateCounts,
            f"""SELECT count(*) FILTER (WHERE {_CONDITIONS["running"]}) AS running,
                   count(*) FILTER (WHERE {_CONDITIONS["waiting"]}) AS waiting,
                   count(*) FILTER (WHERE {_CONDITIONS["suspended"]}) AS suspended,
                   count(*) FILTER (WHERE {_CONDITIONS["failed"]}) AS failed
                FROM processes p WHERE p.ended_at IS NULL OR p.ended_at > now() - make_interval(hours => %s)""",
            [hours],
        )
        assert found is not None
        return found

    async def lines(self, state: ProcessState, *, limit: int = 50, hours: int | None = None) -> list[ProcessLine]:
        """Processes in this state, oldest first. For `failed`: newest first, of the last `hours` if given."""
        order: LiteralString = "p.ended_at DESC, p.id" if state == "failed" else "p.created_at, p.id"
        return await self._all(
            ProcessLine,
            f"""SELECT p.id, p.run_id, p.phase, p.round, p.suspended, p.created_at, p.updated_at, p.ended_at,
                   COALESCE((SELECT e.data ->> 'reason' FROM events e WHERE e.process_id = p.id
                       AND e.kind = 'suspended' AND NOT e.superseded ORDER BY e.seq DESC LIMIT 1), '')
                       AS last_suspension,
                   (SELECT COALESCE(jsonb_agg(jsonb_build_object('ask', i.ask, 'alias', i.alias, 'due_at', i.due_at, 'round', i.round,
                       'subject', i.subject, 'others', i.others, 'ends_answers', i.ends_answers)
                       ORDER BY i.due_at NULLS LAST, i.id), '[]') FROM inbox i
                    WHERE i.process_id = p.id AND i.closed_at IS NULL) AS asks
                FROM processes p WHERE {_CONDITIONS[state]}
                  AND (%(hours)s::int IS NULL OR p.ended_at > now() - make_interval(hours => %(hours)s))
                ORDER BY {order} LIMIT %(limit)s""",
            {"limit": limit, "hours": hours},
        )

    async def suspended(self) -> list[SuspendedProcess]:
        """Suspended processes by cause, the most frequent cause first: of each cause the 50 longest suspended."""
        return await self._all(
            SuspendedProcess,
            """SELECT code, process_id, run_id, phase, round, since, reason, kind, held FROM (
                   SELECT code, p.id AS process_id, p.run_id, p.phase, p.round, e.at AS since,
                          COALESCE(e.data ->> 'reason', '') AS reason, COALESCE(e.data ->> 'kind', '') AS kind,
                          count(*) OVER (PARTITION BY code) AS held,
                          row_number() OVER (PARTITION BY code ORDER BY e.at, p.id) AS place
                   FROM processes p CROSS JOIN unnest(p.suspended) AS code
                   LEFT JOIN LATERAL (SELECT at, data FROM events WHERE process_id = p.id AND kind = 'suspended'
                       AND NOT superseded AND data ->> 'code' = code ORDER BY seq DESC LIMIT 1) e ON true
                   WHERE p.ended_at IS NULL) AS found
               WHERE place <= 50 ORDER BY held DESC, code, place""",
        )

    async def steps(self, *, hours: int) -> list[StepFigures]:
        """Model calls claimed in the last `hours`, by step."""
        return await self._all(
            StepFigures,
            """SELECT step, count(*) AS calls,
                   count(*) FILTER (WHERE state = 'failed' AND error_reason <> 'superseded') AS failed,
                   count(*) FILTER (WHERE error_reason IN ('rate_limited', 'overloaded')) AS rate_limited,
                   percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - claimed_at))
                       FILTER (WHERE state = 'settled') AS median_seconds,
                   COALESCE(sum(cost), 0) AS cost, COALESCE(bool_and(cost_known)
                       FILTER (WHERE state IN ('settled', 'failed', 'orphaned')), true) AS cost_known
               FROM model_calls WHERE claimed_at > now() - make_interval(hours => %s)
               GROUP BY step ORDER BY min(claimed_at)""",
            [hours],
        )

    async def waiting_calls(self) -> CallsInWait:
        """The model calls of open processes that wait for an answer from outside."""
        found = await self._one(
            CallsInWait,
            """SELECT count(*) AS count, min(m.claimed_at) AS oldest FROM model_calls m
               JOIN processes p ON p.id = m.process_id WHERE m.state = 'waiting' AND p.ended_at IS NULL""",
        )
        assert found is not None
        return found

    async def failures(self, *, hours: int) -> list[FailureCount]:
        """The reasons for which model calls claimed in the last `hours` failed. The most frequent reason comes first."""
        return await self._all(
            FailureCount,
            """SELECT error_reason AS reason, count(*) AS count FROM model_calls
               WHERE claimed_at > now() - make_interval(hours => %s) AND state = 'failed'
                 AND error_reason <> 'superseded' GROUP BY 1 ORDER BY 2 DESC, 1""",
            [hours],
        )

    async def channels(self, *, hours: int) -> list[ChannelFigures]:
        """Notifications by channel: those that ended in the last `hours`, and all pending notifications."""
        return await self._all(
            ChannelFigures,
            """SELECT channel, count(*) FILTER (WHERE state = 'sent') AS sent,
                   count(*) FILTER (WHERE state = 'failed') AS failed,
                   count(*) FILTER (WHERE state = 'pending') AS pending
               FROM notifications
               WHERE state = 'pending' OR ended_at > now() - make_interval(hours => %s)
               GROUP BY channel ORDER BY channel""",
            [hours],
        )
