"""Model calls that wait for an answer from outside: leases, who may see what, and answers that come once (docs/models.md)."""

from __future__ import annotations

import pytest

from tests.records.conftest import Announce
from tests.records.test_ledger import claim, settle
from tongyao.llm.engine import CallKey
from tongyao.records.database import Pool, session
from tongyao.records.model_calls import CallClaim, Ledger, RepliedCall, SettledCall, WaitingCall
from tongyao.records.waiting_calls import CallFilter, CallOver, CallUnknown, WaitingCalls

ANY = CallFilter()


async def waiting(
    pool: Pool, process: str, step: str = "observe", *, alias: str = "", shows: str = "table", round: int = 1
) -> tuple[CallKey, str]:
    """A call of the process that waits and is asked for; its key and its id."""
    ledger, key = Ledger(pool), CallKey(process, step, round=round, alias=alias)
    claimed = await claim(ledger, key)
    owner = f"process:{process}"
    call = await ledger.wait(key, claimed, owner=owner, shows=shows, request=f"asked by {step}", tokens=7)
    async with session(pool) as connection:
        await connection.execute(
            """INSERT INTO inbox (id, process_id, ask, alias, subject, opened_at) VALUES (%s, %s, 'calls', '', %s, now())
               ON CONFLICT (id) DO UPDATE SET subject = inbox.subject || ' ' || excluded.subject""",
            [f"{process}/calls//0", process, call],
        )
    return key, call


async def test_a_call_waits_is_leased_answered_once_and_settled(pool: Pool, announce: Announce) -> None:
    ledger, calls = Ledger(pool), WaitingCalls(pool)
    key, call = await waiting(pool, await announce())
    which = CallFilter(process_id=key.process)
    [row] = await calls.waiting("ann", which)
    assert (row.call_id, row.step, row.permitted, row.mine, row.request_tokens) == (call, "observe", True, False, 7)
    again = await ledger.claim(key, input_hash="h1", engine="scripted", model="", worker="w2")
    assert again == WaitingCall(call), "the same question is not asked twice"

    leased = await calls.lease("ann", which, seconds=60)
    assert leased is not None and leased[1] == "asked by observe" and leased[0].mine
    assert await calls.lease("bob", which, seconds=60) is None
    assert (await calls.lease("ann", which, seconds=60) or leased)[0].call_id == call, (
        "asking again gives the same call"
    )
    with pytest.raises(CallUnknown):
        await calls.answer("bob", call, "{}")
    message, repeated = await calls.answer("ann", call, '{"a": 1}')
    assert (
        message is not None and message.kind == "call_answered" and message.payload == {"call": call} and not repeated
    )
    assert await calls.answer("ann", call, '{"a": 1}') == (None, True)
    with pytest.raises(CallOver):
        await calls.answer("ann", call, '{"a": 2}')

    replied = await ledger.claim(key, input_hash="h1", engine="scripted", model="", worker="w2")
    assert replied == RepliedCall(CallClaim(1), '{"a": 1}', "ann")
    settled = await settle(ledger, key, replied.claim, "read")
    assert (settled.state, settled.attempt) == ("settled", 1)
    assert isinstance(await ledger.claim(key, input_hash="h1", engine="x", model="", worker="w"), SettledCall)
    async with session(pool) as connection:
        cursor = await connection.execute(
            "SELECT kind FROM texts WHERE owner = %s AND body IS NOT NULL ORDER BY kind", [f"process:{key.process}"]
        )
        kept = [one["kind"] for one in await cursor.fetchall()]
    assert kept == ["answer", "draft"], "the request, and the reply as it came, are kept only while they wait"
