"""Whatever commands are typed in whatever order, but for those by which somebody answers for the person: who never consented is
never read and never quoted."""

from __future__ import annotations

import base64
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from tests.commands.command_line import tongyao
from tests.commands.conftest import encrypting
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tongyao.app.people.profile_versions import register_profile
from tongyao.protocol.rules.consent import Consent, Origin
from tongyao.records.privacy.keys import Keyring

CALLS = 30
WORK = "I restore wooden boats and can lend a workshop. I want to learn how timetables are made. "
MASTER_KEY = base64.b64encode(b"k" * 32).decode()


@pytest.fixture
async def engine() -> ScriptedEngine:
    return ScriptedEngine(Script())


@pytest.fixture
async def stack(
    temporal: Client,
    fresh_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: ScriptedEngine,
) -> AsyncIterator[Stack]:
    monkeypatch.setenv("DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal.service_client.config.target_host)
    monkeypatch.setenv("TONGYAO_HOME", str(tmp_path))
    monkeypatch.setenv("TONGYAO_MASTER_KEY", MASTER_KEY)
    async with open_stack(
        await encrypting(temporal), fresh_database_url, engine, keys=Keyring.read(MASTER_KEY)
    ) as here:
        yield here


class Typing:
    """Somebody at the machine's command line, with a profile of their own and two accomplices, against two who never say yes."""

    def __init__(self, here: Stack, seed: int) -> None:
        self.here, self.rng = here, Random(seed)
        self.scene = f"scene-{uuid.uuid4().hex[:8]}"
        self.canaries = [f"canary{uuid.uuid4().hex[:12]}" for _ in range(2)]
        self.victims = [f"victim-{number}-{uuid.uuid4().hex[:8]}" for number in range(2)]
        self.own = f"me-{uuid.uuid4().hex[:8]}"
        self.seen: list[str] = []
        self.processes: list[str] = []

    async def begin(self) -> None:
        context = self.here.context
        self.accomplices = await self.here.people({"di": WORK * 5, "ed": WORK * 5}, scene=self.scene)
        for person, text in zip([*self.victims, self.own], [*self.canaries, "I keep bees."], strict=True):
            await register_profile(
                context, person, scene=self.scene, name="Ada Lind", text=f"{text} {WORK}" * 4, origin=Origin.API
            )
        await context.repositories.consents.put(self.victims[1], self.scene, Consent.NEVER)

    async def type(self, *words: str) -> str:
        done = await tongyao(*words)
        self.seen.append(done.output)
        return done.output

    async def demand(self, *people: str, **settings: object) -> None:
        changes = {"turn_seconds": 1, "max_rounds": 2, "deciding_seconds": 1, "answering_seconds": 1, **settings}
        given = [word for name, value in changes.items() for word in ("--setting", f"{name}={value}")]
        await self.type(
            "start",
            "--intent",
            "I want to sail.",
            "--demander",
            self.own,
            "--scene",
            self.scene,
            "--yes",
            *people,
            *given,
        )
        self.processes = [row.id for row in (await self.here.repositories.processes.list(limit=100)).rows]

    def people(self) -> list[str]:
        everybody = [*self.victims, *self.victims, *self.accomplices]
        chosen = dict.fromkeys(self.rng.choices(everybody, k=self.rng.choice((1, 2, 3))))
        return [word for one in chosen for word in (self.rng.choice(("--participant", "--human", "--agent")), one)]

    async def call(self) -> None:
        rng, process = self.rng, self.rng.choice(self.processes)
        alias, person = rng.choice(("P01", "P02", "P03")), rng.choice([*self.victims, *self.accomplices])
        if rng.random() < 0.25:
            wish = {
                "quorum": rng.choice((1, 2)),
                "fallback": rng.choice(("proxy", "lapse")),
                "auto_start": rng.choice(("true", "false")),
            }
            await self.demand(*self.people(), **wish)
            return
        await self.type(
            *rng.choice(
                (
                    ("confirm", process),
                    ("select", process, "--participant", person, "--participant", rng.choice(self.accomplices)),
                    ("decide", process, "add_participants", "--participant", person),
                    ("decide", process, rng.choice(("extend", "accept_as_is"))),
                    ("conclude", process),
                    ("switch", process, alias, "proxy"),
                    ("extend", process, "--as", alias),
                    ("branch", process, "plan/1/residual/1"),
                    ("replan", process, "--proposal", alias),
                    ("consent", process, "--as", self.own, "--allow"),
                    ("consents", self.own, "--scene", self.scene, "--set", "allow"),
                    ("show", process),
                    ("show", process, "--audit"),
                    ("list",),
                )
            )
        )

    async def end(self) -> None:
        for process in self.processes:
            await self.type("show", process)
            with suppress(RPCError):  # it has ended
                await self.here.handle(process).terminate()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2))
async def test_no_command_but_their_own_answer_has_a_person_read(
    stack: Stack, engine: ScriptedEngine, seed: int
) -> None:
    typing = Typing(stack, seed)
    await typing.begin()
    await typing.demand("--participant", typing.accomplices[0], "--participant", typing.accomplices[1], "--human", typing.victims[0],
                        fallback="proxy")  # fmt: skip
    for _ in range(CALLS):
        await typing.call()
    await until(lambda: _planned(engine), "a plan was asked for")
    await typing.end()
    assert {one.key.step for one in engine.received} >= {"formulate", "project", "observe", "plan"}
    for canary in typing.canaries:
        assert not [one.key for one in engine.received if one.mentions(canary)], "a model was shown the profile"
        assert not [one for one in typing.seen if canary in one], "the profile was quoted"


async def _planned(engine: ScriptedEngine) -> bool:
    return any(one.key.step == "plan" for one in engine.received)
