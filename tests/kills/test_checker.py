"""The checker finds nothing in a process that went well, and finds whatever somebody did to its records."""

from __future__ import annotations

from typing import LiteralString

import psycopg

from tests.kills.checker import Acknowledged, Checker
from tests.workflows.conftest import TEXTS, Opened, stack
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind

__all__ = ["stack"]

CHANGES: list[tuple[LiteralString, str]] = [
    ("UPDATE processes SET tokens = tokens + 1 WHERE id = %(pid)s", "tokens"),
    ("UPDATE seats SET active = false WHERE process_id = %(pid)s AND alias = 'P02'", "seats"),
    ("UPDATE answers SET decision = 'decline' WHERE process_id = %(pid)s AND alias = 'P01'", "answers"),
    ("UPDATE inbox SET closed_at = NULL WHERE process_id = %(pid)s", "inbox"),
    ("UPDATE projections SET outcome = 'lapsed' WHERE process_id = %(pid)s AND alias = 'P02'", "turns"),
    ("UPDATE events SET superseded = true WHERE process_id = %(pid)s AND seq = 4", "superseded"),
    ("DELETE FROM events WHERE process_id = %(pid)s AND seq = 3", "events"),
    (
        """INSERT INTO model_calls (process_id, step, round, alias, revision, reask, attempt, input_hash, state, worker, engine,
               model, answer_text_id, draft_text_id)
           SELECT process_id, step, round, alias, revision, reask, attempt + 1, 'other', state, worker, engine, model,
               answer_text_id, draft_text_id FROM model_calls WHERE process_id = %(pid)s AND step = 'plan'""",
        "settled twice",
    ),
    ("UPDATE model_calls SET state = 'claimed' WHERE process_id = %(pid)s AND step = 'observe'", "neither settled"),
    ("UPDATE reservations SET settled = false WHERE root_id = %(pid)s AND key LIKE '%%/plan/%%'", "still reserved"),
    ("UPDATE budgets SET settled_tokens = settled_tokens + 1 WHERE root_id = %(pid)s", "does not count"),
    (
        """UPDATE messages SET verdict = jsonb_set(verdict, '{accepted}', 'false')
           WHERE process_id = %(pid)s AND lane = 'P01' AND number = 1""",
        "was applied 1 times",
    ),
    (
        "UPDATE messages SET state = 'pending', verdict = NULL, next_attempt_at = now() + interval '1 day' WHERE process_id = %(pid)s AND lane = 'P01' AND number = 1",
        "no verdict",
    ),
    (
        "DELETE FROM messages WHERE process_id = %(pid)s AND lane = 'P01' AND number = 1",
        "acknowledged and is not stored",
    ),
    ("UPDATE messages SET lane = 'P09' WHERE process_id = %(pid)s AND lane = 'P01'", "numbers of applied messages"),
]
"""What is done to the records, one after the other, and what the checker says of it."""


async def test_nothing_is_wrong_and_then_each_change_is_found(stack: Opened, database_url: str) -> None:
    async with stack() as (here, _):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        human = Choice(profile_id=people[0], endpoint=EndpointKind.HUMAN)
        pid = await here.start([human, people[1]], auto_confirm=True, aliases_as_named=True, cost_budget="50")
        await here.asked(pid, "P01", 1)
        said = await here.speak(pid, "P01", 1, "I have two barges and a winch.", key="words")
        assert said.accepted
        await here.asked(pid, "P01", 2)
        await here.finish(pid, "P01")
        checker = Checker(database_url, here.client)
        (stored,) = [one for one in await _messages(database_url, pid) if one[1] == 1]
        told = [Acknowledged(pid, stored[0], "applied")]
        assert await checker.examine(pid, told) == []

        for change, expected in CHANGES:
            async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
                done = await connection.execute(change, {"pid": pid})
                assert done.rowcount, change
            found = await checker.examine(pid, told)
            assert any(expected in one for one in found), (change, found)


async def _messages(database_url: str, pid: str) -> list[tuple[str, int]]:
    """Keys and numbers of what P01 has sent."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        cursor = await connection.execute(
            "SELECT key, number FROM messages WHERE process_id = %s AND lane = 'P01'", [pid]
        )
        return await cursor.fetchall()
