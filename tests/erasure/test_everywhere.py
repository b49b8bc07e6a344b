"""Erasure reaches every table there is: the tables are read from the catalog, so that a new one cannot be forgotten.

Somebody's words and addresses are put everywhere they can come to stand; a table that stays empty here is either named
below, with the reason, or missing from this test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, cast

import psycopg
import pytest
from psycopg import sql
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from crystalline_highway.highway import Highway, UsedSpans
from tests.erasure.quoting import QuotingEngine
from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_blindness import Room, everything
from tests.support.scan import find_in_database
from tests.support.scripted import ScriptedEngine
from tests.support.stack import OPERATOR, Stack, open_stack
from tests.support.until import until
from tongyao.app.people.erasure import erase
from tongyao.app.people.profile_versions import register_profile
from tongyao.commands.export import write_export
from tongyao.field.intent_field import IntentField
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.gateway.server import application
from tongyao.llm.engine import Usage
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Item, Projection
from tongyao.records.people.notifications import Channel
from tongyao.records.process.plans import FeedbackRow
from tongyao.records.process.standing import StandingMatch, StandingTension
from tongyao.runtime import wiring

WORD = "Quillfeather"
NAME, MAIL, HOOK, LABEL = (
    f"Ada {WORD}name",
    f"ada@{WORD.lower()}.example",
    f"https://{WORD.lower()}.example",
    f"{WORD}-label",
)
KEY = f"{WORD}-in-an-idempotency-key"
PROFILE = (
    f"I keep the {WORD} cold room of 43 square metres by the harbour. I can lend the {WORD} cold room on two nights a week "
    "for a ferry timetable trial. I will not lend it in August. I want to learn how a ferry timetable follows the tides."
)
OTHERS = {
    "bo": "I drive a refrigerated van up the valley on Tuesdays. I can carry crates for a ferry timetable trial. "
    "I do not drive at night.",
    "cy": "I teach volunteers to read temperature loggers. I want to learn how a ferry timetable follows the tides. "
    "I cannot come on Sundays.",
}
INTENT = "I want to learn whether a cold room by the harbour makes my ferry timetable work; I have two crates a night."

NOTHING_OF_ANYBODY: Final = {
    "master_keys": "fingerprints of the installation's own keys",
    "yoyo_lock": "of the migrations",
    "tombstones": "written by an erasure",
    "history_deletions": "written by an erasure",
    "door_outages": "times at which no gateway ran",
    "operator_acts": "logins of operators",
    "backups": "sizes, and logins of operators",
    "duties": "closed words and counts",
    "signalled": "of older processes",
    "call_readers": "ids of calls, and names of those who answer calls from outside: this installation has a model",
}
"""Tables in which nothing stands when somebody has said everything that can be said."""

ID_STAYS: Final = {
    "answers", "contacts", "data_keys", "events", "feedback", "inbox", "intent_readings", "mandates", "manifests", "messages",
    "model_calls", "notifications", "profile_versions", "profiles", "seats", "texts", "tokens", "tombstones",
}  # fmt: skip
"""Where an erased person's id may still stand: their seat and what hangs on it, ids and counts (docs/erasure.md)."""

MUST_NOT_STAY: Final = {
    "candidates",
    "openid_links",
    "standing_tensions",
    "standing_matches",
    "channels",
    "sources",
    "source_turns",
    "field_chunks",
    "field_members",
    "field_changes",
}


@dataclass
class Said:
    """Where things are said: the person, their process, and who else looks at it. `heard`: a process of others' words."""

    person: str
    process: str
    unread: str
    tokens: dict[str, str]


async def everything_is_said(here: Stack, gateway: GatewayHarness, url: str) -> Said:
    repositories, scene = here.repositories, await gateway.scene()
    joined = await gateway.join(scene, PROFILE, name=NAME, email=MAIL)
    ada, token = joined["profile_id"], joined["token"]
    people = dict(zip(OTHERS, await here.people(OTHERS, scene=scene), strict=True))
    dee = await gateway.join(scene, "I sail a small ferry and sell fish on the quay.", name="Dee Example")
    await everywhere_beside_processes(here, gateway, ada, token, scene)

    demand = {
        "intent": INTENT,
        "scene": scene,
        "settings": {"auto_confirm": True, "residuals": "off", "cost_budget": "5.00", "max_rounds": 2},
    }
    pid = (await gateway.ask("POST", "/processes", dee["token"], json=demand)).json()["id"]
    await here.until(pid, "selecting")
    chosen = [{"profile_id": ada, "endpoint": "agent"}, *people.values()]
    await gateway.ask(
        "POST", f"/processes/{pid}/messages", dee["token"], json={"kind": "select_participants", "participants": chosen}
    )
    await here.until_round(pid, "crystallizing", 1)
    alias = next(seat.alias for seat in await repositories.seats.seats(pid) if seat.person == ada)
    await here.asked(pid, alias, 1)
    assert [turn.person for turn in await repositories.sources.due()] == [ada], "their agent is about to be asked"
    await NotificationSender(repositories, {}).once()
    first = {"kind": "submit_projection", "round": 1, "text": f"The {WORD} cold room is free on Mondays. " + PROFILE}
    assert (await gateway.ask("POST", f"/processes/{pid}/messages", token, json=first)).status_code == 200
    await here.asked(pid, alias, 2)
    said = {"kind": "submit_projection", "round": 2, "text": f"The {WORD} cold room has a door of two metres."}
    sent = await gateway.ask("POST", f"/processes/{pid}/messages", token, json=said, key=KEY)
    assert sent.status_code == 200
    await here.until(pid, "deciding")
    await here.say(pid, "decide", decision="accept_as_is")
    await here.asked(pid, alias, 1, what="answer")
    answered = {"kind": "answer_plan", "revision": 1, "answer": "commit", "text": f"{WORD} agrees.", "contact": MAIL}
    assert (await gateway.ask("POST", f"/processes/{pid}/messages", token, json=answered)).status_code == 200
    assert (await here.end(pid)).phase is Phase.COMPLETED
    await corrected(here, pid, people["bo"])
    await repositories.feedback.put(
        pid, FeedbackRow(alias=alias, revision=1, usefulness=5), words=f"{WORD} was useful."
    )

    row = await repositories.processes.get(pid)
    waits = StandingTension(
        id="s-1", scene_id=scene, process_id=pid, residual="plan/1/residual/1", demander=row.demander,
        text_id=await repositories.texts.put(f"process:{pid}", "shared/tension", f"The {WORD} cold room waits."), people=[ada],
        per_week=1, until=datetime.now(UTC) + timedelta(days=1), created_at=datetime.now(UTC),
    )  # fmt: skip
    await repositories.standing.keep(waits)
    match = StandingMatch(standing_id="s-1", profile_id=ada, version=1)
    await repositories.standing.settle(scene, [match], datetime.now(UTC), people={}, tensions=[])
    unread = await here.start([ada, *people.values()], intent=INTENT, auto_confirm=True, residuals="off")
    await here.handle(unread).signal("submit_projection", {"alias": alias, "round": "one", "text": f"{WORD} by hand"})
    await here.end(unread)
    bo = await gateway.person(people["bo"])
    return Said(ada, pid, unread, {"dee": dee["token"], "bo": bo, "operator": await gateway.operator()})


async def corrected(here: Stack, pid: str, person: str) -> None:
    """Somebody else quoted the person in a turn, and took it back: the text stays, and no turn names it any more."""
    (turn,) = [
        row
        for row in await here.repositories.rounds.projections(pid)
        if row.round == 1 and await _sits(here, pid, row.alias, person)
    ]
    said = Item(id=f"R1/{turn.alias}/1", text="I would use the cold room.")
    quoted = Projection(round=1, alias=turn.alias, outcome=turn.outcome, items=(said,))
    text_id = await here.repositories.texts.put(person, "projection", quoted.model_dump_json())
    await here.repositories.rounds.put_projections(pid, [turn.model_copy(update={"text_id": text_id})])
    await here.repositories.rounds.put_projections(pid, [turn])


async def _sits(here: Stack, pid: str, alias: str, person: str) -> bool:
    return any((seat.alias, seat.person) == (alias, person) for seat in await here.repositories.seats.seats(pid))


async def everywhere_beside_processes(here: Stack, gateway: GatewayHarness, ada: str, token: str, scene: str) -> None:
    """Addresses, mandate, token, agent, long memory and index."""
    repositories = here.repositories
    mandate = {"may_speak": True, "topics": [], "never": [f"{WORD} debts"], "addition": f"Be kind about {WORD}."}
    assert (await gateway.ask("PUT", f"/profiles/{ada}/mandate", token, json=mandate)).is_success
    await repositories.drafts.keep(ada, "start", f"Half a sentence of {WORD}.")
    await repositories.openid_links.put(ada, "https://id.example", "ada-at-the-provider", made_with=None)
    await repositories.ledger.count_reading(ada, engine="extractive", model="none", usage=Usage(), cost=Decimal(0))
    for kind, address in (("mail", MAIL), ("webhook", HOOK)):
        await repositories.notifications.set_channel(
            Channel(person=ada, kind=cast(Any, kind), address=address, confirmed=True)
        )
    await repositories.tokens.issue("person", person=ada, label=LABEL)
    await repositories.sources.put(ada, "http", {"chat_url": f"{HOOK}/chat"}, {"access_token": f"{WORD}-secret"})
    highway = Highway(repositories.pool)
    texts = ["\n\n".join((PROFILE, OTHERS["cy"]))]
    await highway.recite(ada, 1, texts)
    await highway.write_back(ada, 1, "an-occasion", [UsedSpans((OTHERS["cy"],), ((0, 0, 40),))])
    await highway.recite_level(ada, 2, texts)
    indexer = IntentField(repositories.pool).indexer
    index = await indexer.begin(scene, "lexical")
    while await indexer.fill(index):
        pass
    await indexer.finish(index)
    await register_profile(
        here.context, ada, scene=scene, name=NAME, text=PROFILE + " I can also lend a ramp.", contact={"email": MAIL}
    )


def tables(url: str) -> dict[str, bool]:
    """Every table of the catalog, partitions by their parent, and whether anything stands in it."""
    with psycopg.connect(url, autocommit=True) as connection:
        names = [
            row[0]
            for row in connection.execute(
                """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                   WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"""
            )
        ]
        query = sql.SQL("SELECT EXISTS (SELECT 1 FROM {})")
        return {name: (True,) in connection.execute(query.format(sql.Identifier(name))) for name in names}


def naming(url: str, what: str) -> set[str]:
    """Tables in which `what` stands in any column; a partition counts as its parent."""
    found = {place.split(".")[0] for place in find_in_database(url, what)}
    return {"field_chunks" if name.startswith("field_chunks_") else name for name in found}


def in_folder(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes())


async def in_history(stack: Stack, process: str) -> bool:
    """Whether the word stands anywhere in what Temporal keeps of a process; False when it keeps nothing."""
    try:
        history = await stack.handle(process).fetch_history()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False
    return any(WORD.encode() in event.SerializeToString() for event in history.events)


async def opened(stack: Stack) -> list[str]:
    """Kinds of texts that can be opened and hold the word."""
    async with stack.repositories.pool.connection() as connection:
        cursor = await connection.execute("SELECT id, kind FROM texts")
        kinds = {row["id"]: row["kind"] for row in await cursor.fetchall()}
    texts = await stack.repositories.texts.get_many(list(kinds), erased="")
    return sorted({kinds[id] for id, text in texts.items() if WORD.casefold() in text.casefold()})


@pytest.mark.timeout(600)  # the whole life of a process on real servers
async def test_erasure_reaches_every_table_index_export_answer_and_history(
    temporal: Client, fresh_database_url: str, tmp_path: Path
) -> None:
    url = fresh_database_url
    async with open_stack(temporal, url, QuotingEngine()) as here:
        context = replace(
            here.context,
            people_search=IntentField(here.repositories.pool),
            personal_data_stores=wiring.personal_data_stores(here.repositories),
        )
        gateway = GatewayHarness(here, context, application(context), cast(ScriptedEngine, None))
        said = await everything_is_said(here, gateway, url)
        checksum = (await here.repositories.profiles.version(said.person)).sha256

        empty = {name for name, filled in tables(url).items() if not filled}
        assert empty == set(NOTHING_OF_ANYBODY), "put something of a person into a new table, or say why none can be"
        for canary in (WORD, NAME, MAIL, HOOK, LABEL, checksum):
            assert naming(url, canary), f"{canary} stands nowhere: this test would not see it go"
        assert naming(url, KEY) == set(), "people write words into their keys"
        assert MUST_NOT_STAY | {"highway_memories", "highway_starts"} <= naming(url, said.person)
        await write_export(here.repositories, said.process, tmp_path / "before")
        assert list(in_folder(tmp_path / "before")), "the export quoted them"
        for name in ("dee", "bo"):
            assert WORD in await everything(gateway, Room(said.process, said.tokens, {}), said.tokens[name])
        assert [await in_history(here, one) for one in (said.process, said.unread)] == [False, True]

        await erase(context, OPERATOR, said.person, patience=20)

        for canary in (WORD, WORD.casefold(), NAME, MAIL, HOOK, LABEL, checksum):
            assert find_in_database(url, canary) == [], canary
        assert await opened(here) == []
        assert naming(url, said.person) - ID_STAYS == set(), "neither in an index, nor in a list, nor in a memory"
        await write_export(here.repositories, said.process, tmp_path / "after")
        assert not list(in_folder(tmp_path / "after"))
        for token in said.tokens.values():
            assert WORD not in await everything(gateway, Room(said.process, said.tokens, {}), token)

        async def no_history_holds_it() -> bool:
            return not any([await in_history(here, one) for one in (said.process, said.unread)])

        await until(no_history_holds_it, seconds=90)  # a server deletes a history in its own time
        plan = (await gateway.ask("GET", f"/processes/{said.process}/plan", said.tokens["dee"])).json()
        assert plan["removed"], "the others are told that something was removed"
