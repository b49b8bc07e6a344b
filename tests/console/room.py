"""The ferry's process as the console shows it: people with tokens, and how far it has come."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from tests.console.ferry import INTENT, PEOPLE, profile
from tests.gateway.conftest import GatewayHarness
from tests.support.stack import Stack
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.start import StartProcessBody, start_process
from tongyao.protocol.model.process import DEMANDER


@dataclass
class Ferry:
    """`people`: by alias, `P00` the demander; `tokens`: of the same."""

    harness: GatewayHarness
    scene: str
    people: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    pid: str = ""

    @property
    def stack(self) -> Stack:
        return self.harness.stack

    async def start(self, **settings: object) -> str:
        """Start the process; P03 speaks for themself."""
        endpoints = {alias: "human" if alias == "P03" else "proxy" for alias in PEOPLE}
        body = StartProcessBody.model_validate(
            {
                "intent": INTENT,
                "scene": self.scene,
                "participants": [
                    {"profile_id": self.people[alias], "endpoint": kind} for alias, kind in endpoints.items()
                ],
                "settings": {"auto_confirm": True, "cost_budget": "6.00", **settings},
            }
        )
        caller = Caller(Role.PERSON, self.people[DEMANDER], id="test")
        self.pid = await start_process(self.harness.with_aliases_as_named().context, caller, body, key=uuid.uuid4().hex)
        return self.pid

    async def speak(self, number: int) -> None:
        """P03 says their part of this round, once they are asked."""
        await self.stack.asked(self.pid, "P03", number)
        said = "\n".join(text for said_in, _, text, _ in PEOPLE["P03"][1] if said_in == number)
        await self.stack.speak(self.pid, "P03", number, said or None)

    async def until_round(self, number: int) -> None:
        """Everything before this round is said and observed, and P03 is asked."""
        for earlier in range(1, number):
            await self.speak(earlier)
        await self.stack.asked(self.pid, "P03", number)


async def ferry(harness: GatewayHarness) -> Ferry:
    """The people, in a scene of their own; nothing is started."""
    found = Ferry(harness, await harness.scene())
    await harness.context.repositories.profiles.put_scene(found.scene, "Skerrow Sound")
    for alias in (DEMANDER, *PEOPLE):
        name = PEOPLE[alias][0] if alias in PEOPLE else "Jean Ferrier"
        text = profile(alias) if alias in PEOPLE else "I keep the books of the ferry co-op."
        person = f"p-{uuid.uuid4().hex[:12]}"
        await found.stack.register(person, scene=found.scene, name=name, text=text)
        found.people[alias] = person
        found.tokens[alias] = await harness.person(person)
    return found
