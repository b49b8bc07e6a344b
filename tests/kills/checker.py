"""What processes left behind, judged by the database and Temporal alone: every acknowledged message once, rows as the state says.

It knows nothing of how the messages were sent or what was killed meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus

from tongyao.protocol.contracts.process import STATE_QUERY
from tongyao.protocol.life.snapshot import snapshot
from tongyao.protocol.life.state import State
from tongyao.protocol.rules.refusals import MessageVerdict

Row = dict[str, Any]


@dataclass(frozen=True)
class Acknowledged:
    """What a sender was told of the message with this key. `said`: `applied`, `waiting`, or the code of a refusal."""

    process_id: str
    key: str
    said: str


@dataclass(frozen=True)
class Applied:
    """An update that a run of the workflow has answered. `run`: its number, from 0."""

    update: str
    run: int
    verdict: MessageVerdict


class Checker:
    """`examine` returns everything that is wrong, in words."""

    def __init__(self, database_url: str, client: Client) -> None:
        self._database_url, self._client = database_url, client

    async def ended(self, processes: Iterable[str]) -> bool:
        """Whether the records know of the end of all of these."""
        rows = await self._rows("SELECT id FROM processes WHERE id = ANY(%s) AND ended_at IS NULL", list(processes))
        return not rows

    async def tree(self, roots: Sequence[str]) -> list[Row]:
        """The rows of these processes and of all below them."""
        return await self._rows("SELECT * FROM processes WHERE root_id = ANY(%s) ORDER BY id", list(roots))

    async def open_in_tree(self, roots: Sequence[str]) -> list[str]:
        """Those of the tree of whose end the records do not know."""
        return [row["id"] for row in await self.tree(roots) if row["ended_at"] is None]

    async def story(self, process_id: str) -> str:
        """What became of a process so far, without words: its settings, candidates and seats, and every event."""
        (row,) = await self._rows("SELECT parent_id, settings FROM processes WHERE id = %s", process_id)
        found = await self._rows(
            "SELECT perspective, profile_id, round FROM candidates WHERE process_id = %s", process_id
        )
        seats = await self._rows("SELECT alias, endpoint, active FROM seats WHERE process_id = %s", process_id)
        events = await self._rows("SELECT kind, data FROM events WHERE process_id = %s ORDER BY seq", process_id)
        told = [f"{one['kind']} {one['data']}" for one in events]
        return f"{row}; candidates {found}; seats {seats}; " + "; ".join(told)

    async def calls_by_state(self, processes: Sequence[str]) -> Counter[str]:
        """How many attempts at model calls ended how."""
        query: LiteralString = "SELECT state, count(*) AS times FROM model_calls WHERE process_id = ANY(%s) GROUP BY 1"
        return Counter({row["state"]: row["times"] for row in await self._rows(query, list(processes))})

    async def examine(self, process_id: str, acknowledged: Iterable[Acknowledged]) -> list[str]:
        """Of a process that has ended: whatever is not as it must be."""
        wrong: list[str] = []
        (row,) = await self._rows("SELECT * FROM processes WHERE id = %s", process_id)
        described = await self._client.get_workflow_handle(process_id).describe()
        if described.status is not WorkflowExecutionStatus.COMPLETED:
            wrong.append(f"the workflow is {described.status and described.status.name}")
            return wrong
        messages = await self._rows("SELECT * FROM messages WHERE process_id = %s", process_id)
        applied = await self._applied(process_id)
        state: State = await self._client.get_workflow_handle(process_id).query(STATE_QUERY, result_type=State)
        wrong += _messages(messages, applied)
        wrong += _acknowledged(messages, acknowledged)
        wrong += _lanes(messages, applied, state)
        wrong += await self._calls(process_id)
        wrong += await self._projections_of(state, row)
        return wrong

    async def _applied(self, process_id: str) -> list[Applied]:
        """Every update that was answered, in the order of all runs."""
        histories = []
        run_id: str | None = None
        while True:
            history = await self._client.get_workflow_handle(process_id, run_id=run_id).fetch_history()
            histories.append(history)
            began = history.events[0].workflow_execution_started_event_attributes
            run_id = began.continued_execution_run_id
            if not run_id:
                break
        found = []
        for number, history in enumerate(reversed(histories)):
            for event in history.events:
                if event.event_type != EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
                    continue
                completed = event.workflow_execution_update_completed_event_attributes
                (verdict,) = await self._client.data_converter.decode(
                    completed.outcome.success.payloads, type_hints=[MessageVerdict]
                )
                found.append(Applied(completed.meta.update_id, number, verdict))
        return found

    async def _calls(self, process_id: str) -> list[str]:
        calls = await self._rows(
            """SELECT step, round, alias, revision, reask, state, count(*) AS times FROM model_calls
               WHERE process_id = %s GROUP BY 1, 2, 3, 4, 5, 6""",
            process_id,
        )
        twice = [call for call in calls if call["state"] == "settled" and call["times"] > 1]
        left = [call for call in calls if call["state"] == "claimed"]
        held = await self._rows(
            "SELECT key FROM reservations WHERE NOT settled AND starts_with(key, %s || '/')", process_id
        )
        miscounted = await self._rows(
            """SELECT b.settled_tokens, b.settled_cost, used.tokens, used.cost FROM budgets b CROSS JOIN LATERAL (
                   SELECT COALESCE(sum(m.cost), 0) AS cost, COALESCE(sum(m.input_tokens + m.cache_write_tokens
                       + m.cache_read_tokens + m.output_tokens), 0) AS tokens
                   FROM model_calls m JOIN processes p ON p.id = m.process_id WHERE p.root_id = b.root_id) AS used
               WHERE b.root_id = %s AND (b.settled_tokens, b.settled_cost) <> (used.tokens, used.cost)""",
            process_id,
        )
        return (
            [f"settled twice: {call}" for call in twice]
            + [f"neither settled nor orphaned: {call}" for call in left]
            + [f"still reserved of the budget: {one['key']}" for one in held]
            + [f"the budget does not count what the calls used: {one}" for one in miscounted]
        )

    async def _projections_of(self, state: State, row: Row) -> list[str]:
        """What the rows say is what the state says."""
        pid = state.process_id
        shown = snapshot(state, datetime.now(UTC))
        compared: dict[str, tuple[Any, Any]] = {
            "phase": (row["phase"], shown.phase.value),
            "outcome": (row["outcome"], shown.phase.value),
            "round": (row["round"], shown.round),
            "seq": (row["seq"], shown.seq),
            "waiting": (row["waiting"], shown.waiting),
            "suspended": (tuple(row["suspended"]), shown.suspended),
            "tokens": (row["tokens"], shown.tokens),
            "cost": (row["cost"], Decimal(shown.cost)),
            "outbox": ([], [event.seq for event in state.outbox]),
        }
        seats = await self._rows("SELECT alias, endpoint, fallback, active FROM seats WHERE process_id = %s", pid)
        compared["seats"] = (
            {one["alias"]: (one["endpoint"], one["fallback"], one["active"]) for one in seats},
            {alias: (seat.endpoint.value, seat.fallback.value, seat.active) for alias, seat in state.seats.items()},
        )
        answers = await self._rows(
            "SELECT alias, decision FROM answers WHERE process_id = %s AND revision = %s", pid, state.plan_revision
        )
        compared["answers"] = ({one["alias"]: one["decision"] for one in answers}, state.answers)
        inbox = await self._rows(
            "SELECT ask, alias, round, subject FROM inbox WHERE process_id = %s AND closed_at IS NULL", pid
        )
        compared["inbox"] = (
            Counter((one["ask"], one["alias"], one["round"], one["subject"]) for one in inbox),
            Counter((one.ask.value, one.alias, one.round, one.subject) for one in shown.inbox),
        )
        events = await self._rows("SELECT seq, kind, superseded FROM events WHERE process_id = %s ORDER BY seq", pid)
        compared["events"] = ([one["seq"] for one in events], list(range(1, state.seq + 1)))
        compared["superseded"] = ([one["seq"] for one in events if one["superseded"]], [])
        ends = Counter(one["kind"] for one in events)["process_ended"]
        compared["ends"] = (ends, 1)
        turns = await self._rows("SELECT round, alias, outcome FROM projections WHERE process_id = %s", pid)
        told = {(one["round"], one["alias"]): one["outcome"] for one in turns if one["alias"] in state.seats}
        compared["turns"] = (
            {turn: told.get(turn) for turn in told if turn[0] <= len(state.results)},
            {
                (result.number, alias): outcome.value
                for result in state.results
                for alias, outcome in result.outcomes.items()
            },
        )
        return [
            f"{what}: the records say {of!r}, the state {is_!r}" for what, (of, is_) in compared.items() if of != is_
        ]

    async def _rows(self, query: LiteralString, *values: object) -> list[Row]:
        async with await psycopg.AsyncConnection.connect(self._database_url, row_factory=dict_row) as connection:
            cursor = await connection.execute(query, values)
            return await cursor.fetchall()


def _messages(messages: Iterable[Row], applied: Iterable[Applied]) -> list[str]:
    """Each stored message has a verdict. What was accepted was applied once, in all runs; what was refused, never."""
    times = Counter(one.update for one in applied if one.verdict.accepted and not one.verdict.repeated)
    wrong = []
    for row in messages:
        name = f"{row['kind']} {row['lane']}#{row['number']}"
        if row["state"] != "decided":
            wrong.append(f"{name} has no verdict ({row['attempts']} tries, {row['trouble']})")
            continue
        accepted = MessageVerdict.model_validate(row["verdict"]).accepted
        if times[str(row["id"])] != accepted:
            wrong.append(f"{name} was applied {times[str(row['id'])]} times; its verdict: {row['verdict']}")
    unknown = set(times) - {str(row["id"]) for row in messages}
    return wrong + [f"applied and not stored: {one}" for one in unknown]


def _acknowledged(messages: Iterable[Row], acknowledged: Iterable[Acknowledged]) -> list[str]:
    """What a sender was told holds: what waited has a verdict, what was applied or refused is so in the records."""
    rows = {row["key"]: row for row in messages}
    wrong = []
    for one in acknowledged:
        row = rows.get(one.key)
        if row is None:
            if one.said in ("applied", "waiting"):
                wrong.append(f"{one} was acknowledged and is not stored")
        elif row["verdict"] is not None and one.said != "waiting":
            verdict = MessageVerdict.model_validate(row["verdict"])
            if (one.said == "applied") != verdict.accepted:
                wrong.append(f"{one}, and its verdict is {verdict.code}")
    return wrong


def _lanes(messages: Iterable[Row], applied: Iterable[Applied], state: State) -> list[str]:
    """Of a lane, messages were applied in order; the state knows the last."""
    rows: Mapping[str, Row] = {str(row["id"]): row for row in messages}
    last: dict[str, int] = {}
    wrong = []
    for one in applied:
        row = rows.get(one.update)
        if row is None or one.verdict.repeated or not one.verdict.accepted:
            continue
        if row["number"] <= last.get(row["lane"], 0):
            wrong.append(f"{row['lane']}#{row['number']} was applied after #{last[row['lane']]}")
        last[row["lane"]] = row["number"]
    if last != state.lanes:
        wrong.append(f"numbers of applied messages: history says {last}, the state {state.lanes}")
    return wrong
