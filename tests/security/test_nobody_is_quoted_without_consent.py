"""Whatever others call in whatever order, over the API, MCP and the field: who never consented is never read and never quoted."""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from mcp.client import Client as McpClient
from temporalio.service import RPCError

from tests.gateway.conftest import GatewayHarness, text_of
from tests.support.until import until
from tongyao.gateway.mcp.server import make_server
from tongyao.protocol.model.process import Phase

CALLS = 50
ENDPOINTS = ("proxy", "proxy", "human", "agent")
FALLBACKS = (None, "lapse", "proxy", "leave")
WORK = "I restore wooden boats and can lend a workshop. I want to learn how timetables are made. "


class Attack:
    """Two strangers and two accomplices, who allow everything, against three people who never say yes."""

    def __init__(self, gateway: GatewayHarness, seed: int) -> None:
        self.gateway, self.rng = gateway, Random(seed)
        self.seen: list[str] = []
        self.processes: list[str] = []
        self.canaries = [f"canary{uuid.uuid4().hex[:12]}" for _ in range(3)]

    async def begin(self) -> None:
        self.scene = await self.gateway.scene()
        join = self.gateway.join
        self.victims = [await join(self.scene, f"{one} {WORK}" * 4, consent="") for one in self.canaries]
        never = f"/profiles/{self.victims[2]['profile_id']}/consents/{self.scene}"
        await self.gateway.ask("PUT", never, self.victims[2]["token"], json={"consent": "never"})
        self.attackers = [await join(self.scene, WORK * 5, consent=consent) for consent in ("", "", "allow", "allow")]

    # ---- what is called

    async def ask(self, method: str, path: str, token: str | None, body: Any = None) -> Any:
        answer = await self.gateway.ask(method, path, token, **({} if body is None else {"json": body}))
        self.seen.append(answer.text)
        assert answer.status_code < 500, answer.text
        return answer.json() if answer.content and "json" in answer.headers.get("content-type", "") else {}

    def token(self) -> str:
        return str(self.rng.choice(self.attackers)["token"])

    def people(self, count: int) -> list[dict[str, Any]]:
        everybody = [one["profile_id"] for one in (*self.victims, *self.victims, *self.attackers)]
        chosen = dict.fromkeys(self.rng.choices(everybody, k=count))
        return [
            {"profile_id": one, "endpoint": self.rng.choice(ENDPOINTS), "fallback": self.rng.choice(FALLBACKS)}
            for one in chosen
        ]

    def process(self) -> str:
        return self.rng.choice(self.processes) if self.processes else "c-0000000000000000"

    def body(self) -> dict[str, Any]:
        rng = self.rng
        settings = {
            "auto_confirm": rng.random() < 0.8,
            "auto_start": rng.random() < 0.6,
            "quorum": rng.choice((1, 1, 2)),
            "fallback": rng.choice(("proxy", "lapse")),
            "turn_seconds": rng.choice((1, 1, 3_600)),
            "max_rounds": 2,
            "deciding_seconds": rng.choice((1, 3_600)),
            "answering_seconds": 1,
            "residuals": rng.choice(("off", "auto")),
            "demander_takes_part": rng.random() < 0.2,
        }
        body: dict[str, Any] = {"intent": "I want to bring an old ferry back onto the lake.", "settings": settings}
        if rng.random() < 0.7:
            body["participants"] = self.people(rng.choice((1, 2, 2, 3)))
        if "participants" not in body or rng.random() < 0.5:
            body["scene"] = self.scene
        return body

    def first(self) -> dict[str, Any]:
        """A process that gets to its plan whatever is called: two who allow it, and somebody who says nothing in person."""
        silent = {"profile_id": self.victims[0]["profile_id"], "endpoint": "human", "fallback": "proxy"}
        settings = {
            "auto_confirm": True,
            "turn_seconds": 1,
            "max_rounds": 2,
            "deciding_seconds": 1,
            "fallback": "proxy",
        }
        people = [one["profile_id"] for one in self.attackers[2:]]
        return {"intent": "I want to sail.", "participants": [*people, silent], "settings": settings}

    async def demand(self) -> None:
        started = await self.ask("POST", "/processes", self.token(), self.body())
        self.processes += [started["id"]] if "id" in started else []

    def message(self) -> dict[str, Any]:
        rng = self.rng
        alias = rng.choice(("P01", "P02", "P03", None))
        switch = {"endpoint": rng.choice(ENDPOINTS), "fallback": rng.choice(FALLBACKS)}
        number = rng.choice((None, 1, 2, 3))
        return rng.choice(
            (
                {"kind": "select_participants", "participants": self.people(2)},
                {"kind": "select_participants", "participants": self.people(1)},
                {"kind": "decide", "decision": "add_participants", "participants": self.people(1)},
                {"kind": "decide", "decision": "extend"},
                {"kind": "decide", "decision": "accept_as_is"},
                {"kind": "confirm_tension"},
                {"kind": "conclude"},
                {"kind": "consent", "allow": True, "invitation": number},
                {"kind": "consent", "allow": True},
                {"kind": "switch_endpoint", "alias": alias, **switch},
                {"kind": "switch_endpoint", **switch},
                {"kind": "submit_projection", "round": 1, "text": "I know the lake."},
                {"kind": "extend_deadline", "alias": alias or "P01", "seconds": 60},
                {"kind": "approve_residual", "residual": "plan/1/residual/1", "approve": True},
                {"kind": "replan", "proposals": ["P01"]},
            )
        )

    async def send(self) -> None:
        await self.ask("POST", f"/processes/{self.process()}/messages", self.token(), self.message())

    async def impersonate(self) -> None:
        """As if the victim had decided, or had another token."""
        victim = self.rng.choice(self.victims)["profile_id"]
        method, path, body = self.rng.choice(
            (
                ("PUT", f"/profiles/{victim}/consents/{self.scene}", {"consent": "allow"}),
                ("PUT", f"/profiles/{victim}/mandate", {"may_speak": True}),
                ("PUT", f"/profiles/{victim}", {"text": "I say yes."}),
                ("GET", f"/profiles/{victim}/export", None),
                ("POST", "/tokens", {"role": "person", "person": victim}),
                ("POST", "/processes", {**self.body(), "demander": victim}),
            )
        )
        await self.ask(method, path, self.token(), body)

    async def search(self) -> None:
        query = self.rng.choice(({"text": WORK}, {"tension": {"transition": WORK}}))
        await self.ask("POST", f"/scenes/{self.scene}/search", self.token(), {**query, "limit": 20})
        await self.ask("GET", f"/scenes/{self.scene}/people", self.token())

    async def read(self) -> None:
        token, pid = self.token(), self.process()
        for path in ("", "/history", "/candidates", "/plan", "/delivery", "/why"):
            await self.ask("GET", f"/processes/{pid}{path}", token)
        await self.ask("GET", "/inbox?view=true", token)

    async def over_mcp(self) -> None:
        pid, key = self.process(), uuid.uuid4().hex
        tool, arguments = self.rng.choice(
            (
                ("decide", {"process_id": pid, "message": self.message(), "key": key}),
                ("consent", {"process_id": pid, "allow": True, "key": key}),
                ("switch", {"process_id": pid, "endpoint": "proxy", "fallback": "proxy", "key": key}),
                ("search", {"scene": self.scene, "text": WORK}),
                ("status", {"process_id": pid}),
                ("pending", {}),
                ("plan", {"process_id": pid}),
                ("set_consent", {"scene": self.scene, "consent": "allow"}),
                ("demand", {**self.body(), "key": key}),
            )
        )
        async with McpClient(make_server(self.gateway.context, token=self.token())) as client:
            said = text_of(await client.call_tool(tool, arguments))
        self.seen.append(said)
        if tool == "demand" and said.startswith("{"):
            self.processes.append(json.loads(said)["process_id"])

    async def as_victim(self) -> None:
        """What a victim does is no consent: they refuse, speak for themself, leave, or say nothing."""
        victim = self.rng.choice(self.victims)
        message = self.rng.choice(
            (
                {"kind": "consent", "allow": False},
                {"kind": "submit_projection", "round": 1, "text": "I would rather speak myself."},
                {"kind": "submit_projection", "round": 1, "nothing_new": True},
                {"kind": "switch_endpoint", "endpoint": "human", "fallback": "lapse"},
                {"kind": "leave"},
            )
        )
        await self.gateway.ask("POST", f"/processes/{self.process()}/messages", victim["token"], json=message)

    async def run(self) -> None:
        calls: list[Callable[[], Awaitable[None]]] = [
            self.demand, self.demand, self.send, self.send, self.send, self.impersonate, self.search, self.read,
            self.over_mcp, self.over_mcp, self.as_victim,
        ]  # fmt: skip
        first = await self.ask("POST", "/processes", self.attackers[0]["token"], self.first())
        self.processes.append(first["id"])
        for _ in range(CALLS):
            await self.rng.choice(calls)()

    async def settled(self, later: datetime) -> bool:
        """Whether each process has ended, or waits for a child or for nothing that is due before `later`."""
        repositories = self.gateway.stack.repositories
        for pid in self.processes:
            process = await repositories.processes.get(pid)
            asks = await repositories.inbox.of_process(pid, open_only=True)
            waits = asks and all(ask.due_at is None or ask.due_at > later for ask in asks)
            if not waits and process.ended_at is None and process.phase != Phase.AWAITING_CHILDREN:
                return False
        return True

    async def end(self) -> None:
        """Give what was started the time of its short deadlines, and read everything there is to read.

        Random calls extend deadlines by a minute and leave steps to be tried again later: half a minute is waited at most, and
        what is read then may be of processes that still run.
        """
        later = datetime.now(UTC) + timedelta(seconds=20)
        with suppress(AssertionError):
            await until(lambda: self.settled(later), "the short deadlines of all processes have passed", seconds=30)
        for attacker in self.attackers:
            for pid in self.processes:
                for path in ("", "/history", "/candidates", "/plan", "/delivery"):
                    await self.ask("GET", f"/processes/{pid}{path}", attacker["token"])
            await self.ask("GET", "/inbox?view=true", attacker["token"])
        for pid in self.processes:
            with suppress(RPCError):  # it has ended
                await self.gateway.stack.handle(pid).terminate()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.timeout(300)
async def test_a_person_who_never_consented_is_never_quoted(gateway: GatewayHarness, seed: int) -> None:
    attack = Attack(gateway, seed)
    await attack.begin()
    await attack.run()
    await attack.end()
    answered = [one for one in gateway.engine.received if one.key.process in attack.processes]
    # Others were asked and spoke. How far the rounds came depends on what the random calls cut short.
    assert {one.key.step for one in answered} >= {"formulate", "project"}, "nothing came of it"
    for canary in attack.canaries:
        assert not [one.key for one in answered if one.mentions(canary)], "a model was shown the profile"
        assert not [one for one in attack.seen if canary in one], "the profile was quoted"
