"""Blindness (docs/protocol.md §6): what any party can get at any door, in every phase, searched for what is not theirs.

Canaries stand in everybody's words, profiles and names; the scripted catalyst and planner quote nothing.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, text_of
from tests.gateway.outbound.test_notifying import Kept
from tests.gateway.test_api import asked
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.protocol.model.process import Phase
from tongyao.protocol.rules.read_access import Part, PartyRole, may_see

INTENT = "I want to bring a ferry back onto the lake; INTENT-CANARY is the price I can pay."
NAMES = ("anaximene", "bodhidharma", "cleobulina")


def profile(name: str) -> str:
    """The canary stands where the scripted engine, which quotes from the beginning, does not quote."""
    return (
        f"I restore wooden boats. I can lend a workshop. I will not work in winter. {'-' * 200} PROFILE-CANARY-{name}."
    )


def words(name: str, round_number: int) -> str:
    return f"WORDS-CANARY-{name}-{round_number}: I know the ice of the lake."


@dataclass
class Room:
    """A process with two people who speak for themselves and one proxy; `tokens` by name, the demander's is `demander`."""

    pid: str
    tokens: dict[str, str]
    aliases: dict[str, str]


@asynccontextmanager
async def opened(gateway: GatewayHarness, **settings: Any) -> AsyncIterator[Room]:
    scene = await gateway.scene()
    demander = await gateway.join(scene, profile("demander"), name="Demander Demokritos")
    people = [await gateway.join(scene, profile(name), name=f"{name.title()} Example") for name in NAMES]
    endpoints = ("human", "human", "proxy")
    demand = {
        "intent": INTENT,
        "participants": [
            {"profile_id": person["profile_id"], "endpoint": endpoint}
            for person, endpoint in zip(people, endpoints, strict=True)
        ],
        "settings": settings,
    }
    pid = (await gateway.ask("POST", "/processes", demander["token"], json=demand)).json()["id"]
    tokens = {name: person["token"] for name, person in zip(NAMES, people, strict=True)}
    yield Room(pid, {"demander": demander["token"], **tokens}, {})


async def everything(gateway: GatewayHarness, room: Room, token: str) -> str:
    """All that one token opens, over the API and over MCP."""
    pid, got = room.pid, []
    for path in (
        f"/processes/{pid}", f"/processes/{pid}/history?limit=500", f"/processes/{pid}/candidates",
        f"/processes/{pid}/plan", f"/processes/{pid}/delivery", "/processes?role=participant", "/processes",
        "/inbox?view=true",
    ):  # fmt: skip
        got.append((await gateway.ask("GET", path, token)).text)
    async with McpClient(make_server(gateway.context, token=token)) as client:
        for tool, arguments in (("status", {"process_id": pid}), ("pending", {}), ("plan", {"process_id": pid})):
            got.append(text_of(await client.call_tool(tool, arguments)))
    return "\n".join(got)


def foreign(said: str, *, own: str, of: str) -> list[str]:
    """Whose canaries of this kind stand in what `own` got."""
    return [name for name in (*NAMES, "demander") if name != own and f"{of}-CANARY-{name}" in said]


async def look(gateway: GatewayHarness, room: Room, phase: Phase) -> None:
    """Hold what everybody can get now against the table."""
    for own, token in room.tokens.items():
        said = await everything(gateway, room, token)
        role: PartyRole = "demander" if own == "demander" else "participant"
        assert foreign(said, own=own, of="PROFILE") == [], (phase, own)
        if not may_see(role, Part.PROJECTIONS, phase):
            assert foreign(said, own=own, of="WORDS") == [], (phase, own)
        if not may_see(role, Part.INTENT, phase):
            assert "INTENT-CANARY" not in said.replace(_tension(said), ""), (phase, own)
        if not may_see(role, Part.IDENTITIES, phase):
            for name in (*NAMES, "Demokritos"):
                assert f"{name.title()} Example" not in said and "Demokritos" not in said, (phase, own)


def _tension(said: str) -> str:
    """The intent may stand in the tension, which is for everybody once rounds have begun."""
    first = json.loads(said.split("\n")[0])
    return str((first.get("tension") or {}).get("transition", "\0"))


async def test_in_no_phase_anybody_gets_what_is_not_theirs(gateway: GatewayHarness) -> None:
    kept = Kept()
    notifying = NotificationSender(gateway.context.repositories, {"log": kept, "webhook": kept})
    before = len(gateway.engine.received)
    async with opened(gateway, max_rounds=2) as room:
        demander = room.tokens["demander"]
        await asked(gateway, demander, "confirm_tension")
        await look(gateway, room, Phase.CONFIRMING)
        await gateway.ask("POST", f"/processes/{room.pid}/messages", demander, json={"kind": "confirm_tension"})
        for round_number in (1, 2):
            for name in NAMES[:2]:
                await asked(gateway, room.tokens[name], "projection", round_number)
                await notifying.once()
                await look(gateway, room, Phase.CRYSTALLIZING)
                said = {"kind": "submit_projection", "round": round_number, "text": words(name, round_number)}
                answer = await gateway.ask("POST", f"/processes/{room.pid}/messages", room.tokens[name], json=said)
                assert answer.status_code == 200, answer.text
        await asked(gateway, demander, "decision")
        await look(gateway, room, Phase.DECIDING)
        accept = {"kind": "decide", "decision": "accept_as_is"}
        await gateway.ask("POST", f"/processes/{room.pid}/messages", demander, json=accept)
        for name, decision in zip(NAMES[:2], ("commit", "decline"), strict=True):
            await asked(gateway, room.tokens[name], "answer")
            await look(gateway, room, Phase.ANSWERING)
            said = {"kind": "answer_plan", "revision": 1, "answer": decision}
            await gateway.ask("POST", f"/processes/{room.pid}/messages", room.tokens[name], json=said)
        await gateway.ask("POST", f"/processes/{room.pid}/messages", demander, json={"kind": "conclude"})
        await gateway.stack.end(room.pid)
        await look(gateway, room, Phase.COMPLETED)
        await notifying.once()

        # Identities: to those who committed, of those who committed.
        committed = (await gateway.ask("GET", f"/processes/{room.pid}", room.tokens[NAMES[0]])).json()["identities"]
        assert sorted(committed.values()) == ["Anaximene Example", "Demander Demokritos"]
        declined = (await gateway.ask("GET", f"/processes/{room.pid}", room.tokens[NAMES[1]])).json()
        assert not declined.get("identities")

        # The stream says what the pages say.
        for token in room.tokens.values():
            stream = (await gateway.ask("GET", f"/processes/{room.pid}/events", token)).text
            assert "CANARY" not in stream and "Example" not in stream

        # What models were told: an endpoint its own profile and words, the catalyst no profile at all.
        seats = await gateway.context.repositories.seats.seats(room.pid)
        owner = {}
        for name, token in list(room.tokens.items())[1:]:
            me = (await gateway.ask("GET", "/me", token)).json()["person"]
            owner[next(seat.alias for seat in seats if seat.profile_id == me)] = name
        told = [one for one in gateway.engine.received[before:] if one.key.process == room.pid]
        steps = {one.key.step for one in told}
        assert steps >= {"formulate", "project", "observe", "plan", "deliver"}
        for one in told:
            prompt = one.request.model_dump_json()
            if one.key.step == "project":  # a delivery is made of the plan, which quotes what everybody said
                assert foreign(prompt, own=owner[one.key.alias], of="WORDS") == [], one.key
            if one.key.step in ("project", "deliver"):
                assert foreign(prompt, own=owner[one.key.alias], of="PROFILE") == [], one.key
            if one.key.step == "observe":
                assert "PROFILE-CANARY" not in prompt and "Example" not in prompt, one.key
                assert "WORDS-CANARY" in prompt, "what was said is what the catalyst reads"
            if one.key.step in ("observe", "plan"):
                assert '"author":"human"' not in prompt, "who speaks is told to no model"
        mine = [one for one in kept.sent if one.data.get("process") == room.pid]
        assert mine and "CANARY" not in repr(mine) and "Example" not in repr(mine)


async def test_a_person_and_a_proxy_look_the_same_from_outside(gateway: GatewayHarness) -> None:
    """The same process twice, one seat spoken for by a proxy and by a person: nobody else is told anything else."""
    seen = []
    for human in (False, True):
        scene = await gateway.scene()
        demander = await gateway.join(scene)
        people = [await gateway.join(scene, profile(name)) for name in NAMES]
        endpoint = "human" if human else "proxy"
        demand = {
            "intent": INTENT,
            "participants": [people[0]["profile_id"], {"profile_id": people[1]["profile_id"], "endpoint": endpoint}],
            "settings": {"auto_confirm": True},
        }
        pid = (await gateway.with_aliases_as_named().ask("POST", "/processes", demander["token"], json=demand)).json()[
            "id"
        ]
        if human:
            for round_number in (1, 2, 3):  # as long as the proxy has something to say
                await asked(gateway, people[1]["token"], "projection", round_number)
                more = {"text": words("b", round_number)} if round_number < 3 else {"nothing_new": True}
                said = {"kind": "submit_projection", "round": round_number, **more}
                await gateway.ask("POST", f"/processes/{pid}/messages", people[1]["token"], json=said)
            await asked(gateway, people[1]["token"], "answer")
            answer = {"kind": "answer_plan", "revision": 1, "answer": "commit"}
            await gateway.ask("POST", f"/processes/{pid}/messages", people[1]["token"], json=answer)
        await gateway.stack.end(pid)
        view = (await gateway.ask("GET", f"/processes/{pid}", people[0]["token"])).json()
        events = (await gateway.ask("GET", f"/processes/{pid}/history?limit=500", people[0]["token"])).json()["events"]
        rounds = [e for e in events if e["kind"] not in ("phase_changed",)]
        seen.append(
            (
                sorted(view),
                [(p["round"], p["alias"], p["outcome"], p["author"]) for p in view["projections"]],
                sorted((e["kind"], json.dumps(e["data"], sort_keys=True)) for e in rounds),
            )
        )
    assert seen[0] == seen[1]


async def test_what_is_said_of_a_process_is_said_in_the_tension_alone(gateway: GatewayHarness) -> None:
    """Participants never see the raw intent, only the tension made of it; strangers and operators see neither."""
    async with opened(gateway, auto_confirm=True) as room:
        await asked(gateway, room.tokens[NAMES[0]], "projection", 1)
        view = (await gateway.ask("GET", f"/processes/{room.pid}", room.tokens[NAMES[0]])).json()
        assert "intent" not in view and view["tension"]
        operator = await gateway.operator()
        said = await everything(gateway, room, operator)
        assert "CANARY" not in said and "Example" not in said
        stranger = await gateway.person("stranger-here")
        assert "CANARY" not in await everything(gateway, room, stranger)
        cancel = {"kind": "cancel"}
        await gateway.ask("POST", f"/processes/{room.pid}/messages", room.tokens["demander"], json=cancel)
