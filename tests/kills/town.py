"""People at their browsers and an agent over MCP, who live through processes while parts of the service are killed.

What somebody does follows from the seed and from what they are asked, whatever the order of events. Whoever gets no answer repeats
the same request under the same key; what they were told at last is kept for the checker.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, Protocol

import httpx
from mcp.client import Client as McpClient

from tests.gateway.conftest import said_by, text_of
from tests.kills.checker import Acknowledged
from tongyao.app.messaging.body_conversion import stored_key

SCENE: Final = "town"
PROFILE: Final = (
    "I restore wooden boats and can lend a workshop. I will not work in winter. I want to learn to sail. "
    "In the harbour they call me {name}."
)
AWAY: Final = frozenset({"records_away", "temporal_away"})
"""Codes of answers after which the same request is repeated."""

ANSWER_SECONDS: Final = 30
"""How long people and the agent wait for an answer. Without one they ask again."""

PAUSE: Final = 0.1
"""Seconds between two looks at an inbox, and before a request is repeated, where nothing else is said."""

Ask = dict[str, Any]
Fields = dict[str, Any]


class Reachable(Protocol):
    """Whatever people come to."""

    @property
    def url(self) -> str: ...


class Town:
    """What everybody shares: the service, the seed, and what senders were told."""

    def __init__(self, service: Reachable, seed: int, *, pause: float = PAUSE) -> None:
        self.service, self.seed, self.pause = service, seed, pause
        self.told: list[Acknowledged] = []
        self.over = False
        self._news = asyncio.Condition()
        self.acted: Counter[str] = Counter()
        """How many messages of each kind were acknowledged."""

    def random(self, *parts: object) -> Random:
        """Randomness of its own for everything that somebody does."""
        return Random("/".join(map(str, (self.seed, *parts))))

    async def tell(self, told: Acknowledged, kind: str) -> None:
        self.told.append(told)
        self.acted[kind] += 1
        async with self._news:
            self._news.notify_all()

    async def until_told(self, count: int, *, seconds: float) -> None:
        """Return when so many messages more were acknowledged, or after `seconds`: while much is killed little is said."""
        enough = len(self.told) + count
        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: len(self.told) >= enough or self.over)
        except TimeoutError:
            return


class Resident(ABC):
    """Somebody with a profile and a token, who answers whatever their inbox asks."""

    def __init__(self, town: Town, name: str, profile_id: str, token: str) -> None:
        self.town, self.name, self.id, self.token = town, name, profile_id, token
        self._done: set[str] = set()

    @abstractmethod
    async def inbox(self) -> Sequence[Ask]:
        """What waits for them. Raises `AwayError`."""

    @abstractmethod
    async def send_once(self, process_id: str, key: str, message: Fields) -> str:
        """Returns what the sender was told, see `Acknowledged`. Raises `AwayError`: there was no answer."""

    async def live(self) -> None:
        """Answer asks until it is over."""
        while not self.town.over:
            try:
                asks = await self.inbox()
            except AwayError:
                asks = ()
            for ask in asks:
                name = f"{ask['process_id']}/{ask['ask']}/{ask.get('subject', '')}/{ask['round']}"
                if ask["ask"] == "select_participants":  # asked again where too few of the chosen agreed in time
                    name += f"/{ask['opened_at']}"
                if name not in self._done:
                    self._done.add(name)
                    await self._answer(ask, self.town.random(self.name, ask["ask"], ask["round"], ask.get("subject")))
            await asyncio.sleep(self.town.pause)

    async def send(self, process_id: str, key: str, message: Fields) -> str:
        """Send, and repeat under the same key until there is an answer."""
        while True:
            try:
                said = await self.send_once(process_id, f"{self.name}/{key}", message)
            except AwayError:
                if self.town.over:
                    return ""
                await asyncio.sleep(self.town.pause)
                continue
            await self.town.tell(Acknowledged(process_id, stored_key(f"{self.name}/{key}"), said), message["kind"])
            return said

    async def _answer(self, ask: Ask, rng: Random) -> None:
        pid, number = ask["process_id"], ask["round"]

        async def send(key: str, **message: Any) -> str:
            return await self.send(pid, f"{key}-{number}", message)

        match ask["ask"]:
            case "confirm_tension":
                await send("confirm", kind="confirm_tension")
            case "consent":
                await send("consent", kind="consent", allow=True)
            case "select_participants":
                await self._choose(ask, send)
            case "projection" | "gap":
                await self._speak(ask, rng, send)
            case "answer":
                answer = rng.choice(("commit", "commit", "commit", "decline", "propose"))
                await send("answer", kind="answer_plan", revision=number, answer=answer, text=f"{self.name} says why")
            case "decision":
                await send("decide", kind="decide", decision="accept_as_is")
            case "replan":
                await send("decide", kind="conclude")
            case "residual" | "hole":
                await send(
                    f"residual-{ask['subject']}", kind="approve_residual", residual=ask["subject"], approve=False
                )

    async def _choose(self, ask: Ask, send: Callable[..., Any]) -> None:
        """As the demander: the first two of those who were found; where nobody was, the process is cancelled."""
        found: Sequence[str] | None = None
        while found is None:
            try:
                found = await self.candidates(ask["process_id"])
            except AwayError:
                if self.town.over:
                    return
                await asyncio.sleep(self.town.pause)
        if found:
            choices = [{"profile_id": profile_id} for profile_id in found[:2]]
            await send(f"select-{ask['opened_at']}", kind="select_participants", participants=choices)
        else:
            await send("nobody", kind="cancel")

    async def candidates(self, process_id: str) -> Sequence[str]:
        """Who was found for a process of theirs, the nearest first. Only those who ask over HTTP begin processes. Raises `AwayError`."""
        raise AssertionError(f"{self.name} began no process: {process_id}")

    async def _speak(self, ask: Ask, rng: Random, send: Callable[..., Any]) -> None:
        number = ask["round"]
        if rng.random() < 0.12:
            await send("wrong", kind="submit_projection", round=number + 5, text="of a round that is not there")
        if rng.random() < 0.12:
            await send("more-time", kind="extend_deadline", seconds=3600)
        if rng.random() < 0.1:
            await send("to-proxy", kind="switch_endpoint", endpoint="proxy")
            await send("and-back", kind="switch_endpoint", endpoint="human")
        if rng.random() < 0.12:
            await send("silent", kind="submit_projection", round=number, nothing_new=True)
            return
        words = f"{self.name} in round {number}: I can lend the workshop in week {rng.randrange(50)}."
        await send("words", kind="submit_projection", round=number, text=words)
        if rng.random() < 0.25:
            await send("corrected", kind="submit_projection", round=number, text=f"{words} Corrected.")


class AwayError(Exception):
    """There was no answer: the connection broke, or something behind the gateway is away."""


class Person(Resident):
    """Over HTTP."""

    def __init__(self, town: Town, name: str, profile_id: str, token: str) -> None:
        super().__init__(town, name, profile_id, token)
        self._http = httpx.AsyncClient(timeout=ANSWER_SECONDS)

    async def ask(self, method: str, path: str, *, key: str = "", **more: Any) -> httpx.Response:
        """One request. Raises `AwayError`."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if key:
            headers["Idempotency-Key"] = key
        try:
            answer = await self._http.request(method, f"{self.town.service.url}{path}", headers=headers, **more)
        except httpx.TransportError as error:
            raise AwayError(str(error)) from error
        if answer.status_code >= 500:
            assert answer.status_code == 503, f"{method} {path}: {answer.status_code} {answer.text}"
            raise AwayError(answer.text)
        return answer

    async def inbox(self) -> Sequence[Ask]:
        answer = await self.ask("GET", "/inbox")
        assert answer.status_code == 200, f"{self.name}: {answer.status_code} {answer.text}"
        asks: list[Ask] = answer.json()
        return asks

    async def candidates(self, process_id: str) -> Sequence[str]:
        answer = await self.ask("GET", f"/processes/{process_id}/candidates")
        assert answer.status_code == 200, f"{self.name}: {answer.status_code} {answer.text}"
        return [one["profile_id"] for one in answer.json()]

    async def send_once(self, process_id: str, key: str, message: Fields) -> str:
        answer = await self.ask("POST", f"/processes/{process_id}/messages", key=key, json=message)
        if answer.status_code in (200, 202):
            return str(answer.json()["state"])
        assert answer.status_code == 409, f"{self.name}, {key}: {answer.status_code} {answer.text}"
        return str(answer.json()["code"])

    async def start_process(self, key: str, body: Fields) -> str:
        """Repeated until there is an answer."""
        while True:
            try:
                answer = await self.ask("POST", "/processes", key=key, json=body)
            except AwayError:
                await asyncio.sleep(self.town.pause)
                continue
            assert answer.status_code == 201, answer.text
            return str(answer.json()["id"])


class Agent(Resident):
    """Somebody's own agent, over MCP. Each call has a connection of its own, since the server may be another one each time."""

    async def inbox(self) -> Sequence[Ask]:
        pending: list[Ask] = said_by(await self._call("pending", {"view": False}))["pending"]
        return pending

    async def send_once(self, process_id: str, key: str, message: Fields) -> str:
        fields = dict(message)
        given = {"process_id": process_id, "key": key}
        match kind := fields.pop("kind"):
            case "submit_projection":
                result = await self._call("respond", given | fields)
            case "switch_endpoint":
                endpoint = "agent" if fields["endpoint"] == "human" else fields["endpoint"]
                result = await self._call("switch", given | {"endpoint": endpoint})
            case "consent":
                result = await self._call("consent", given | fields)
            case _:
                result = await self._call("decide", given | {"message": {"kind": kind, **fields}})
        if result.is_error:
            code = _code(result)
            assert code != "bad_arguments", f"{self.name}, {key}: {text_of(result)}"
            return code
        return str(said_by(result)["state"])

    async def _call(self, tool: str, given: Fields) -> Any:
        try:  # the client waits for ever for the answer of a gateway that was killed meanwhile
            async with asyncio.timeout(ANSWER_SECONDS), McpClient(f"{self.town.service.url}/mcp") as client:
                result = await client.call_tool(tool, {**given, "token": self.token})
        except Exception as error:  # the client names what broke in many ways, groups of them among these
            raise AwayError(str(error)) from error
        if result.is_error and _code(result) in AWAY:
            raise AwayError(text_of(result))
        return result


def _code(result: Any) -> str:
    """The code of a tool's error. Raises `AssertionError` for an error that tells an agent nothing."""
    found = re.match(r"Error executing tool \w+: ([a-z_]+): ", text_of(result))
    assert found is not None, text_of(result)
    return found.group(1)


async def join(town: Town, name: str, kind: type[Resident], *, consent: str = "allow") -> Resident:
    """Register somebody; with `consent` they say when a proxy may speak for them."""
    visitor = Person(town, name, "", "")
    said = {"scene": SCENE, "name": f"{name.title()} Wexample", "text": PROFILE.format(name=name)}
    answer = await visitor.ask(
        "POST", "/profiles", key=f"{town.random(name, 'joins').getrandbits(128):032x}", json=said
    )
    assert answer.status_code == 201, answer.text
    joined = answer.json()
    one = Person(town, name, joined["profile_id"], joined["token"])
    if consent:
        path = f"/profiles/{one.id}/consents/{SCENE}"
        allowed = await one.ask("PUT", path, key="consent", json={"consent": consent})
        assert allowed.status_code == 200, allowed.text
    return kind(town, name, joined["profile_id"], joined["token"])


def shown(told: Sequence[Acknowledged]) -> str:
    """How many messages were told what, for the output of a test."""
    return json.dumps(Counter(one.said for one in told))
