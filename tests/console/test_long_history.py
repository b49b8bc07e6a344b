"""A page of a process with more events than one query of the records reads."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.console.room import ferry
from tests.gateway.conftest import GatewayHarness, gateway
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.messaging.party_events import party_events
from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.records.process.journal import Journal

__all__ = ["gateway"]

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MANY = 600


async def test_a_page_takes_all_events_of_a_long_history_into_account(gateway: GatewayHarness) -> None:
    house = await ferry(gateway)
    pid = await house.start(chosen=False, auto_confirm=False)
    await house.stack.until(pid, "confirming")
    row = await gateway.context.repositories.processes.get(pid)
    assert row.run_id is not None
    more = range(row.seq + 1, row.seq + MANY)
    events = [Event(seq=seq, kind=EventKind.DEADLINE_EXTENDED, at=NOON, data={"alias": DEMANDER}) for seq in more]
    snapshot = Snapshot(process_id=pid, seq=more[-1], phase=Phase.CONFIRMING, round=0, waiting=True)
    await Journal(gateway.context.repositories.pool).write(Outbox(snapshot=snapshot, events=tuple(events)), row.run_id)
    demander = Caller(Role.PERSON, house.people[DEMANDER])
    told, _ = await party_events(gateway.context, demander, pid)
    while (await told.read())[0]:
        pass
    async with gateway.visitor(house.tokens[DEMANDER]) as visitor:
        live = (await visitor.get(f"/processes/{pid}")).one("[data-live]").attributes["data-live"]
    assert live == f"/console/processes/{pid}/live?shown={told.position}"
    await house.stack.handle(pid).terminate()
