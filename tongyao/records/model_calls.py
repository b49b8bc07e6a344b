"""The ledger of model calls: at most one settled answer per key and input (docs/protocol.md §8.1).

A call is claimed before it is made. The claim reserves the highest possible usage in the budget of the process's tree.
The activity stores the answer before it returns. A claim marks every earlier attempt without a result as orphaned. If
an orphaned attempt returns later, the answer stored first counts. The transaction that ends an attempt also counts its
usage in the budget. Claiming and ending are one statement each: the SQL functions `claim_call` (migration 0072) and
`end_call` (migration 0055).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, Literal, LiteralString, NamedTuple

import psycopg
from pydantic import Field

from tongyao.protocol.model.calls import CallKey, Usage
from tongyao.protocol.model.value import Value
from tongyao.records.budgets import NOTHING_RESERVED, Budgets, Reservation, UsedToday
from tongyao.records.database import Connection, RecordsError, Repository, rows_of, session, transaction
from tongyao.records.privacy.texts import (
    GONE,
    SEALED,
    DataKey,
    NewText,
    TextErased,
    active_key,
    get_texts,
    key_of,
    put_text,
    sealed,
    text_id,
)


class AttemptUnknown(RecordsError):
    """This attempt was never claimed, or it has already failed."""


class NoSlot(RecordsError):
    """As many calls are under way as are permitted at a time. Nothing was claimed."""


class Used(Value):
    """Tokens of every kind, requests and US dollars. `cost` is a lower bound if `cost_known` is False."""

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


class Attempt(Used):
    """One row of the ledger."""

    process_id: str
    step: str
    round: int
    alias: str
    revision: int
    reask: int
    attempt: int
    input_hash: str
    prompt_hash: str
    state: Literal["claimed", "waiting", "answered", "settled", "failed", "orphaned"]
    worker: str
    engine: str
    model: str
    labels: tuple[str, ...]
    answer_text_id: str | None
    draft_text_id: str | None
    error_reason: str | None
    claimed_at: datetime
    ended_at: datetime | None


class CallClaim(NamedTuple):
    """A claimed attempt, numbered from 1. `data_key`: the data key of the owner of its texts; None if it is not known yet."""

    attempt: int
    data_key: DataKey | None = None


class WaitingCall(NamedTuple):
    """A call that waits for an answer from outside, by its id."""

    call_id: str


class RepliedCall(NamedTuple):
    """A claimed attempt with its answer from outside: the text, and the name of the answerer."""

    claim: CallClaim
    text: str
    answerer: str


TAKEN: Final = "taken"
"""The label of answers that a fork takes over from its origin."""


class SettledCall(Attempt):
    """The settled answer: its raw text, and the draft that was parsed from it, as JSON."""

    text: str
    draft_json: str


class Totals(Used):
    """Sums over all attempts, including failed ones."""

    calls: int = 0
    settled: int = 0
    taken: int = Field(default=0, description="Settled answers that a fork took over from its origin.")
    failed: int = 0
    orphaned: int = 0
    claimed: int = 0
    waiting: int = 0


class TotalsRow(Totals):
    """`Totals` of one group. Fields that are not grouping columns are None."""

    process_id: str | None = None
    step: str | None = None
    model: str | None = None
    day: date | None = None


class Ledger(Repository):
    """All model calls of all processes."""

    async def settled(self, key: CallKey, input_hash: str) -> SettledCall | None:
        """The answer of `key` to this input, or None. Raises `TextErased` if the answer can no longer be read."""
        async with session(self._pool) as connection:
            return await _settled(connection, key, key.reask, input_hash)

    async def of_origin(
        self, key: CallKey, *, input_hashes: Sequence[str], prompt_hash: str, asked_of: str
    ) -> SettledCall | None:
        """The settled answer of a fork's origin, or of the origin's own origin, to the same question. None if no answer
        can be read.

        Two questions are the same if step, alias, prompt, engine and model are equal (`asked_of`: `engine/model`) and
        the hash of the input is one of `input_hashes`.
        """
        async with session(self._pool) as connection:
            async with connection.cursor(row_factory=rows_of(Attempt)) as cursor:
                await cursor.execute(
                    f"""SELECT {_COLUMNS} FROM with_origins(%(process)s) AS line JOIN model_calls ON process_id = line.id
                        WHERE line.distance > 0 AND step = %(step)s AND alias = %(alias)s AND state = 'settled'
                            AND input_hash = ANY(%(inputs)s) AND prompt_hash = %(prompt)s AND asked_of = %(asked_of)s
                        ORDER BY line.distance, reask, attempt LIMIT 1""",
                    {**_values(key), "inputs": list(input_hashes), "prompt": prompt_hash, "asked_of": asked_of},
                )
                found = await cursor.fetchone()
            try:
                return None if found is None else await _with_texts(connection, found)
            except TextErased:
                return None

    async def claim(
        self,
        key: CallKey,
        *,
        input_hash: str,
        engine: str,
        model: str,
        worker: str,
        prompt_hash: str = "",
        repair_hash: str = "",
        owner: str = "",
        reserve: Reservation = NOTHING_RESERVED,
        seconds: float | None = None,
        most: int | None = None,
    ) -> CallClaim | SettledCall | WaitingCall | RepliedCall:
        """Claim a call before it is made and reserve its possible usage, or return the answer that is already settled.

        If a call with the same input waits for an answer from outside, nothing is claimed. The waiting call is
        returned, or its answer if there is one. A settled answer counts if it answers `input_hash`, or if the answer of
        the repair answers `repair_hash`. Earlier attempts of the key without a result become `orphaned`. `owner`: the
        owner of the texts to be stored. `most`: the number of calls of all workers that may be under way at a time;
        None means no limit. `seconds`: a claimed call counts for this time at most; None means that it never counts.

        Raises `BudgetExceeded` and `NoSlot`, and then nothing is claimed. Raises `TextErased` if the settled answer can
        no longer be read.
        """
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                f"""SELECT outcome, number, root, key_id, wrapped, master_id FROM claim_call({_CALL}, %(input)s, %(repair)s, %(prompt)s, %(engine)s, %(model)s, %(worker)s,
                        %(owner)s, %(tokens)s, %(cost)s, %(keep_tokens)s, %(keep_cost)s, %(seconds)s::float8, %(most)s::int)""",
                {
                    **_values(key),
                    "input": input_hash, "repair": repair_hash, "prompt": prompt_hash, "engine": engine, "model": model,
                    "worker": worker, "owner": owner, "tokens": reserve.tokens, "cost": reserve.cost,
                    "keep_tokens": reserve.keep[0], "keep_cost": reserve.keep[1],
                    "seconds": seconds, "most": most,
                },
            )  # fmt: skip
            row = await cursor.fetchone()
            assert row is not None
            if row["outcome"] == "claimed":
                return CallClaim(row["number"], key_of(connection, owner, row))
            if row["outcome"] == "settled":
                asked = input_hash if row["number"] == key.reask else repair_hash
                settled = await _settled(connection, key, row["number"], asked)
                assert settled is not None
                return settled
            if row["outcome"] in ("waiting", "answered"):
                return await _from_outside(connection, key, row["number"])
            if row["outcome"] == "no_slot":
                raise NoSlot(f"{most} model calls are under way, and no more are permitted at a time")
        raise (await Budgets(self._pool).get(row["root"])).exceeded_by(reserve)

    async def settle(
        self,
        key: CallKey,
        claim: CallClaim,
        *,
        owner: str,
        text: str,
        draft_json: str,
        engine: str,
        model: str,
        usage: Usage,
        cost: Decimal | None,
        labels: tuple[str, ...] = (),
    ) -> SettledCall:
        """Store an answer and return the valid one: this answer, or the answer that was stored first.

        In the second case this attempt becomes `failed` (superseded), and its usage is stored. An orphaned attempt may
        still settle. `owner` owns the texts. `cost` None: the price is not known. Raises `AttemptUnknown`. Raises
        `TextErased` if the owner was erased.
        """
        name = (key.process, key.step, key.round, key.alias, key.revision, key.reask, claim.attempt)
        answer, draft = text_id("answer", *name), text_id("draft", *name)
        async with session(self._pool) as connection:
            data_key = claim.data_key or await active_key(connection, owner)
            texts = [NewText(answer, owner, "answer", text), NewText(draft, owner, "draft", draft_json)]
            settled = await _end(
                connection, key, claim, "settled", usage, cost=cost, engine=engine, model=model, labels=list(labels),
                **sealed(texts, {owner: data_key}),
            )  # fmt: skip
            if settled.attempt == claim.attempt:
                return SettledCall(**settled.model_dump(), text=text, draft_json=draft_json)
            return await _with_texts(connection, settled)

    async def wait(self, key: CallKey, claim: CallClaim, *, owner: str, shows: str, request: str, tokens: int) -> str:
        """Let a claimed attempt wait for an answer from outside, and store its request. Returns the id of the call.

        The reservation is released. `owner`: owner of the request's text. `shows`: the person whose profile the request
        shows, or `table`; it decides who may answer (`tongyao.records.waiting_calls`). `tokens`: length of the request.
        Raises `TextErased`.
        """
        number = (*_values(key).values(), claim.attempt)
        call_id = "call-" + hashlib.sha256("/".join(map(str, number)).encode()).hexdigest()[:10]
        async with transaction(self._pool) as connection:
            stored = text_id("request", *number)
            await put_text(connection, owner, "request", request, id=stored)
            await connection.execute(
                f"""UPDATE model_calls m SET state = 'waiting', call_id = %(id)s, request_text_id = %(text)s,
                        share = %(shows)s, request_tokens = %(tokens)s
                    WHERE {_SAME} AND attempt = %(attempt)s AND state IN ('claimed', 'orphaned')""",
                {
                    **_values(key),
                    "id": call_id,
                    "text": stored,
                    "shows": shows,
                    "tokens": tokens,
                    "attempt": claim.attempt,
                },
            )
        await Budgets(self._pool).release(key.process, str(key))
        return call_id

    async def fail(
        self, key: CallKey, claim: CallClaim, reason: str, *, usage: Usage | None = None, cost: Decimal | None = None
    ) -> None:
        """Mark the attempt as failed. `reason` is a closed word, never a text. Raises `AttemptUnknown`."""
        async with session(self._pool) as connection:
            await _end(connection, key, claim, "failed", usage, reason=reason, cost=cost)

    async def release(self, key: CallKey, *, worker: str, attempt: int | None = None) -> None:
        """Orphan an attempt of the worker and release its reservation: the call was cancelled or never made.

        `attempt`: None if the call was cancelled before its claim was known.
        """
        await self._run(
            f"""UPDATE model_calls SET state = 'orphaned', ended_at = now()
                WHERE {_SAME} AND worker = %(worker)s AND state = 'claimed'
                AND attempt = coalesce(%(attempt)s, attempt)""",
            {**_values(key), "worker": worker, "attempt": attempt},
        )
        await Budgets(self._pool).release(key.process, str(key))

    async def calls(self, process_id: str) -> list[Attempt]:
        """All attempts of a process, in the order of their claims."""
        return await self._all(
            Attempt,
            f"""SELECT {_COLUMNS} FROM model_calls WHERE process_id = %s
               ORDER BY claimed_at, step, round, alias, attempt""",
            [process_id],
        )

    async def usage(self, process_id: str) -> Totals:
        """The tokens and dollars that all attempts of a process have used so far."""
        return (await self._all(Totals, f"SELECT {_SUMS} FROM model_calls WHERE process_id = %s", [process_id]))[0]

    async def used_today(self, demander: str = "") -> UsedToday:
        """The usage of all calls claimed on this day (UTC), and of the calls for processes of `demander`. Readings of intents count too."""
        found = await self._all(
            UsedToday,
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
        return found[0]

    async def count_reading(self, person: str, *, engine: str, model: str, usage: Usage, cost: Decimal) -> None:
        """Count the usage of the reading of an intent for a person, before a process exists."""
        await self._run(
            "INSERT INTO intent_readings (person, engine, model, tokens, cost) VALUES (%s, %s, %s, %s, %s)",
            [person, engine, model, usage.total, cost],
        )

    async def totals(
        self, by: tuple[Literal["process", "step", "model", "day"], ...] = ("day",), *, process_id: str | None = None
    ) -> list[TotalsRow]:
        """Sums grouped by any of process, step, model and day (UTC, of the claim), ordered by the groups."""
        columns: dict[str, LiteralString] = {
            "process": "process_id", "step": "step", "model": "model",
            "day": "(claimed_at AT TIME ZONE 'UTC')::date AS day",
        }  # fmt: skip
        chosen = [columns[name] for name in by]
        places = ", ".join(str(place) for place in range(1, len(by) + 1))
        grouped = f" GROUP BY {places} ORDER BY {places}" if by else ""
        return await self._all(
            TotalsRow,
            f"""SELECT {", ".join([*chosen, _SUMS])} FROM model_calls
                WHERE (%(process)s::text IS NULL OR process_id = %(process)s){grouped}""",
            {"process": process_id},
        )


_COLUMNS: Final = ", ".join(Attempt.model_fields)
"""The columns are named so that these statements, the most frequent of all, are prepared (`tongyao.records.database`)."""

_CALL: LiteralString = (
    """%(call)s, %(process)s, %(step)s, %(round)s::int, %(alias)s, %(revision)s::int, %(reask)s::int"""
)

_TOKENS: LiteralString = "m.input_tokens + m.cache_write_tokens + m.cache_read_tokens + m.output_tokens"

_SUMS: LiteralString = """count(*) AS calls,
    count(*) FILTER (WHERE state = 'settled') AS settled,
    count(*) FILTER (WHERE state = 'settled' AND 'taken' = ANY(labels)) AS taken,
    count(*) FILTER (WHERE state = 'failed') AS failed,
    count(*) FILTER (WHERE state = 'orphaned') AS orphaned,
    count(*) FILTER (WHERE state = 'claimed') AS claimed,
    count(*) FILTER (WHERE state IN ('waiting', 'answered')) AS waiting,
    COALESCE(sum(input_tokens), 0)::bigint AS input_tokens,
    COALESCE(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
    COALESCE(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
    COALESCE(sum(output_tokens), 0)::bigint AS output_tokens,
    COALESCE(sum(requests), 0)::bigint AS requests,
    COALESCE(sum(cost), 0) AS cost, COALESCE(bool_and(cost_known), true) AS cost_known"""


def _values(key: CallKey) -> dict[str, Any]:
    return {
        "call": str(key), "process": key.process, "step": key.step, "round": key.round,
        "alias": key.alias, "revision": key.revision, "reask": key.reask,
    }  # fmt: skip


_SAME: LiteralString = """process_id = %(process)s AND step = %(step)s AND round = %(round)s AND alias = %(alias)s
    AND revision = %(revision)s AND reask = %(reask)s"""


async def _from_outside(connection: Connection, key: CallKey, attempt: int) -> WaitingCall | RepliedCall:
    cursor = await connection.execute(
        f"SELECT call_id, reply_text_id, answerer FROM model_calls WHERE {_SAME} AND attempt = %(attempt)s",
        {**_values(key), "attempt": attempt},
    )
    row = await cursor.fetchone()
    assert row is not None
    if row["reply_text_id"] is None:
        return WaitingCall(row["call_id"])
    texts = await get_texts(connection, [row["reply_text_id"]])
    return RepliedCall(CallClaim(attempt), texts[row["reply_text_id"]], row["answerer"])


async def _settled(connection: Connection, key: CallKey, reask: int, input_hash: str) -> SettledCall | None:
    async with connection.cursor(row_factory=rows_of(Attempt)) as cursor:
        await cursor.execute(
            f"""SELECT {_COLUMNS} FROM model_calls WHERE {_SAME} AND state = 'settled' AND input_hash = %(input)s""",
            {**_values(key), "reask": reask, "input": input_hash},
        )
        row = await cursor.fetchone()
    return None if row is None else await _with_texts(connection, row)


async def _with_texts(connection: Connection, settled: Attempt) -> SettledCall:
    """Add the texts to a settled attempt. Raises `TextErased`."""
    answer, draft = settled.answer_text_id or "", settled.draft_text_id or ""
    texts = await get_texts(connection, [answer, draft])
    return SettledCall(**settled.model_dump(), text=texts[answer], draft_json=texts[draft])


_UNTOLD: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("reason", "cost", "engine", "model", "labels")),
    **sealed([], {}),
}
_USED: Final = ("input_tokens", "cache_write_tokens", "cache_read_tokens", "output_tokens", "requests")


async def _end(
    connection: Connection, key: CallKey, claim: CallClaim, state: str, usage: Usage | None, **told: Any
) -> Attempt:
    """End an attempt and return the attempt whose answer is valid. Raises `AttemptUnknown`, `TextErased`."""
    async with connection.cursor(row_factory=rows_of(Attempt)) as cursor:
        try:
            await cursor.execute(
                f"""SELECT {_COLUMNS} FROM end_call({_CALL}, %(attempt)s, %(state)s, %(reason)s, %(input_tokens)s,
                        %(cache_write_tokens)s, %(cache_read_tokens)s, %(output_tokens)s, %(requests)s::int, %(cost)s,
                        %(engine)s, %(model)s, %(labels)s::text[], {SEALED})""",
                {
                    **_UNTOLD,
                    **_values(key),
                    **{name: getattr(usage, name, 0) for name in _USED},
                    **told,
                    "attempt": claim.attempt,
                    "state": state,
                },
            )
        except psycopg.DatabaseError as error:
            if error.sqlstate == "TY001":
                raise TextErased(GONE) from None
            if error.sqlstate == "TY002":
                raise AttemptUnknown(
                    f"attempt {claim.attempt} of {key} was never claimed, or has ended already"
                ) from None
            raise
        ended = await cursor.fetchone()
    assert ended is not None
    return ended
