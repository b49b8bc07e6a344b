"""What stands on events: rows of turns, seats, answers, causes and the inbox, and what is taken back with the events."""

from __future__ import annotations

from typing import Any

import pytest

from tests.records.conftest import Announce
from tests.records.told import K, Person, event, told
from tongyao.protocol.model.events import AskName, Event, Waiting
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.records.database import Pool, session
from tongyao.records.privacy.texts import Texts
from tongyao.records.process.inbox import Inbox
from tongyao.records.process.journal import Journal
from tongyao.records.process.plans import Plans
from tongyao.records.process.process_rows import Processes
from tongyao.records.process.rounds import ObservationRow, ProjectionRow, Rounds
from tongyao.records.process.seats import SeatRow, Seats


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
            await rounds.put_projections(process, [ProjectionRow(round=number, alias=alias, outcome=Outcome.REPLIED)])
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


@pytest.mark.parametrize("words_known", [True, False], ids=["after-the-words", "with-the-words"])
async def test_an_outcome_that_arrives_after_newer_words_does_not_replace_them(
    pool: Pool, announce: Announce, person: Person, words_known: bool
) -> None:
    """A worker died with the event of an outcome, and another step wrote the newer words of the turn meanwhile."""
    process, journal, rounds, someone = await announce(), Journal(pool), Rounds(pool), await person()
    await Seats(pool).seat(process, [SeatRow.of(someone, alias="P01", endpoint="human", fallback="lapse")])
    silent = event(2, K.PROJECTION_RECEIVED, alias="P01", round=1, outcome="nothing_new", items=0, struck=0)
    newer = event(3, K.WORDS_ARRIVED, alias="P01", round=1)
    began = event(1, K.ROUND_OPENED, round=1, aliases=["P01"])
    await journal.write(told(process, began, *([newer] if words_known else [])), "run-1")
    said = await Texts(pool).put(someone.profile_id, "projection", "{}")
    human = EndpointKind.HUMAN
    spoken = ProjectionRow(round=1, alias="P01", outcome=Outcome.REPLIED, author=human, text_id=said, items=3)
    await rounds.put_projections(process, [spoken], revisions={"P01": 2}, run_id="run-1")
    replied = event(4, K.PROJECTION_RECEIVED, alias="P01", round=1, outcome="replied", items=3, struck=0)
    for late in ([silent] if words_known else [silent, newer], [replied]):
        await journal.write(told(process, *late), "run-1")
        (row,) = await rounds.projections(process)
        assert (row.outcome, row.text_id, row.items) == (Outcome.REPLIED, said, 3)


async def test_a_turn_that_ends_without_a_model_is_in_the_record(
    pool: Pool, announce: Announce, person: Person
) -> None:
    process, journal, rounds, someone = await announce(), Journal(pool), Rounds(pool), await person()
    seats = [SeatRow.of(someone, alias=f"P0{number}", endpoint="human", fallback="lapse") for number in (1, 2, 3, 4)]
    await Seats(pool).seat(process, seats)
    said = await Texts(pool).put(someone.profile_id, "projection", "{}")
    spoken = ProjectionRow(round=1, alias="P01", outcome=Outcome.REPLIED, text_id=said, items=3, chars=40)
    await rounds.put_projections(process, [spoken])
    for alias in ("P02", "P04"):
        await rounds.put_projections(process, [spoken.model_copy(update={"alias": alias})])

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
    await rounds.put_projections(process, [spoken.model_copy(update={"alias": "P03"})])
    await rounds.put_projections(process, [spoken.model_copy(update={"alias": "P04"})])
    await journal.write(box, "run-1")
    assert (await record())[2:] == [("P03", "replied", "proxy", said, 3), ("P04", "left", "human", None, 0)]
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT text_id FROM replaced_texts WHERE process_id = %s", [process])
        replaced = [row["text_id"] for row in await cursor.fetchall()]
    assert replaced == [said], "an erasure finds what P02 and P04 had said before"


@pytest.mark.parametrize("suspended", [(), ("endpoints_failed", "records_away")])
async def test_causes_of_a_suspension_stand_beside_the_phase(
    pool: Pool, announce: Announce, suspended: tuple[str, ...]
) -> None:
    process, processes = await announce(), Processes(pool)
    ask = Waiting(id="decide/1", ask=AskName.DECISION, alias=DEMANDER, remaining_seconds=90 if suspended else None)
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
    asks = tuple(
        Waiting(id=f"consent/{n}", ask=AskName.CONSENT, alias=f"invited/{n}", round=n, subject=f"{process}-{n}")
        for n in (1, 2)
    )
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

    await rounds.put_projections(process, [turn], revisions={turn.alias: revision}, run_id="run-1")
    (row,) = await rounds.projections(process)
    assert (row.outcome.value, row.text_id) == (happened[-1][1]["outcome"], None)

    await rounds.put_projections(process, [turn], revisions={turn.alias: revision}, run_id="run-2")
    (row,) = await rounds.projections(process)
    assert row.text_id == said, "a run that was reset and has written nothing yet goes on from before that"
