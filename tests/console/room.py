"""A case's process as the console shows it: people with tokens, and how far it has come."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.console.cases import Case, ferry_case
from tests.gateway.conftest import GatewayHarness
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.start import StartProcessBody, start_process
from tongyao.protocol.model.process import DEMANDER


@dataclass
class Ferry:
    """`people`: by alias, `P00` the demander. `tokens`: of the same. `human`: who speaks for themself."""

    harness: GatewayHarness
    scene: str
    case: Case
    people: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    pid: str = ""

    @property
    def stack(self) -> Stack:
        return self.harness.stack

    @property
    def human(self) -> str:
        return self.case.human

    @property
    def seats(self) -> list[str]:
        return [alias for alias in self.people if alias != DEMANDER]

    async def start(self, *, humans: Sequence[str] = (), chosen: bool = True, **settings: object) -> str:
        """Start a process; the case's human and `humans` speak for themselves. Not `chosen`: the field looks for people."""
        speaking = {self.human, *humans}
        endpoints = {alias: "human" if alias in speaking else "proxy" for alias in self.seats}
        body = StartProcessBody.model_validate(
            {
                "intent": self.case.intent,
                "scene": self.scene,
                "participants": [
                    {"profile_id": self.people[alias], "endpoint": kind} for alias, kind in endpoints.items() if chosen
                ],
                "settings": {"auto_confirm": True, "cost_budget": "6.00", **settings},
            }
        )
        caller = Caller(Role.PERSON, self.people[DEMANDER], id="test")
        self.pid = await start_process(self.harness.with_aliases_as_named().context, caller, body, key=uuid.uuid4().hex)
        return self.pid

    async def speak(self, number: int) -> None:
        """The human says their part of this round, once they are asked."""
        await self.stack.asked(self.pid, self.human, number)
        await self.stack.speak(self.pid, self.human, number, self.case.said.get(number))

    async def until_round(self, number: int) -> None:
        """Everything before this round is said and observed, and the human is asked."""
        for earlier in range(1, number):
            await self.speak(earlier)
        await self.stack.asked(self.pid, self.human, number)

    async def until_answering(self) -> None:
        """The human speaks in every round that asks them, until the plan is there and asks for answers."""

        async def there() -> bool:
            for ask in await self.stack.repositories.inbox.of_process(self.pid, open_only=True):
                if (ask.ask, ask.alias) == ("projection", self.human):
                    await self.stack.speak(self.pid, self.human, ask.round, self.case.said.get(ask.round))
            return (await self.stack.repositories.processes.get(self.pid)).phase == "answering"

        await until(there)


async def ferry(harness: GatewayHarness, case: Case | None = None) -> Ferry:
    """The people of a case (by default the ferry's), in a scene of their own; nothing is started."""
    found = Ferry(harness, await harness.scene(), case or ferry_case())
    await harness.context.repositories.scenes.put(found.scene, found.case.scene)
    for alias, (name, text) in found.case.people.items():
        person = f"p-{uuid.uuid4().hex[:12]}"
        await found.stack.register(person, scene=found.scene, name=name, text=text)
        found.people[alias] = person
        found.tokens[alias] = await harness.person(person)
    return found
