"""What people and their agents live through: kills, lateness, changes of mind; the record is what was said, once each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import said_by, text_of
from tests.gateway.journeys.served import Person, ServedStack, open_served
from tests.support.kept import pending_messages
from tests.support.until import until
from tongyao.protocol.model.process import Phase

PROFILE = "I restore wooden boats and can lend a workshop. I will not work in winter. I want to learn to sail."


async def started(
    served: ServedStack, endpoints: dict[str, str], **settings: Any
) -> tuple[str, Person, dict[str, Person]]:
    demander = await served.join("dora", "I have an old ferry and no crew.")
    people = {name: await served.join(name, f"{PROFILE} In the harbour they call me {name}.") for name in endpoints}
    demand = {
        "intent": "I want to bring an old ferry back onto the lake.",
        "participants": [{"profile_id": people[name].id, "endpoint": kind} for name, kind in endpoints.items()],
        "settings": {"auto_confirm": True, **settings},
    }
    answer = await demander.ask("POST", "/processes", json=demand)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], demander, people


async def spoken(
    served: ServedStack, pid: str, people: dict[str, Person]
) -> dict[tuple[str, int], tuple[str, str, str]]:
    """(name, round) → author, outcome, words, of everybody."""
    seats = {seat.alias: seat.person for seat in await served.repositories.seats.seats(pid)}
    names = {person.id: name for name, person in people.items()}
    record = await served.repositories.record(pid, own=set(seats))
    return {
        (names[seats[said.alias]], said.round): (said.author.value, said.outcome.value, said.text)
        for said in record.projections
    }


@pytest.mark.slow
@pytest.mark.timeout(480)
async def test_five_people_two_kills_of_the_worker_and_one_of_temporal(fresh_database_url: str, home: Path) -> None:
    script = {"verdicts": ["more", "more", "more", "exhausted", "exhausted"]}
    endpoints = {"ada": "human", "bo": "human", "cy": "agent", "di": "proxy", "ed": "proxy"}
    async with open_served(fresh_database_url, home, script) as served, served.agent() as agent:
        pid, _, people = await started(served, endpoints)
        ada, bo, cy, ed = (people[name] for name in ("ada", "bo", "cy", "ed"))

        async def respond(round_number: int, text: str, key: str) -> Any:
            return await agent.call_tool(
                "respond", {"process_id": pid, "round": round_number, "text": text, "key": key, "token": cy.token}
            )

        # Round 1: the agent first, bo before ada; ada twice; the worker dies under bo's words.
        await ada.asked(pid, "projection", 1)
        assert said_by(await respond(1, "cy in round 1", "c1"))["state"] == "applied"
        served.kill_worker()
        from_bo = await bo.say(pid, 1, "bo  in round 1\n", key="b1")
        assert (from_bo.status_code, from_bo.json()["state"]) == (202, "waiting")
        await served.worker.start()
        first = await ada.say(pid, 1, "ada in round 1", key="a1")
        again = await ada.say(pid, 1, "ada in round 1", key="a1")
        assert first.json()["id"] == again.json()["id"]
        assert [await served.verdict(bo, from_bo), await served.verdict(ada, again)] == ["applied", "applied"]

        # Round 2: ada hands over to her proxy, ed leaves, cy's `nothing_new` for round 1 comes too late; Temporal dies.
        await bo.asked(pid, "projection", 2)
        handed_over = await ada.send(pid, kind="switch_endpoint", endpoint="proxy")
        assert await served.verdict(ada, handed_over) == "applied"
        await served.kill_temporal()
        left = await ed.send(pid, kind="leave", key="e-leaves")
        assert await served.verdict(ed, left) == "applied"
        assert await served.verdict(bo, await bo.say(pid, 2, "bo in round 2", key="b2")) == "applied"
        late = await agent.call_tool(
            "respond", {"process_id": pid, "round": 1, "nothing_new": True, "key": "c1-late", "token": cy.token}
        )
        assert late.is_error and "round_over: " in text_of(late)
        assert said_by(await respond(2, "cy in round 2", "c2"))["state"] in ("applied", "waiting")
        await bo.asked(pid, "projection", 3, seconds=90)

        # Round 3: ada takes over again, before or after her proxy has spoken; the worker dies a second time.
        back = await ada.send(pid, kind="switch_endpoint", endpoint="human", key="a-back")
        served.kill_worker()
        sent = [await bo.say(pid, 3, "bo in round 3", key="b3")]
        await served.worker.start()
        assert [await served.verdict(ada, back), await served.verdict(bo, sent[0])] == ["applied", "applied"]
        assert said_by(await respond(3, "cy in round 3", "c3"))["state"] in ("applied", "waiting")
        assert await served.verdict(bo, await bo.say(pid, 3, "bo in round 3", key="b3")) == "applied"

        async def nobody_has_more() -> bool:
            for person in (ada, bo, cy):
                for ask in (await person.ask("GET", "/inbox")).json():
                    if ask["ask"] == "projection" and ask["round"] > 3:
                        await person.send(pid, kind="submit_projection", round=ask["round"], nothing_new=True)
                    elif ask["ask"] == "projection" and person is ada:
                        await ada.say(pid, 3, "ada in round 3", key="a3")
                    elif ask["ask"] == "answer":
                        await person.send(pid, kind="answer_plan", revision=ask["round"], answer="commit")
            return (await served.repositories.processes.get(pid)).ended_at is not None

        await until(nobody_has_more, seconds=240)

        said = await spoken(served, pid, people)
        assert said["cy", 1] == ("agent", "replied", "cy in round 1")
        assert said["bo", 1] == ("human", "replied", "bo  in round 1")
        assert said["ada", 1] == ("human", "replied", "ada in round 1")
        assert said["ada", 2][:2] == ("proxy", "replied")
        assert said["bo", 2] == ("human", "replied", "bo in round 2")
        assert said["cy", 2] == ("agent", "replied", "cy in round 2")
        assert said["bo", 3] == ("human", "replied", "bo in round 3")
        assert said["cy", 3] == ("agent", "replied", "cy in round 3")
        assert said["ada", 3][0] == "proxy" or said["ada", 3] == ("human", "replied", "ada in round 3")
        assert max(number for name, number in said if name == "ed") <= 2
        record = await served.repositories.record(pid)
        assert record.phase is Phase.COMPLETED and record.answers

        # Once each: every turn one event, every call one settled answer, every key one message.
        events = await served.repositories.events.events(pid, limit=1_000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        ends = Counter((e.data["alias"], e.data["round"]) for e in events if e.kind.value == "projection_received")
        assert set(ends.values()) == {1}
        calls = [c for c in await served.repositories.ledger.calls(pid) if c.state == "settled"]
        keys = [(c.step, c.round, c.alias, c.revision, c.reask) for c in calls]
        assert len(keys) == len(set(keys))
        assert await pending_messages(served.repositories.pool, pid) == []


@pytest.fixture
async def small_served(fresh_database_url: str, home: Path) -> AsyncIterator[ServedStack]:
    async with open_served(fresh_database_url, home, {"verdicts": ["more"], "seconds": 0.1}) as served:
        yield served


@pytest.mark.timeout(300)
async def test_eleven_messages_to_a_dead_worker_and_a_killed_temporal_and_one_afterwards(
    small_served: ServedStack,
) -> None:
    """Each acknowledged one is applied exactly once after the restart, each other one is visibly refused."""
    served = small_served
    endpoints = {"ada": "human", "bo": "human", "cy": "human", "di": "human"}
    pid, demander, people = await started(served, endpoints)
    ada, bo, cy, di = people.values()
    for person in people.values():
        await person.asked(pid, "projection", 1)
    seats = {seat.profile_id: seat.alias for seat in await served.repositories.seats.seats(pid)}

    served.kill_worker()
    first = await asyncio.gather(
        ada.say(pid, 1, "ada: first", key="a1"),
        bo.say(pid, 1, "bo speaks", key="b1"),
        bo.say(pid, 7, "bo in a round that is not there", key="b7"),
        demander.send(pid, kind="extend_deadline", alias=seats[di.id], seconds=3600, key="more-time"),
        demander.send(pid, kind="confirm_tension", key="confirm"),
        cy.send(pid, kind="switch_endpoint", endpoint="agent", key="c-agent"),
    )
    await served.kill_temporal()
    second = await asyncio.gather(
        ada.say(pid, 1, "ada: first", key="a1"),
        ada.say(pid, 1, "ada: corrected", key="a2"),
        cy.say(pid, 1, "cy speaks", key="c1"),
        demander.send(pid, kind="decide", decision="accept_as_is", key="decide"),
        di.send(pid, kind="leave", key="d-leaves"),
    )
    sent = [*first, *second]
    assert {answer.status_code for answer in sent} <= {200, 202}, "all were kept"
    assert {answer.json()["state"] for answer in sent} == {"waiting"}, "nobody is told what nobody knows yet"

    await served.worker.start()
    who = [ada, bo, bo, demander, demander, cy, ada, ada, cy, demander, di]
    verdicts = [await served.verdict(person, answer) for person, answer in zip(who, sent, strict=True)]
    applied = {"applied"}
    assert verdicts[:6] == ["applied", "applied", "wrong_round", verdicts[3], "already_confirmed", "applied"]
    assert verdicts[6:11] == ["applied", "applied", "applied", "not_now", "applied"]
    assert verdicts[3] in applied | {"nothing_to_extend", "has_left"}, (
        "before or after di left: authors are not ordered"
    )
    late = await di.say(pid, 1, "di speaks after leaving", key="d1")  # leaving and speaking are two lanes: not ordered
    assert await served.verdict(di, late) == "has_left"

    await ada.asked(pid, "projection", 2)
    said = await spoken(served, pid, people)
    assert said["ada", 1][2] == "ada: corrected", "a correction never arrives before what it corrects"
    assert (said["bo", 1][2], said["cy", 1][2]) == ("bo speaks", "cy speaks")
    assert said["di", 1][1] == "left"
    events = await served.repositories.events.events(pid, limit=500)
    kinds = Counter(event.kind.value for event in events)
    assert (kinds["participant_left"], kinds["endpoint_switched"]) == (1, 1)
    assert kinds["deadline_extended"] == verdicts.count("applied") - 7
    assert "di speaks" not in (await served.repositories.record(pid)).model_dump_json()
