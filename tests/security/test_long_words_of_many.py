"""What many people said at length is searched for names whenever one of them reads it. Nobody else may wait for that."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.support.until import until
from tongyao.app.processes import SOON_READ, view_of
from tongyao.protocol.model.observation import Observation, Verdict
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.read_access import PartyRole, PartyView

ALIASES = ("P01", "P02", "P03")


def record(chars: int) -> Record:
    """A process after its plan, in which P01 said so much."""
    item = Item(id="R1/P01/1", kind=ItemKind.CAPABILITY, text="forge " * (chars // 6))
    said = Projection(round=1, alias="P01", outcome=Outcome.REPLIED, items=(item,))
    return Record(
        process_id="p",
        phase=Phase.ANSWERING,
        round=1,
        tension=Tension(transition="a gate of iron"),
        participants=tuple(Participant(alias=alias, identities=("Ann Bell",)) for alias in ALIASES),
        projections=(said,),
    )


class Made:
    """Takes the place of `for_party`: in which threads views are made, and how many at once. It waits until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[int] = []
        self.now = self.most = 0
        self.go = threading.Event()
        self._real, self._lock = read_access.for_party, threading.Lock()
        monkeypatch.setattr(read_access, "for_party", self.for_party)

    def for_party(self, record: Record, *, role: PartyRole, alias: str = "") -> PartyView:
        with self._lock:
            self.threads.append(threading.get_ident())
            self.now += 1
            self.most = max(self.most, self.now)
        if threading.current_thread() is not threading.main_thread():
            assert self.go.wait(60)
        with self._lock:
            self.now -= 1
        return self._real(record, role=role, alias=alias)


async def until_made(made: Made, number: int) -> None:
    await until(lambda: len(made.threads) >= number, f"{number} views are begun")


async def test_a_long_record_is_read_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(monkeypatch)
    reading = asyncio.create_task(view_of(record(2 * SOON_READ), role="participant", alias="P02", person="p2"))
    await until_made(made, 1)  # it is being made, and the loop goes on
    made.go.set()
    view = await reading
    assert made.threads != [threading.get_ident()]
    assert view.projections is not None


async def test_a_record_of_few_words_and_long_observations_is_read_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Made(monkeypatch)
    made.go.set()
    seen = Observation(round=1, verdict=Verdict.MORE, words="forge " * SOON_READ)
    long = record(60).model_copy(update={"observations": (seen,)})
    await view_of(long, role="participant", alias="P02", person="p2")
    assert made.threads != [threading.get_ident()]


async def test_a_short_record_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(monkeypatch)
    await view_of(record(60), role="participant", alias="P02", person="p2")
    assert made.threads == [threading.get_ident()]


async def test_one_person_reads_one_long_record_at_a_time_and_another_need_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Made(monkeypatch)
    long = record(2 * SOON_READ)
    many = [asyncio.create_task(view_of(long, role="participant", alias="P02", person="p2")) for _ in range(10)]
    await until_made(made, 1)
    other = asyncio.create_task(view_of(long, role="participant", alias="P03", person="p3"))
    await until_made(made, 2)
    assert made.most == 2
    made.go.set()
    await other
    await asyncio.gather(*many)
    assert made.most == 2
