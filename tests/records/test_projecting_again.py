"""The records are made again from the state of a workflow, after a reset or a restore of either side."""

from __future__ import annotations

from tests.records.conftest import Announce
from tests.records.told import Person, event, standing, stated, told
from tests.support.kept import pending_messages
from tongyao.protocol.model.events import AskName, Waiting
from tongyao.protocol.model.messages import Author, ChildEnded, ConfirmTension, Message
from tongyao.protocol.model.process import DEMANDER, Phase, ProfileRef, Seat
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.rules.refusals import ACCEPTED, MessageVerdict, Refusal
from tongyao.records.database import Pool
from tongyao.records.process.events import START, EventCursor, Events
from tongyao.records.process.inbox import Inbox
from tongyao.records.process.journal import Journal
from tongyao.records.process.messages import Messages
from tongyao.records.process.process_rows import Processes
from tongyao.records.process.seats import SeatRow, Seats
from tongyao.records.reconcile import Reconciliation


async def test_projected_again_the_records_follow_the_state(pool: Pool, announce: Announce, person: Person) -> None:
    process, journal, someone = await announce(), Journal(pool), await person()
    await Seats(pool).seat(process, [SeatRow.of(someone, alias="P01", endpoint="agent", fallback="leave")])
    before = Waiting(id="decide/1", ask=AskName.DECISION, alias=DEMANDER)
    await journal.write(
        told(process, *(event(seq) for seq in range(1, 9)), phase=Phase.DECIDING, inbox=(before,)), "run"
    )
    seat = Seat(alias="P01", profile=ProfileRef(profile_id=someone.profile_id, version=1), endpoint=EndpointKind.HUMAN)
    unwritten = [event(5, of="state"), event(6, of="state")]
    state = stated(
        process, seq=6, outbox=unwritten, phase=Phase.SELECTING, seats={"P01": seat}, token_budget=7, lanes={"P00": 3}
    )
    await journal.project_again(state, "run")
    row = await Processes(pool).get(process)
    assert (row.phase, row.seq, row.epoch, row.ended_at) == ("selecting", 6, 2, None)
    assert [(ask.ask, ask.person) for ask in await Inbox(pool).of_process(process, open_only=True)] == [
        ("select_participants", "somebody")
    ]
    (seated,) = await Seats(pool).seats(process)
    assert (seated.endpoint, seated.fallback) == ("human", "lapse")
    assert [of for _, _, of in await standing(pool, process)] == ["first"] * 4 + ["state"] * 2
    await journal.write(told(process, event(7, of="state")), "run")
    assert (await standing(pool, process))[-1] == (2, 7, "state"), "it goes on from there"


async def test_what_was_lost_is_not_waited_for(pool: Pool, announce: Announce) -> None:
    """PostgreSQL was restored from an older backup: events that the workflow had written are gone."""
    process, journal, events = await announce(), Journal(pool), Events(pool)
    await journal.write(told(process, event(1), event(2)), "run")
    await journal.write(told(process, event(9)), "run")
    assert [one.seq for one in await events.events(process)] == [1, 2]
    assert process in {drift.id for drift in await Reconciliation(pool).with_holes()}
    await journal.project_again(stated(process, seq=9, outbox=[]), "run")
    await journal.write(told(process, event(11)), "run")
    assert [one.seq for one in await events.events(process)] == [1, 2, 9]
    await journal.write(told(process, event(10)), "run")
    assert [one.seq for one in await events.events(process, START, limit=4)] == [1, 2, 9, 10]
    assert [one.seq for one in await events.events(process, EventCursor(epoch=1, seq=2))] == [9, 10, 11]
    assert process not in {drift.id for drift in await Reconciliation(pool).with_holes()}


async def test_messages_that_the_state_has_not_applied_are_delivered_again_in_order(
    pool: Pool, announce: Announce
) -> None:
    process, journal, messages = await announce(), Journal(pool), Messages(pool)
    await journal.write(told(process, event(1)), "run")

    async def decided(message: Message, verdict: MessageVerdict) -> str:
        stored = await messages.put(process, message, author_id=message.author.role, via="api")
        return (await messages.verdict(stored, verdict)).id

    def said(key: str) -> ConfirmTension:
        return ConfirmTension(key=key, author=Author(role="demander", alias=DEMANDER))

    child = ChildEnded(key="e", author=Author(role="child", alias="c.1-1"), child="c.1-1", outcome="completed")
    refused = MessageVerdict.refused(Refusal.NOT_NOW)
    sent = [await decided(said(f"k{number}"), ACCEPTED) for number in (1, 2, 3)]
    await decided(said("refused"), refused)
    ended = await decided(child, MessageVerdict.refused(Refusal.ENDED))
    read_before = await messages.get(sent[1])
    assert await journal.project_again(stated(process, lanes={"P00": 1, "operator": 7}), "run") == 3
    assert (await messages.verdict(read_before, refused)).verdict is None, "the verdict of a delivery before the reset"
    assert [one.id for one in await pending_messages(pool, process)] == [*sent[1:], ended]
    assert await messages.take(sent[2]) is None, "the second goes first"
    new = ConfirmTension(key="new", author=Author(role="operator"))
    assert (await messages.put(process, new, author_id="kim", via="api")).number == 8, "above what the workflow has"
