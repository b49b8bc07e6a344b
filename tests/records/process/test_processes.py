"""A process is a row before it is a workflow; then it is found, listed, and ended even if it cannot tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from tests.records.conftest import Announce, NewId
from tongyao.records.database import Pool
from tongyao.records.people.profiles import Profiles, ProfileVersion
from tongyao.records.people.scenes import SceneUnknown
from tongyao.records.privacy.texts import Texts
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import (
    BadCursor,
    NewProcess,
    Processes,
    ProcessExists,
    ProcessPage,
    ProcessUnknown,
)
from tongyao.records.process.seats import CandidateRow, SeatRow, Seats


async def test_announcing_twice_is_announcing_once(pool: Pool, new_id: NewId) -> None:
    processes = Processes(pool)
    intent = await Texts(pool).put("somebody", "intent", "to mend a loom")
    new = NewProcess(
        id=new_id("process"),
        demander="somebody",
        language="en",
        intent_text_id=intent,
        settings={"quorum": 3},
    )
    row = await processes.create(new)
    assert (row.phase, row.root_id, row.seq, row.started, row.settings) == (
        "formulating", new.id, 0, False, {"quorum": 3},
    )  # fmt: skip
    await processes.mark_started(new.id)
    again = await processes.create(new)
    assert (again.started, again.created_at) == (True, row.created_at)
    with pytest.raises(ProcessExists, match=new.id):
        await processes.create(new.model_copy(update={"demander": "somebody else"}))
    with pytest.raises(SceneUnknown, match="no-such-scene"):
        await processes.create(new.model_copy(update={"id": new_id("process"), "scene_id": "no-such-scene"}))


async def test_unknown_processes_are_named(pool: Pool, new_id: NewId) -> None:
    processes, id = Processes(pool), new_id("process")
    for question in (processes.get(id), processes.mark_started(id), Journal(pool).set_ended(id, "failed")):
        with pytest.raises(ProcessUnknown, match=id):
            await question


async def test_pages_go_on_where_the_last_one_ended(pool: Pool, new_id: NewId) -> None:
    processes, demander = Processes(pool), new_id("person")
    ids = [new_id("process") for _ in range(5)]
    for id in ids:
        await processes.create(NewProcess(id=id, demander=demander, language="zh", intent_text_id=None))
    found: list[str] = []
    cursor = None
    while True:
        page = await processes.list(demander=demander, limit=2, cursor=cursor)
        found += [row.id for row in page.rows]
        if (cursor := page.next) is None:
            break
        await processes.create(NewProcess(id=new_id("process"), demander=demander, language="zh", intent_text_id=None))
    assert found == ids[::-1], "those made meanwhile belong to a newer first page"
    for forged in ("nonsense", "~", "2026-01-01~x\x00"):
        with pytest.raises(BadCursor):
            await processes.list(cursor=forged)


async def test_a_process_with_many_descendants_is_among_the_ids_found(pool: Pool, new_id: NewId) -> None:
    processes, id = Processes(pool), new_id("process")
    new = NewProcess(id=id, demander="d", language="en", intent_text_id=None)
    await processes.create(new)
    for number in range(25):
        child = {"id": f"{id}.{number}", "root_id": id, "parent_id": id, "depth": 1}
        await processes.create(new.model_copy(update=child))
    for beginning in (id, id[:-1]):
        assert (await processes.ids_like(beginning))[0] == id
    assert (await processes.ids_like(f"{id}.2"))[0] == f"{id}.2"


async def test_every_filter_filters(
    pool: Pool, new_id: NewId, announce: Announce, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    processes, someone = Processes(pool), await person()
    scene = (await Profiles(pool).get(someone.profile_id)).scene_id
    root = await processes.create(
        NewProcess(id=new_id("process"), demander="d", language="en", intent_text_id=None, scene_id=scene)
    )
    child = await processes.create(
        NewProcess(
            id=new_id("process"),
            demander="d",
            language="en",
            intent_text_id=None,
            scene_id=scene,
            root_id=root.id,
            parent_id=root.id,
            depth=1,
            phase="selecting",
        )
    )
    await Seats(pool).seat(root.id, [SeatRow.of(someone, alias="P01", endpoint="proxy", fallback="lapse")])
    await Journal(pool).set_ended(child.id, "cancelled")

    here = partial(processes.list, scene=scene)

    async def ids(page: Awaitable[ProcessPage]) -> set[str]:
        return {row.id for row in (await page).rows}

    assert await ids(here()) == await ids(here(root=root.id)) == {root.id, child.id}
    for only_the_child in (here(parent=root.id), here(phases=["cancelled"]), here(open=False)):
        assert await ids(only_the_child) == {child.id}
    assert await ids(here(participant=someone.profile_id)) == await ids(here(open=True)) == {root.id}
    for nothing in (here(waiting=True), here(phases=[]), here(demander="nobody")):
        assert await ids(nothing) == set()
    assert (await processes.get(root.id)).participants == 1


async def test_an_end_noted_from_outside_does_not_overwrite_one(pool: Pool, announce: Announce) -> None:
    processes, id = Processes(pool), await announce()
    assert (await processes.get(id)).ended_at is None
    await Journal(pool).set_ended(id, "failed")
    await Journal(pool).set_ended(id, "completed")
    row = await processes.get(id)
    assert (row.phase, row.outcome, row.waiting) == ("failed", "failed", False)
    assert row.ended_at is not None


async def test_an_alias_keeps_its_owner_while_the_seat_changes(
    pool: Pool, announce: Announce, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    room, process, one, other = Seats(pool), await announce(), await person(), await person()
    await room.seat(process, [SeatRow.of(one, alias="P01", endpoint="human", fallback="lapse")])
    await room.seat(
        process,
        [
            SeatRow.of(other, alias="P01", endpoint="proxy", fallback="leave").model_copy(update={"active": False}),
            SeatRow.of(other, alias="P02", endpoint="proxy", fallback="lapse", joined_round=3),
        ],
    )
    first, second = await room.seats(process)
    assert (first.profile_id, first.endpoint, first.fallback, first.active) == (
        one.profile_id, "proxy", "leave", False,
    )  # fmt: skip
    assert (second.alias, second.joined_round) == ("P02", 3)


async def test_what_is_frozen_stays_frozen(pool: Pool, announce: Announce) -> None:
    room, process = Seats(pool), await announce()
    assert await room.manifest(process) == {}
    assert await room.freeze(process, {"*": {"engine": "extractive"}}) == {"*": {"engine": "extractive"}}
    assert (await room.freeze(process, {"*": {"engine": "another"}}))["*"] == {"engine": "extractive"}
    await room.freeze(process, {"P03": {"version": 2}})
    assert await room.manifest(process) == {"*": {"engine": "extractive"}, "P03": {"version": 2}}


async def test_a_second_search_replaces_the_first(
    pool: Pool, announce: Announce, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    room, process, someone = Seats(pool), await announce(), await person()

    def found(rank: int, score: float) -> CandidateRow:
        return CandidateRow(
            perspective="resonance",
            rank=rank,
            profile_id=someone.profile_id,
            score=score,
            reasons=[{"start": 0}],
        )

    await room.find(process, [found(1, 0.9), found(2, 0.1)])
    await room.find(process, [found(1, 0.5)])
    assert await room.candidates(process) == [found(1, 0.5)]


async def test_history_is_searched_by_person_on_either_side_and_by_date(
    pool: Pool, new_id: NewId, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    processes, ada = Processes(pool), await person()
    brought, sat = new_id("process"), new_id("process")
    await processes.create(NewProcess(id=brought, demander=ada.profile_id, language="en", intent_text_id=None))
    row = await processes.create(NewProcess(id=sat, demander="dee", language="en", intent_text_id=None))
    await Seats(pool).seat(sat, [SeatRow.of(ada, alias="P01", endpoint="proxy", fallback="lapse")])
    found = await processes.list(person=ada.profile_id)
    assert {one.id for one in found.rows} == {brought, sat}
    later = await processes.list(person=ada.profile_id, since=row.created_at)
    earlier = await processes.list(person=ada.profile_id, until=row.created_at)
    assert [one.id for one in later.rows] == [sat]
    assert [one.id for one in earlier.rows] == [brought]
    assert (await processes.list(person=ada.profile_id, since=datetime.now(UTC) + timedelta(days=1))).rows == []
