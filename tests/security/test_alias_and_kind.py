"""Nobody may find out who sits under an alias, or whether a person or a proxy speaks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.protocol.lives import Life
from tests.records.conftest import KEYS
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import ProcessAccess
from tongyao.app.errors import BadInput
from tongyao.app.messaging.party_events import PartyEvents
from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.observation import Observation, Verdict
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.projection import EndpointKind, Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.event_read_access import event_for_party
from tongyao.records.database import Pool, open_pool
from tongyao.records.process.events import Events
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import NewProcess, Processes

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
K = EventKind


@pytest.fixture(scope="module")
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, max_size=4, application_name="tests", keys=KEYS)
    yield pool
    await pool.close()


class Told:
    """A process whose events are written by hand."""

    def __init__(self, pool: Pool, process_id: str) -> None:
        self.pool, self.id = pool, process_id

    @classmethod
    async def announced(cls, pool: Pool) -> Told:
        new = NewProcess(id=f"process-{uuid4().hex[:12]}", demander="d", language="en", intent_text_id=None)
        return cls(pool, (await Processes(pool).create(new)).id)

    async def tell(self, *events: Event, run: str = "run-1") -> None:
        snapshot = Snapshot(process_id=self.id, seq=events[-1].seq, phase=Phase.CRYSTALLIZING, round=1, waiting=False)
        await Journal(self.pool).write(Outbox(snapshot=snapshot, events=events), run)

    async def read_by(self, alias: str) -> PartyEvents:
        role = Role.DEMANDER if alias == DEMANDER else Role.PARTICIPANT
        row = await Processes(self.pool).get(self.id)
        return PartyEvents(Events(self.pool), ProcessAccess(row, role, alias, alias, alias))


def event(seq: int, kind: EventKind, **data: Any) -> Event:
    return Event(seq=seq, kind=kind, at=NOON + timedelta(minutes=seq), data=data)


def a_round(turns: tuple[tuple[EventKind, str], ...]) -> list[Event]:
    """Round 1 with these events of single seats in it."""
    inner = [event(2 + n, kind, alias=alias, round=1, outcome="replied") for n, (kind, alias) in enumerate(turns)]
    gate = Event(seq=2 + len(inner), kind=K.GATE_COMPLETE, at=NOON + timedelta(hours=1), data={"round": 1})
    return [event(1, K.ROUND_OPENED, round=1, aliases=["P01", "P02", "P03"]), *inner, gate]


BY_PROXIES = ((K.PROJECTION_RECEIVED, "P01"), (K.PROJECTION_RECEIVED, "P02"), (K.PROJECTION_RECEIVED, "P03"))
BY_A_PERSON = (
    (K.TURN_WAITING, "P02"),
    (K.PROJECTION_RECEIVED, "P01"),
    (K.PROJECTION_RECEIVED, "P03"),
    (K.REMINDER, "P02"),
    (K.DEADLINE_EXTENDED, "P02"),
    (K.WORDS_ARRIVED, "P02"),
    (K.PROJECTION_RECEIVED, "P02"),
)


@pytest.mark.parametrize("alias", [DEMANDER, "P01"])
async def test_the_events_of_others_tell_neither_by_number_nor_by_time_who_is_a_person(pool: Pool, alias: str) -> None:
    seen = []
    for turns in (BY_PROXIES, BY_A_PERSON):
        told = await Told.announced(pool)
        await told.tell(*a_round(turns))
        shown, _ = await (await told.read_by(alias)).read()
        seen.append([one for one in shown if one.data.get("alias") != alias])
    first, second = seen
    assert [one.kind for one in first] == [K.ROUND_OPENED, K.GATE_COMPLETE]
    assert [(one.kind, one.at, one.data) for one in first] == [(one.kind, one.at, one.data) for one in second]
    if alias == DEMANDER:
        assert [one.id for one in first] == [one.id for one in second]


async def test_a_reader_resumes_where_they_stopped(pool: Pool) -> None:
    told = await Told.announced(pool)
    await told.tell(*a_round(BY_A_PERSON))
    whole, _ = await (await told.read_by("P02")).read()
    for n, one in enumerate(whole, 1):
        again = await told.read_by("P02")
        assert await again.resume(one.id) is None
        assert (await again.read()) == (whole[n:], None)


async def test_who_has_read_what_was_superseded_is_told_the_last_that_holds(pool: Pool) -> None:
    told = await Told.announced(pool)
    await told.tell(*(event(n, K.ROUND_OPENED, round=n) for n in (1, 2, 3)))
    live = await told.read_by(DEMANDER)
    (first, _, third), _ = await live.read()
    await told.tell(event(2, K.CONCLUDED, round=1), run="run-2")
    resumed = await told.read_by(DEMANDER)
    assert await resumed.resume(third.id) == first.id
    for reader in (live, resumed):
        (new,), rewound = await reader.read()
        assert new.kind is K.CONCLUDED
        assert rewound == (first.id if reader is live else None)
        assert await reader.read() == ([], None)
    holds = await told.read_by(DEMANDER)
    assert await holds.resume(first.id) is None


async def test_to_continue_as_new_supersedes_nothing(pool: Pool) -> None:
    told = await Told.announced(pool)
    await told.tell(event(1, K.ROUND_OPENED, round=1), event(2, K.GATE_COMPLETE, round=1))
    live = await told.read_by(DEMANDER)
    read, _ = await live.read()
    await told.tell(event(3, K.ROUND_OPENED, round=2), run="run-2")
    (third,), rewound = await live.read()
    assert rewound is None
    again = await told.read_by(DEMANDER)
    assert await again.resume(read[-1].id) is None
    assert await again.read() == ([third], None)


@pytest.mark.parametrize("token", ["3", "MQ", "äää", "LTEuMg", "MS4w", "MS4xLjE", "=", "MS45OTk5OTk5OTk5OTk5OTk5"])
async def test_what_is_no_token_of_an_event_is_refused(pool: Pool, token: str) -> None:
    told = await Told.announced(pool)
    with pytest.raises(BadInput, match="as it was sent"):
        await (await told.read_by(DEMANDER)).resume(token)


@pytest.mark.parametrize("spoken", [False, True])
def test_the_demander_gives_more_time_to_proxies_and_people_alike(spoken: bool) -> None:
    life = Life.in_round_one("human", "proxy", "agent")
    if spoken:
        life.says("P01", "words")
    for alias in ("P01", "P02", "P03"):
        assert life.by_demander("extend_deadline", alias=alias, seconds=3600) == ""
        assert life.by_demander("extend_deadline", alias=alias, seconds=3600) == ""


def test_an_author_reads_their_own_words_as_they_wrote_them() -> None:
    """Whether a name in them is replaced would tell whether its owner is in the room."""
    said = "Ann Bell and Derek Miller will do it"
    record = Record(
        process_id="p",
        phase=Phase.ANSWERING,
        round=1,
        tension=Tension(transition="[person 1] will do it"),
        own_tension=Tension(transition=said),
        demander=Participant(alias=DEMANDER, identities=("Ida Quist",)),
        participants=(
            Participant(alias=DEMANDER, identities=("Ida Quist",)),
            Participant(alias="P01", identities=("Ann Bell",)),
        ),
        answer_words={DEMANDER: said, "P01": said},
    )
    mine = read_access.for_party(record, role="demander")
    assert mine.tension == record.own_tension
    asked = read_access.for_party(record, role="participant", alias=DEMANDER)  # the demander's own agent
    assert asked.tension == record.own_tension
    of_others = read_access.for_party(record.model_copy(update={"tension_is_own": False}), role="demander")
    assert of_others.tension == record.tension
    assert read_access.for_party(record, role="participant", alias="P01").tension == record.tension


def said_by(alias: str, author: EndpointKind, *items: Item) -> Projection:
    outcome = Outcome.REPLIED if items else Outcome.NOTHING_NEW
    return Projection(round=1, alias=alias, outcome=outcome, items=items, author=author)


@pytest.mark.parametrize("reader", [DEMANDER, "P01"])
@pytest.mark.parametrize("silent", [False, True])
def test_the_open_record_does_not_tell_a_proxy_from_a_person(reader: str, silent: bool) -> None:
    text = "I forge iron"
    proxys = Item(
        id="R1/P02/1", kind=ItemKind.CAPABILITY, text=text, quotes=("forge iron",), inferred=True, about=("B1",)
    )
    persons = Item(id="R1/P03/1", text=text)
    items, words = ((), ()) if silent else ((proxys,), (persons,))
    record = Record(
        process_id="p",
        phase=Phase.ANSWERING,
        round=1,
        tension=Tension(transition="a gate of iron"),
        demander=Participant(alias=DEMANDER),
        participants=tuple(Participant(alias=alias) for alias in ("P01", "P02", "P03")),
        projections=(said_by("P02", EndpointKind.PROXY, *items), said_by("P03", EndpointKind.HUMAN, *words)),
    )
    role: Any = "demander" if reader == DEMANDER else "participant"
    view = read_access.for_party(record, role=role, alias="" if reader == DEMANDER else reader)
    assert view.projections is not None
    proxy, person = (one.model_dump_json().replace(one.alias, "") for one in view.projections)
    assert proxy == person
    own = read_access.for_party(record, role="participant", alias="P03").own
    assert own == record.projections[1:]


@pytest.mark.parametrize(
    ("role", "alias", "seated", "told"),
    [
        ("participant", "P02", False, None),
        ("participant", "P01", False, {"alias": "P01", "round": 2}),
        ("demander", "", True, {"round": 2}),
        ("demander", "", False, {"alias": "P01", "round": 2}),
    ],
)
def test_the_room_is_not_told_at_once_who_left(
    role: Any, alias: str, seated: bool, told: dict[str, Any] | None
) -> None:
    """At a deadline it would tell that a person sat there: a proxy misses none."""
    left = Event(seq=1, kind=K.PARTICIPANT_LEFT, at=NOON, data={"alias": "P01", "round": 2})
    shown = event_for_party(left, role=role, alias=alias, seated=seated)
    assert (shown.data if shown else None) == told


@pytest.mark.parametrize("outcome", [Outcome.LAPSED, Outcome.FAILED, Outcome.LEFT])
def test_every_silent_turn_reads_alike(outcome: Outcome) -> None:
    record = Record(
        process_id="p",
        phase=Phase.CRYSTALLIZING,
        round=2,
        tension=Tension(transition="a gate of iron"),
        demander=Participant(alias=DEMANDER),
        participants=(Participant(alias="P01"), Participant(alias="P02")),
        projections=(Projection(round=1, alias="P02", outcome=outcome, author=EndpointKind.HUMAN),),
        observations=(Observation(round=1, verdict=Verdict.MORE),),
    )
    turns = read_access.for_party(record, role="participant", alias="P01").turns
    assert turns is not None and [one.outcome for one in turns] == [Outcome.LAPSED]
    own = read_access.for_party(record, role="participant", alias="P02").own
    assert own is not None and own[0].outcome is outcome
