"""A workflow that is reset, restored, or continues as new: which of its events stand, and what stands on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.records.conftest import Announce
from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.life import machine
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import Ask, Event, EventKind, Outbox, Snapshot, Waiting
from tongyao.protocol.model.messages import Author, ChildEnded, ConfirmTension, Message
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import DEMANDER, Phase, ProfileRef, Seat
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.rules.refusals import ACCEPTED, Refusal
from tongyao.protocol.rules.refusals import Verdict as MessageVerdict
from tongyao.records.database import Pool, session
from tongyao.records.people.notifications import Notifications
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.privacy.texts import Texts
from tongyao.records.process.events import START, EventCursor, Events
from tongyao.records.process.inbox import Inbox
from tongyao.records.process.journal import Journal
from tongyao.records.process.messages import Messages
from tongyao.records.process.plans import Plans
from tongyao.records.process.processes import Processes
from tongyao.records.process.rounds import ObservationRow, ProjectionRow, Rounds
from tongyao.records.process.seats import SeatRow, Seats
from tongyao.records.reconcile import Reconciliation

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
Person = Callable[..., Awaitable[ProfileVersion]]
K = EventKind


def event(seq: int, kind: EventKind = K.ROUND_OPENED, *, of: str = "first", **data: Any) -> Event:
    """`of`: two events of one number differ by it."""
    return Event(seq=seq, kind=kind, at=NOON + timedelta(minutes=seq), data={"of": of, **data})


def told(process: str, *events: Event, phase: Phase = Phase.CRYSTALLIZING, **row: Any) -> Outbox:
    snapshot = Snapshot(
        process_id=process, seq=events[-1].seq if events else row.pop("seq"), phase=phase, round=1, waiting=False, **row
    )
    return Outbox(snapshot=snapshot, events=events)


async def standing(pool: Pool, process: str) -> list[tuple[int, int, str]]:
    """(epoch, seq, of) of every event that stands."""
    return [(one.epoch, one.seq, str(one.data["of"])) for one in await Events(pool).events(process, limit=500)]


async def superseded(pool: Pool, process: str) -> list[tuple[int, int]]:
    async with session(pool) as connection:
        cursor = await connection.execute(
            "SELECT epoch, seq FROM events WHERE process_id = %s AND superseded ORDER BY epoch, seq", [process]
        )
        return [(row["epoch"], row["seq"]) for row in await cursor.fetchall()]


async def test_a_run_that_continues_as_new_supersedes_nothing(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    # The step that wrote 3 was not known to have ended: the next run tells it once more.
    await journal.write(told(process, event(3), event(4)), "run-2")
    await journal.write(told(process, event(5)), "run-3")
    assert await standing(pool, process) == [(1, 1, "first"), (1, 2, "first"), (1, 3, "first"), (2, 4, "first"), (3, 5, "first")]  # fmt: skip
    assert await superseded(pool, process) == []
    row = await Processes(pool).get(process)
    assert (row.run_id, row.epoch, row.seq) == ("run-3", 3, 5)


async def test_what_a_reset_run_says_otherwise_supersedes_what_was_said_and_is_kept(
    pool: Pool, announce: Announce
) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, *(event(seq) for seq in range(1, 7))), "run-1")
    await journal.write(told(process, event(3), event(4, of="second")), "run-2")
    assert await standing(pool, process) == [(1, 1, "first"), (1, 2, "first"), (1, 3, "first"), (2, 4, "second")]
    assert await superseded(pool, process) == [(1, 4), (1, 5), (1, 6)]
    row = await Processes(pool).get(process)
    assert (row.epoch, row.seq) == (2, 4), "the row goes back with it"


async def test_that_a_run_went_back_is_known_until_its_state_was_asked_for(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    assert not await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    assert not await journal.write(told(process, event(4)), "run-2"), "it continued as new"
    assert await journal.write(told(process, event(3, of="second")), "run-3")
    assert await journal.write(told(process, event(4, of="second")), "run-3")
    await journal.project_again(stated(process, seq=4, outbox=[event(4, of="second")]), "run-3")
    assert not await journal.write(told(process, event(5, of="second")), "run-3")
    assert [(epoch, of) for epoch, _, of in await standing(pool, process)] == [
        (1, "first"),
        (1, "first"),
        (3, "second"),
        (3, "second"),
        (4, "second"),
    ], "what stands as the state has it is not told again"


async def test_a_reset_run_without_news_takes_back_what_came_after(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    await journal.write(told(process, seq=2), "run-2")
    assert [seq for _, seq, _ in await standing(pool, process)] == [1, 2]


async def test_what_an_older_run_still_writes_is_kept_and_stands_only_before_the_newer_one(
    pool: Pool, announce: Announce
) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, event(1)), "run-1")
    await journal.write(told(process, event(4, of="second")), "run-2")
    late = told(process, event(2), event(3), event(4), event(5), phase=Phase.FAILED)
    await journal.write(late, "run-1")
    await journal.write(late, "run-1")
    assert await standing(pool, process) == [(1, 1, "first"), (1, 2, "first"), (1, 3, "first"), (2, 4, "second")]
    assert await superseded(pool, process) == [(1, 4), (1, 5)]
    row = await Processes(pool).get(process)
    assert (row.phase, row.seq, row.epoch) == ("crystallizing", 4, 2)


async def test_outboxes_of_a_reset_run_may_arrive_in_any_order(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, *(event(seq) for seq in range(1, 7))), "run-1")
    await journal.write(told(process, event(5, of="second")), "run-2")
    await journal.write(told(process, event(3), event(4, of="second")), "run-2")
    assert [of for _, _, of in await standing(pool, process)] == ["first", "first", "first", "second", "second"]


async def test_a_run_that_was_restored_from_a_backup_begins_a_new_epoch(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    await journal.write(told(process, event(2), event(3)), "run-1")
    assert (await Processes(pool).get(process)).epoch == 1, "to repeat oneself is to say nothing new"
    await journal.write(told(process, event(2, of="second")), "run-1")
    assert await standing(pool, process) == [(1, 1, "first"), (2, 2, "second")]
    row = await Processes(pool).get(process)
    assert (row.epoch, row.seq) == (2, 2)


async def test_a_reader_gets_what_stands_in_the_place_of_what_they_have_read(pool: Pool, announce: Announce) -> None:
    process, journal, events = await announce(), Journal(pool), Events(pool)
    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    cursor = (await events.events(process))[-1].cursor
    assert cursor == EventCursor(epoch=1, seq=3)
    await journal.write(told(process, event(2, of="second")), "run-2")
    (again,) = await events.events(process, cursor)
    assert (again.cursor, again.data["of"]) == (EventCursor(epoch=2, seq=2), "second")
    assert await events.events(process, again.cursor) == []
    await journal.write(told(process, event(3, of="second")), "run-2")
    assert [one.seq for one in await events.events(process, again.cursor)] == [3]
    assert [one.seq for one in await events.events(process, EventCursor(seq=3))] == [], (
        "by number alone nothing is told"
    )


async def test_people_are_told_of_what_happens_after_a_reset(pool: Pool, announce: Announce) -> None:
    process, journal, events, notifications = await announce(), Journal(pool), Events(pool), Notifications(pool)

    async def behind() -> EventCursor | None:
        return dict(await notifications.behind(10_000)).get(process)

    async def look() -> list[int]:
        cursor = await behind()
        found = await events.events(process, cursor) if cursor else []
        await notifications.from_events(process, found, [])
        return [one.seq for one in found]

    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    assert (await look(), await look()) == ([1, 2, 3], [])
    await journal.write(told(process, event(3)), "run-2")
    assert await look() == [], "a run that goes on behind the last event brings nothing new"
    await journal.write(told(process, event(2, of="second")), "run-3")
    assert (await look(), await look()) == ([2], [])


async def test_rows_that_stood_on_superseded_events_are_taken_back(
    pool: Pool, announce: Announce, person: Person
) -> None:
    process, journal, room, rounds = await announce(), Journal(pool), Seats(pool), Rounds(pool)
    people = [await person() for _ in range(2)]
    seats = [
        SeatRow.of(one, alias=f"P{number:02d}", endpoint="human", fallback="lapse")
        for number, one in enumerate(people, 1)
    ]
    text = await Texts(pool).put(f"process:{process}", "observation", "{}")
    await room.freeze(process, {"*": {}, "start": {}, "P01": {"profile": "a"}, "P02": {"profile": "b"}})
    await room.seat(process, seats)
    for number in (1, 2):
        for alias in ("P01", "P02"):
            await rounds.put_projection(process, ProjectionRow(round=number, alias=alias, outcome=Outcome.REPLIED))
        await rounds.put_observation(process, ObservationRow(round=number, verdict=Verdict.MORE, text_id=text))

    def spoke(seq: int, number: int, alias: str) -> Event:
        return event(seq, K.PROJECTION_RECEIVED, round=number, alias=alias, outcome="replied", items=1, struck=0)

    await journal.write(
        told(
            process,
            event(1, K.PARTICIPANTS_SELECTED, aliases=["P01", "P02"]),
            spoke(2, 1, "P01"),
            spoke(3, 1, "P02"),
            event(4, K.OBSERVATION_READY, round=1),
            event(5, K.ENDPOINT_SWITCHED, alias="P01", to="agent", fallback="leave"),
            spoke(6, 2, "P01"),
            spoke(7, 2, "P02"),
            event(8, K.OBSERVATION_READY, round=2),
            event(9, K.PARTICIPANT_LEFT, alias="P02", round=2),
            event(10, K.ANSWER_RECEIVED, alias="P01", decision="commit", revision=1, text_id=""),
        ),
        "run-1",
    )
    seated = [(seat.endpoint, seat.fallback, seat.active) for seat in await room.seats(process)]
    assert seated == [("agent", "leave", True), ("human", "lapse", False)]
    await journal.write(told(process, event(5, of="second")), "run-2")
    seated = [(seat.endpoint, seat.fallback, seat.active) for seat in await room.seats(process)]
    assert seated == [("human", "lapse", True), ("human", "lapse", True)]
    assert [(row.round, row.alias) for row in await rounds.projections(process)] == [(1, "P01"), (1, "P02")]
    assert [row.round for row in await rounds.observations(process)] == [1]
    assert await Plans(pool).answers(process) == []

    await journal.write(told(process, event(1, of="third")), "run-3")
    assert (await room.seats(process), await rounds.projections(process)) == ([], [])
    assert set(await room.manifest(process)) == {"*", "start"}, "who is seated next is frozen anew"


async def test_a_turn_that_ends_without_a_model_is_in_the_record(
    pool: Pool, announce: Announce, person: Person
) -> None:
    process, journal, rounds, someone = await announce(), Journal(pool), Rounds(pool), await person()
    seats = [SeatRow.of(someone, alias=f"P0{number}", endpoint="human", fallback="lapse") for number in (1, 2, 3, 4)]
    await Seats(pool).seat(process, seats)
    said = await Texts(pool).put(someone.profile_id, "projection", "{}")
    spoken = ProjectionRow(round=1, alias="P01", outcome=Outcome.REPLIED, text_id=said, items=3, chars=40)
    await rounds.put_projection(process, spoken)
    for alias in ("P02", "P04"):
        await rounds.put_projection(process, spoken.model_copy(update={"alias": alias}))

    def ended(seq: int, alias: str, outcome: str, **data: Any) -> Event:
        return event(seq, K.PROJECTION_RECEIVED, alias=alias, round=1, outcome=outcome, items=0, struck=0, **data)

    box = told(
        process,
        ended(1, "P01", "replied", author="human"),
        ended(2, "P02", "nothing_new", author="human"),
        ended(3, "P03", "lapsed"),
        ended(4, "P04", "left"),
    )
    await journal.write(box, "run-1")

    async def record() -> list[tuple[str, str, str, str | None, int]]:
        rows = await rounds.projections(process)
        return [(row.alias, row.outcome.value, row.author.value, row.text_id, row.items) for row in rows]

    assert await record() == [
        ("P01", "replied", "proxy", said, 3),
        ("P02", "nothing_new", "human", None, 0),
        ("P03", "lapsed", "human", None, 0),
        ("P04", "left", "human", None, 0),
    ]
    # They correct themselves while the gate is open; the step writes before its event arrives.
    await rounds.put_projection(process, spoken.model_copy(update={"alias": "P03"}))
    await rounds.put_projection(process, spoken.model_copy(update={"alias": "P04"}))
    await journal.write(box, "run-1")
    assert (await record())[2:] == [("P03", "replied", "proxy", said, 3), ("P04", "left", "human", None, 0)]
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT text_id FROM replaced_texts WHERE process_id = %s", [process])
        replaced = [row["text_id"] for row in await cursor.fetchall()]
    assert replaced == [said], "an erasure finds what P02 and P04 had said before"


def stated(process: str, **changes: Any) -> State:
    """A state that waits for the demander to confirm; `changes` to it."""
    start = ProcessInput(process_id=process, scene="s", demander="somebody", intent_text_id="t")
    state = machine.begin(start, NOON, seed="seed")
    for name, value in changes.items():
        setattr(state, name, value)
    return state


async def test_projected_again_the_records_follow_the_state(pool: Pool, announce: Announce, person: Person) -> None:
    process, journal, someone = await announce(), Journal(pool), await person()
    await Seats(pool).seat(process, [SeatRow.of(someone, alias="P01", endpoint="agent", fallback="leave")])
    before = Waiting(ask=Ask.DECISION, alias=DEMANDER)
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
        return (await messages.verdict(stored.id, verdict)).id

    def said(key: str) -> ConfirmTension:
        return ConfirmTension(key=key, author=Author(role="demander", alias=DEMANDER))

    child = ChildEnded(key="e", author=Author(role="child", alias="c.1-1"), child="c.1-1", outcome="completed")
    refused = MessageVerdict.refused(Refusal.NOT_NOW)
    sent = [await decided(said(f"k{number}"), ACCEPTED) for number in (1, 2, 3)]
    await decided(said("refused"), refused)
    ended = await decided(child, MessageVerdict.refused(Refusal.ENDED))
    assert await journal.project_again(stated(process, lanes={"P00": 1, "operator": 7}), "run") == 3
    assert [one.id for one in await messages.pending(process)] == [*sent[1:], ended]
    assert await messages.take(sent[2]) is None, "the second goes first"
    new = ConfirmTension(key="new", author=Author(role="operator"))
    assert (await messages.put(process, new, author_id="kim", via="api")).number == 8, "above what the workflow has"


async def test_a_run_that_the_records_know_may_go_on_without_being_asked(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    assert await journal.knows(process, "run-1"), "nobody has written yet"
    await journal.write(told(process, event(1)), "run-1")
    assert await journal.knows(process, "run-1") and not await journal.knows(process, "run-2")
    await journal.write(told(process, event(2)), "run-2")
    assert await journal.knows(process, "run-1") and await journal.knows(process, "run-2")


@pytest.mark.parametrize("suspended", [(), ("endpoints_failed", "records_away")])
async def test_causes_of_a_suspension_stand_beside_the_phase(
    pool: Pool, announce: Announce, suspended: tuple[str, ...]
) -> None:
    process, processes = await announce(), Processes(pool)
    ask = Waiting(ask=Ask.DECISION, alias=DEMANDER, remaining_seconds=90 if suspended else None)
    box = told(process, event(1), phase=Phase.DECIDING, suspended=suspended, suspended_reason="why", inbox=(ask,))
    await Journal(pool).write(box, "run")
    row = await processes.get(process)
    assert (row.phase, row.suspended, row.suspended_reason) == ("deciding", suspended, "why")
    (open_ask,) = await Inbox(pool).of_process(process)
    assert (open_ask.due_at, open_ask.remaining_seconds) == (None, 90 if suspended else None)

    async def listed(**filters: Any) -> bool:
        return process in {row.id for row in (await processes.list(limit=200, **filters)).rows}

    assert await listed(suspended=bool(suspended)) and not await listed(suspended=not suspended)
    assert await listed(cause="records_away") is bool(suspended) and not await listed(cause="no_credit")


async def test_who_is_invited_finds_the_question_in_their_inbox(pool: Pool, announce: Announce) -> None:
    process, inbox = await announce(), Inbox(pool)
    asks = tuple(Waiting(ask=Ask.CONSENT, alias=f"invited/{n}", round=n, subject=f"{process}-{n}") for n in (1, 2))
    await Journal(pool).write(told(process, event(1), phase=Phase.CONSENTING, inbox=asks), "run")
    (mine,) = await inbox.of_person(f"{process}-2")
    assert (mine.alias, mine.person, mine.subject) == ("invited/2", f"{process}-2", f"{process}-2")


@pytest.mark.parametrize(
    ("author", "revision", "happened"),
    [
        (
            "human",
            1,
            [("words_arrived", {}), ("words_arrived", {}), ("projection_received", {"outcome": "nothing_new"})],
        ),
        ("proxy", 1, [("words_arrived", {}), ("projection_received", {"outcome": "nothing_new"})]),
        ("proxy", 1, [("projection_received", {"outcome": "lapsed"})]),
    ],
)
async def test_a_step_that_is_late_for_its_turn_changes_nothing(
    pool: Pool,
    announce: Announce,
    person: Person,
    author: str,
    revision: int,
    happened: list[tuple[str, dict[str, str]]],
) -> None:
    process, journal, rounds, someone = await announce(), Journal(pool), Rounds(pool), await person()
    await Seats(pool).seat(process, [SeatRow.of(someone, alias="P01", endpoint="human", fallback="lapse")])
    said = await Texts(pool).put(someone.profile_id, "projection", "{}")
    turn = ProjectionRow(
        round=1, alias="P01", outcome=Outcome.REPLIED, author=EndpointKind(author), text_id=said, items=3
    )
    events = []
    for seq, (kind, data) in enumerate(happened, 1):
        counts: dict[str, Any] = {"items": 0, "struck": 0} if data else {}
        events.append(event(seq, K(kind), alias="P01", round=1, **counts, **data))
    await journal.write(told(process, *events), "run-1")

    await rounds.put_projection(process, turn, revision=revision, run_id="run-1")
    (row,) = await rounds.projections(process)
    assert (row.outcome.value, row.text_id) == (happened[-1][1]["outcome"], None)

    await rounds.put_projection(process, turn, revision=revision, run_id="run-2")
    (row,) = await rounds.projections(process)
    assert row.text_id == said, "a run that was reset and has written nothing yet goes on from before that"
