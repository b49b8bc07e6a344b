"""The ledger of model calls: at most one settled answer per key and input (docs/protocol.md §8.1).

A call is claimed before it is made. Its answer is stored before the activity that made it returns. Who claims
a key finds every earlier attempt that never came back, and marks it orphaned; should it come back after all,
the first answer to be stored is the one that counts. What an attempt used is counted in the budget of the
process's tree in the transaction in which the attempt ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, Literal, LiteralString, Protocol

from tongyao.protocol.model.value import Value
from tongyao.records import budgets
from tongyao.records.database import Connection, Pool, RecordsError, reading, rows_of, session, transaction
from tongyao.records.day_budgets import UsedToday
from tongyao.records.privacy.texts import get_texts, put_texts, text_id

SUPERSEDED = "superseded"
"""The failure reason of an attempt whose answer arrived after another one was settled."""


class AttemptUnknown(RecordsError):
    """No such attempt was claimed, or it has failed already."""


class Key(Protocol):
    """The key of a model call: `tongyao.llm.engine.CallKey`."""

    @property
    def process(self) -> str: ...
    @property
    def step(self) -> str: ...
    @property
    def round(self) -> int: ...
    @property
    def alias(self) -> str: ...
    @property
    def revision(self) -> int: ...
    @property
    def reask(self) -> int: ...


def call_name(key: Key) -> str:
    """What a call is reserved under (`tongyao.records.budgets`)."""
    return "/".join((key.process, key.step, str(key.round), key.alias, str(key.revision), str(key.reask)))


class Tokens(Protocol):
    """What a call used: `tongyao.llm.engine.Usage`."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def requests(self) -> int: ...


class Attempt(Value):
    """One row of the ledger. `cost` is in US dollars and a lower bound where `cost_known` is False."""

    process_id: str
    step: str
    round: int
    alias: str
    revision: int
    reask: int
    attempt: int
    input_hash: str
    state: Literal["claimed", "settled", "failed", "orphaned"]
    worker: str
    engine: str
    model: str
    labels: tuple[str, ...]
    input_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    output_tokens: int
    requests: int = 0
    cost: Decimal
    cost_known: bool
    answer_text_id: str | None
    draft_text_id: str | None
    error_reason: str | None
    claimed_at: datetime
    ended_at: datetime | None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.cache_write_tokens + self.cache_read_tokens + self.output_tokens


class SettledCall(Attempt):
    """The answer that counts: its raw text, and the draft that was read from it, as JSON."""

    text: str
    draft_json: str


class Totals(Value):
    """Sums over every attempt, failed ones too. `cost` is a lower bound where `cost_known` is False."""

    calls: int = 0
    settled: int = 0
    failed: int = 0
    orphaned: int = 0
    claimed: int = 0
    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    cost: Decimal = Decimal(0)
    cost_known: bool = True

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.cache_write_tokens + self.cache_read_tokens + self.output_tokens


class TotalsRow(Totals):
    """`Totals` of one group; the fields that were not grouped by are None."""

    process_id: str | None = None
    step: str | None = None
    model: str | None = None
    day: date | None = None


class Ledger:
    """All model calls of all processes."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def settled(self, key: Key, input_hash: str) -> SettledCall | None:
        """The answer of `key` to this input if there is one. Raises `TextErased` when it is no longer to be read."""
        async with session(self._pool) as connection:
            return await _answer(connection, await _attempts(connection, key), input_hash)

    async def claim(self, key: Key, *, input_hash: str, engine: str, model: str, worker: str) -> int:
        """Claim a call before it is made; returns its attempt number, from 1.

        Earlier attempts of the key that never came back become `orphaned`.
        """
        async with session(self._pool) as connection:
            while True:
                cursor = await connection.execute(
                    f"""WITH lost AS (UPDATE model_calls SET state = 'orphaned', ended_at = now()
                            WHERE {_KEY} AND state = 'claimed')
                        INSERT INTO model_calls (process_id, step, round, alias, revision, reask, attempt,
                            input_hash, state, worker, engine, model)
                        SELECT %(process)s, %(step)s, %(round)s, %(alias)s, %(revision)s, %(reask)s,
                               COALESCE(max(attempt), 0) + 1,
                               %(input_hash)s, 'claimed', %(worker)s, %(engine)s, %(model)s
                        FROM model_calls WHERE {_KEY} ON CONFLICT DO NOTHING RETURNING attempt""",
                    {**_values(key), "input_hash": input_hash, "worker": worker, "engine": engine, "model": model},
                )
                if (row := await cursor.fetchone()) is not None:
                    return int(row["attempt"])
                # Somebody else has just taken this number: theirs is the one that is lost, if it still is.

    async def settle(
        self,
        key: Key,
        attempt: int,
        *,
        owner: str,
        text: str,
        draft_json: str,
        engine: str,
        model: str,
        usage: Tokens,
        cost: Decimal | None,
        labels: tuple[str, ...] = (),
    ) -> SettledCall:
        """Store an answer and return the one that counts: this one, or the one that was stored first.

        In the second case this attempt becomes `failed`, superseded, with what it used. An orphaned attempt
        may settle all the same. `owner` owns the texts; `cost` None means that the price is not known.

        Raises `AttemptUnknown`.
        """
        async with transaction(self._pool) as connection:
            attempts = await _attempts(connection, key, locked=True)  # who settles the same key waits for us
            asked = next((one.input_hash for one in attempts if one.attempt == attempt), "")
            if (first := await _answer(connection, attempts, asked)) is not None:
                if first.attempt != attempt:
                    await _end(connection, key, attempt, "failed", usage, cost, SUPERSEDED)
                return first
            name = (key.process, key.step, key.round, key.alias, key.revision, key.reask, attempt)
            answer, draft = text_id("answer", *name), text_id("draft", *name)
            await put_texts(connection, owner, {answer: ("answer", text), draft: ("draft", draft_json)})
            settled = await _end(
                connection, key, attempt, "settled", usage, cost, None,
                answer=answer, draft=draft, engine=engine, model=model, labels=list(labels),
            )  # fmt: skip
        assert settled is not None
        return SettledCall(**settled.model_dump(), text=text, draft_json=draft_json)

    async def fail(
        self, key: Key, attempt: int, reason: str, *, usage: Tokens | None = None, cost: Decimal | None = None
    ) -> None:
        """Mark the attempt as failed; `reason` is a closed word, never a text. Raises `AttemptUnknown`."""
        async with transaction(self._pool) as connection:
            await _end(connection, key, attempt, "failed", usage, cost, reason)

    async def calls(self, process_id: str) -> list[Attempt]:
        """Every attempt of a process, in the order of their claims."""
        async with reading(self._pool, Attempt) as cursor:
            await cursor.execute(
                f"""SELECT {_COLUMNS} FROM model_calls WHERE process_id = %s
                   ORDER BY claimed_at, step, round, alias, attempt""",
                [process_id],
            )
            return await cursor.fetchall()

    async def usage(self, process_id: str) -> Totals:
        """What all attempts of a process used so far."""
        async with reading(self._pool, Totals) as cursor:
            await cursor.execute(f"SELECT {_SUMS} FROM model_calls WHERE process_id = %s", [process_id])
            return await cursor.fetchone() or Totals()

    async def used_today(self, demander: str = "") -> UsedToday:
        """What all calls claimed on this day (UTC) have used, and those for processes of `demander`; readings of intents too."""
        async with reading(self._pool, UsedToday) as cursor:
            await cursor.execute(
                f"""SELECT COALESCE(sum(cost), 0) AS cost, COALESCE(sum(tokens), 0)::bigint AS tokens,
                        COALESCE(sum(cost) FILTER (WHERE person = %(who)s), 0) AS person_cost,
                        COALESCE(sum(tokens) FILTER (WHERE person = %(who)s), 0)::bigint AS person_tokens
                    FROM (
                        SELECT m.cost, {_TOKENS} AS tokens, p.demander AS person, m.claimed_at AS at
                            FROM model_calls m LEFT JOIN processes p ON p.id = m.process_id
                        UNION ALL SELECT cost, tokens, person, at FROM intent_readings
                    ) AS used
                    WHERE at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'""",
                {"who": demander},
            )
            return await cursor.fetchone() or UsedToday()

    async def count_reading(self, person: str, *, engine: str, model: str, usage: Tokens, cost: Decimal) -> None:
        """Count what reading an intent used, for whom, before there is a process."""
        tokens = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens + usage.output_tokens
        async with session(self._pool) as connection:
            await connection.execute(
                "INSERT INTO intent_readings (person, engine, model, tokens, cost) VALUES (%s, %s, %s, %s, %s)",
                [person, engine, model, tokens, cost],
            )

    async def totals(
        self,
        by: tuple[Literal["process", "step", "model", "day"], ...] = ("day",),
        *,
        process_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[TotalsRow]:
        """Sums grouped by any of process, step, model and day (UTC, of the claim), ordered by the groups.

        `since` is included, `until` is not.
        """
        columns: dict[str, LiteralString] = {
            "process": "process_id", "step": "step", "model": "model",
            "day": "(claimed_at AT TIME ZONE 'UTC')::date AS day",
        }  # fmt: skip
        chosen = [columns[name] for name in by]
        places = ", ".join(str(place) for place in range(1, len(by) + 1))
        grouped = f" GROUP BY {places} ORDER BY {places}" if by else ""
        async with reading(self._pool, TotalsRow) as cursor:
            await cursor.execute(
                f"""SELECT {", ".join([*chosen, _SUMS])} FROM model_calls
                    WHERE (%(process)s::text IS NULL OR process_id = %(process)s)
                      AND (%(since)s::timestamptz IS NULL OR claimed_at >= %(since)s)
                      AND (%(until)s::timestamptz IS NULL OR claimed_at < %(until)s){grouped}""".encode(),
                {"process": process_id, "since": since, "until": until},
            )
            return await cursor.fetchall()


_COLUMNS: Final = ", ".join(Attempt.model_fields)
"""By name, so that these statements, the most frequent of all, are prepared (`tongyao.records.database`)."""

_KEY: LiteralString = """process_id = %(process)s AND step = %(step)s AND round = %(round)s
    AND alias = %(alias)s AND revision = %(revision)s AND reask = %(reask)s"""

_TOKENS: LiteralString = "m.input_tokens + m.cache_write_tokens + m.cache_read_tokens + m.output_tokens"

_SUMS: LiteralString = """count(*) AS calls,
    count(*) FILTER (WHERE state = 'settled') AS settled,
    count(*) FILTER (WHERE state = 'failed') AS failed,
    count(*) FILTER (WHERE state = 'orphaned') AS orphaned,
    count(*) FILTER (WHERE state = 'claimed') AS claimed,
    COALESCE(sum(input_tokens), 0)::bigint AS input_tokens,
    COALESCE(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
    COALESCE(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
    COALESCE(sum(output_tokens), 0)::bigint AS output_tokens,
    COALESCE(sum(requests), 0)::bigint AS requests,
    COALESCE(sum(cost), 0) AS cost, COALESCE(bool_and(cost_known), true) AS cost_known"""


def _values(key: Key) -> dict[str, Any]:
    return {
        "process": key.process, "step": key.step, "round": key.round,
        "alias": key.alias, "revision": key.revision, "reask": key.reask,
    }  # fmt: skip


async def _attempts(connection: Connection, key: Key, *, locked: bool = False) -> list[Attempt]:
    async with connection.cursor(row_factory=rows_of(Attempt)) as cursor:
        lock: LiteralString = " FOR UPDATE" if locked else ""
        await cursor.execute(f"SELECT {_COLUMNS} FROM model_calls WHERE {_KEY} ORDER BY attempt{lock}", _values(key))
        return await cursor.fetchall()


async def _answer(connection: Connection, attempts: Sequence[Attempt], input_hash: str) -> SettledCall | None:
    """The settled one of a key's attempts at this input, with its texts."""
    settled = next((one for one in attempts if one.state == "settled" and one.input_hash == input_hash), None)
    if settled is None or settled.answer_text_id is None or settled.draft_text_id is None:
        return None
    texts = await get_texts(connection, [settled.answer_text_id, settled.draft_text_id])
    return SettledCall(
        **settled.model_dump(), text=texts[settled.answer_text_id], draft_json=texts[settled.draft_text_id]
    )


async def _end(
    connection: Connection,
    key: Key,
    attempt: int,
    state: str,
    usage: Tokens | None,
    cost: Decimal | None,
    reason: str | None,
    *,
    answer: str | None = None,
    draft: str | None = None,
    engine: str | None = None,
    model: str | None = None,
    labels: list[str] | None = None,
) -> Attempt | None:
    """The attempt as it ended, counted in the budget; None where it was superseded and had ended before.

    Raises `AttemptUnknown`.
    """
    cursor = connection.cursor(row_factory=rows_of(Attempt))
    await cursor.execute(
        f"""UPDATE model_calls SET state = %(state)s, error_reason = %(reason)s, ended_at = now(),
                input_tokens = %(input)s, cache_write_tokens = %(written)s, cache_read_tokens = %(read)s,
                output_tokens = %(output)s, requests = %(requests)s,
                cost = COALESCE(%(cost)s, 0), cost_known = %(cost)s::numeric IS NOT NULL,
                answer_text_id = %(answer)s, draft_text_id = %(draft)s, engine = COALESCE(%(engine)s, engine),
                model = COALESCE(%(model)s, model), labels = COALESCE(%(labels)s, labels)
            WHERE {_KEY} AND attempt = %(attempt)s AND state IN ('claimed', 'orphaned')
            RETURNING {_COLUMNS}""",
        {
            **_values(key),
            "attempt": attempt,
            "state": state,
            "reason": reason,
            "input": usage.input_tokens if usage else 0,
            "written": usage.cache_write_tokens if usage else 0,
            "read": usage.cache_read_tokens if usage else 0,
            "output": usage.output_tokens if usage else 0,
            "requests": usage.requests if usage else 0,
            "cost": cost,
            "answer": answer,
            "draft": draft,
            "engine": engine,
            "model": model,
            "labels": labels,
        },
    )
    ended = await cursor.fetchone()
    if ended is not None:
        await budgets.settle(connection, key.process, call_name(key), tokens=ended.tokens, cost=ended.cost)
    elif reason != SUPERSEDED:
        raise AttemptUnknown(f"attempt {attempt} of {key} was never claimed, or has ended already")
    return ended
