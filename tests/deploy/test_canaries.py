"""Nobody's words, names and addresses stand readable in a file of an installation: databases, write-ahead logs, logs, whatever is under its home.

A real process runs through: profiles, an intent, what a person said, and what an operator signalled by hand.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType

from tests.support.stack import Stack
from tests.support.until import until
from tongyao.app.people.profile_versions import register_profile
from tongyao.protocol.model.process import Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.people.notifications import Channel
from tongyao.records.process.seats import SeatRow
from tongyao.runtime import installation
from tongyao.runtime.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CANARIES = {
    "profile": "the quartz heron of the northern mole",
    "intent": "a copper almanac for the ferry nobody takes",
    "said": "seventeen violet lanterns under the pier",
    "signalled": "the saffron ledger behind the boiler",
    "name": "Quillon Marrowby",
    "contact": "marrowby-quillon@harbour.example",
    "webhook": "marrowby-hook.harbour.example",
    "secret": "umber-tallow-signing-secret",
    "agent": "marrowby-agent.harbour.example",
}
PROFILES = {
    "ada": f"I repair clocks. I look after {CANARIES['profile']}. I want to learn how tides are reckoned.",
    "bo": "I keep the tide tables of the harbour. I would like to print something that people carry with them.",
    "cy": "I print posters on an old press. I am looking for work that is read twice.",
}


def holding(home: Path, what: str) -> list[str]:
    """Files under the home that hold this, as text or escaped."""
    forms = {what.encode(), json.dumps(what)[1:-1].encode(), what.encode("utf-16-le")}
    found = []
    for path in sorted(home.rglob("*")):
        if path.is_file() and not path.is_symlink() and any(form in path.read_bytes() for form in forms):
            found.append(path.relative_to(home).as_posix())
    return found


async def a_process_with_people(here: Stack) -> str:
    people = await here.people(PROFILES)
    repositories, ada = here.repositories, people[0]
    scene = (await repositories.profiles.get(ada)).scene_id
    for name, contact in ((CANARIES["name"], CANARIES["contact"]), ("Ada Renamed", "new@harbour.example")):
        await register_profile(
            here.context, ada, scene=scene, name=name, text=PROFILES["ada"], contact={"email": contact}
        )
    for address in (CANARIES["webhook"], "other.harbour.example"):
        await repositories.notifications.set_channel(
            Channel(person=ada, kind="webhook", address=f"https://{address}/", secret=CANARIES["secret"])
        )
    await repositories.sources.put(ada, "http", {"chat_url": f"https://{CANARIES['agent']}/"}, {})
    choices = [
        Choice(profile_id=people[0], endpoint=EndpointKind.HUMAN),
        *(Choice(profile_id=one) for one in people[1:]),
    ]
    pid = await here.start(
        choices, intent=f"I want to make {CANARIES['intent']}.", auto_confirm=True, max_rounds=2, deciding_seconds=1
    )
    by_hand = {"alias": "P01", "round": 1, "text": CANARIES["signalled"]}
    seat = next(one.alias for one in await _seats(here, pid) if one.person == people[0])
    await here.asked(pid, seat, 1)
    await here.handle(pid).signal("submit_projection", by_hand)
    assert (await here.speak(pid, seat, 1, f"I know of {CANARIES['said']}.")).accepted
    await here.answer_all(pid, seconds=300)
    return pid


async def _seats(here: Stack, pid: str) -> list[SeatRow]:
    async def seated() -> bool:
        return bool(await here.repositories.seats.seats(pid))

    await until(seated)
    return await here.repositories.seats.seats(pid)


@pytest.mark.parametrize("encrypts", [True, False], ids=["as it is by default", "with encryption off"])
async def test_nobodys_words_are_readable_in_any_file(
    home: Path, encrypts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With encryption off what operators signal by hand is found: the search sees what there is to see."""
    monkeypatch.setenv("TONGYAO_TEMPORAL_AUTHENTICATED", "true")
    monkeypatch.setenv("TONGYAO_TEMPORAL_ENCRYPTION", str(encrypts))  # the worker is a process of its own
    monkeypatch.setenv("TONGYAO_ENGINE", "extractive")
    async with installation.brought_up(Settings(home=home)) as installed:
        here = Stack(installed.context)
        pid = await a_process_with_people(here)
        assert (await here.repositories.processes.get(pid)).phase == Phase.COMPLETED
        history = await here.handle(pid).fetch_history()
        for canary in (words for name, words in CANARIES.items() if name != "signalled"):
            assert holding(home, canary) == []
    summaries = {
        event.user_metadata.summary.metadata["encoding"] for event in history.events if event.HasField("user_metadata")
    }
    assert summaries == {b"json/plain"}, "what the Temporal UI shows of steps stays readable"
    [signalled] = [
        event for event in history.events if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
    ]
    encodings = {
        one.metadata["encoding"] for one in signalled.workflow_execution_signaled_event_attributes.input.payloads
    }
    assert encodings == {b"binary/encrypted" if encrypts else b"json/plain"}

    found = {name: await asyncio.to_thread(holding, home, canary) for name, canary in CANARIES.items()}
    places = {name: places for name, places in found.items() if places}
    assert set(places) == (set() if encrypts else {"signalled"}), places
    holders = await asyncio.to_thread(holding, home, pid)
    assert any(name.startswith("temporal.db") for name in holders), "the search reads Temporal's database"
    assert any("pg_wal" in name for name in holders), "and the write-ahead log of the records"
