"""A residual waits, somebody comes, a process begins with them and ends: four times, with five kills of the running service in each."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
import pytest

from tests.gateway.test_standing import OPERATOR, OTHERS, RESIDUAL, ROOM
from tests.gateway.test_up import command
from tests.kills.service import KillableService, Victim
from tests.kills.test_eight_processes import environment
from tests.kills.town import AwayError, Person, Town
from tests.support.until import until
from tests.workflows.test_children import CRANE, left_over
from tongyao.records.database import open_pool
from tongyao.records.repositories import Repositories

STORIES: Final = 4
VICTIMS: Final[tuple[Victim, ...]] = ("worker", "temporal", "postgres", "worker", "temporal")
"""Killed in each story, in an order by chance: one in each of the five moments."""
SECONDS: Final = 300


class Story:
    """One scene, from the first process to the page of its child."""

    def __init__(self, town: Town, number: int) -> None:
        self._town, self._scene = town, f"jetty-{number}"

    async def _join(self, name: str, text: str) -> Person:
        visitor = Person(self._town, name, "", "")
        key = f"{self._town.random(self._scene, name, 'joins').getrandbits(128):032x}"
        said = {"scene": self._scene, "name": f"{name.title()} Wexample", "text": text}
        joined = (await _answer(visitor, "POST", "/profiles", key=key, json=said)).json()
        person = Person(self._town, f"{self._scene}-{name}", joined["profile_id"], joined["token"])
        path = f"/profiles/{person.id}/consents/{self._scene}"
        await _answer(person, "PUT", path, key=f"{key}-consent", json={"consent": "allow"})
        return person

    async def play(self, operator: str, service: KillableService, kills: list[Victim]) -> None:
        """Raises `AssertionError` when something is lost or told twice."""
        boss = Person(self._town, f"boss-{self._scene}", "", operator)
        await _answer(boss, "PUT", f"/scenes/{self._scene}", json={"title": self._scene})
        demander = await self._join("demander", "I keep the jetty of the harbour and sweep it.")
        room = [await self._join(f"room-{at}", text) for at, text in enumerate(ROOM)]
        pid = await demander.start_process(
            "jetty",
            {
                "intent": "The jetty needs to lift heavy crates in winter.",
                "scene": self._scene,
                "participants": [one.id for one in room],
                "settings": {"auto_confirm": True},
            },
        )
        await service.kill(kills[0])
        await _ended(demander, pid)
        for at, text in enumerate(OTHERS[:25]):
            await self._join(f"crowd-{at}", text)
        await service.kill(kills[1])
        right = await self._join("right", OPERATOR)
        await service.kill(kills[2])
        for at, text in enumerate(OTHERS[25:]):
            await self._join(f"later-{at}", text)

        async def asked() -> Any:
            for ask in await demander.inbox():
                if ask["ask"] == "candidate" and ask["choices"]["proposals"][0]["profile_id"] == right.id:
                    return ask
            return None

        ask = await _until(asked, "the demander is asked about the right person")
        await service.kill(kills[3])
        child = str(
            (
                await _answer(
                    demander,
                    "POST",
                    f"/processes/{pid}/messages",
                    key="begin",
                    json=ask["messages"][0],
                    codes=(200, 202),
                )
            ).json()["id"]
        )
        await service.kill(kills[4])
        await _ended(demander, child)
        assert (await _answer(demander, "GET", f"/processes/{child}/plan")).status_code == 200
        children = (await _answer(demander, "GET", f"/processes?parent={pid}")).json()["processes"]
        assert [one["id"] for one in children] == [child], "the child is shown with its first process"
        pool = await open_pool(service.addresses.database_url)
        try:
            rows = [row for row in await Repositories(pool).inbox.of_process(pid) if row.ask == "candidate"]
            [standing] = [
                one for one in await Repositories(pool).standing.of_demander(demander.id) if one.residual == RESIDUAL
            ]
            matches = await Repositories(pool).standing.matches(standing.id)
        finally:
            await pool.close()
        told = [one.profile_id for one in matches if one.asked_at is not None]
        assert len(told) == len(set(told)) == len(rows) and right.id in told, "each candidate is told of once"
        assert standing.child == child


async def _answer(
    person: Person, method: str, path: str, *, codes: tuple[int, ...] = (200, 201), **more: Any
) -> httpx.Response:
    """The same request until there is an answer."""

    async def given() -> httpx.Response | None:
        try:
            answer = await person.ask(method, path, **more)
        except AwayError:
            return None
        assert answer.status_code in codes, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    answer: httpx.Response = await _until(given, f"an answer to {method} {path}")
    return answer


async def _ended(demander: Person, pid: str) -> None:
    """The demander lets every plan be as it is, and takes no residual up at once."""

    async def over() -> bool:
        try:
            process = (await demander.ask("GET", f"/processes/{pid}")).json()
            if process["phase"] == "answering":
                await demander.ask(
                    "POST", f"/processes/{pid}/messages", key=f"{pid}-conclude", json={"kind": "conclude"}
                )
        except AwayError:
            return False
        return process["phase"] in ("completed", "expired", "cancelled", "failed")

    await _until(over, f"the end of {pid}")


async def _until(there: Any, what: str) -> Any:
    async def look() -> Any:
        try:
            return await there()
        except AwayError:
            return None

    return await until(look, what, seconds=SECONDS)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
async def test_through_twenty_kills_the_right_person_is_told_of_once_and_a_process_with_them_ends(home: Path) -> None:
    variables = environment(home)
    rules = [left_over(CRANE).model_dump(mode="json", exclude_defaults=True)]
    script = {"verdicts": ["exhausted"], "seconds": 0.1, "rules": rules}
    Path(variables["TONGYAO_ENGINE_FILE"]).write_text(json.dumps(script))
    service = KillableService(home, variables)
    await service.start()
    try:
        town = Town(service, seed=3)
        operator = await command(home, "token", "create", "--operator")
        for number in range(STORIES):
            kills = list(VICTIMS)
            Random(number).shuffle(kills)
            await Story(town, number).play(operator, service, kills)
            print(f"story {number + 1}: {', '.join(kills)}", flush=True)
    finally:
        await service.stop()
