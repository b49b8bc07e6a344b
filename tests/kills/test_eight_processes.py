"""Eight processes with people, an agent over MCP and proxies, under forty kills of everything that can be killed.

Nobody and nothing in here knows what is inside: people use HTTP, the agent uses MCP, and afterwards a checker reads the database and
Temporal.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
import pytest
from temporalio.client import Client

from tests.gateway.test_up import command
from tests.kills.checker import Checker
from tests.kills.service import KillableService, Victim
from tests.kills.town import SCENE, Agent, Person, Resident, Town, join, shown
from tests.support.until import until
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection import connect

KILLS: Final[dict[Victim, int]] = {"worker": 15, "temporal": 10, "postgres": 9, "service": 6}
PROCESSES: Final = 8
SEED: Final = 1
SECONDS_BETWEEN_KILLS: Final = 20
"""At most; mostly the next one comes after one to four acknowledged messages."""

SECONDS_TO_END: Final = 600
"""After the last kill."""


def environment(home: Path) -> dict[str, str]:
    """The engine answers from a script, each answer after a moment; nobody is counted."""
    script = home / "script.json"
    script.write_text(json.dumps({"verdicts": ["more", "more", "more", "more", "exhausted"], "seconds": 0.3}))
    rates = dict.fromkeys(("RATE", "ADDRESS_RATE", "JOIN_RATE"), "1000000/minute")
    return {
        "TONGYAO_ENGINE": "tests.support.scripted:from_settings",
        "TONGYAO_ENGINE_FILE": str(script),
        "TONGYAO_GATEWAY__ANSWER_SECONDS": "3",
        "TONGYAO_GATEWAY__MOST_OPEN_PROCESSES": str(PROCESSES),
        **{f"TONGYAO_GATEWAY__{name}": rate for name, rate in rates.items()},
    }


def order_of_kills(rng: Random) -> list[Victim]:
    order = [victim for victim, times in KILLS.items() for _ in range(times)]
    rng.shuffle(order)
    return order


def demand(town: Town, number: int, residents: dict[str, Resident]) -> dict[str, Any]:
    """The body of a process: two people or three, the agent in most, proxies."""
    rng = town.random("process", number)
    people = rng.sample(("ada", "bo", "cy"), rng.choice((2, 2, 3)))
    endpoints = dict.fromkeys(people, "human") | dict.fromkeys(rng.sample(("di", "ed"), 1 + number % 2), "proxy")
    if number % 4 != 3:
        endpoints["max"] = "agent"
    return {
        "intent": f"I want to bring ferry number {number} back onto the lake.",
        "scene": SCENE,
        "participants": [{"profile_id": residents[name].id, "endpoint": kind} for name, kind in endpoints.items()],
        "settings": {"auto_confirm": number % 2 == 0, "max_rounds": 6},
    }


@pytest.mark.slow
@pytest.mark.timeout(5_400)
async def test_every_acknowledged_message_counts_once_and_all_processes_end(home: Path) -> None:
    service = KillableService(home, environment(home))
    await service.start()
    try:
        town = Town(service, SEED)
        operator = await command(home, "token", "create", "--operator")
        async with httpx.AsyncClient(base_url=service.url, headers={"Authorization": f"Bearer {operator}"}) as http:
            assert (await http.put(f"/scenes/{SCENE}", json={"title": SCENE})).status_code == 200
        residents = {
            name: await join(town, name, Agent if name == "max" else Person, consent="" if name == "ed" else "allow")
            for name in ("dora", "ada", "bo", "cy", "di", "ed", "max")
        }
        demander = residents["dora"]
        assert isinstance(demander, Person)
        living = [asyncio.create_task(one.live()) for one in residents.values()]
        processes: list[str] = []
        rng = Random(SEED)
        try:
            for number, victim in enumerate(order_of_kills(rng)):
                if number % 5 == 0 and len(processes) < PROCESSES:
                    starting = asyncio.create_task(
                        demander.start_process(f"ferry-{len(processes)}", demand(town, len(processes), residents))
                    )
                    await town.until_told(1, seconds=rng.choice((0.2, 2)))
                    await service.kill(victim)
                    processes.append(await starting)
                else:
                    await town.until_told(rng.randint(1, 4), seconds=SECONDS_BETWEEN_KILLS)
                    await service.kill(victim)
                _none_failed(living)
                print(f"kill {number + 1}: {victim}, {len(town.told)} messages acknowledged", flush=True)
            checker = Checker(service.addresses.database_url, await _client(service))

            async def ended() -> bool:
                _none_failed(living)
                return await checker.ended(processes)

            await until(ended, "the end of all processes", seconds=SECONDS_TO_END)
        finally:
            town.over = True
            print("told:", shown(town.told), dict(town.acted))
            await asyncio.gather(*living, return_exceptions=True)
        wrong = {
            pid: await checker.examine(pid, [one for one in town.told if one.process_id == pid]) for pid in processes
        }
    finally:
        await service.stop()

    for pid, found in wrong.items():
        print(pid, *found, sep="\n  ")
    assert not any(wrong.values())
    assert len(set(processes)) == PROCESSES
    keys = Counter((one.process_id, one.key) for one in town.told)
    assert len(keys) > 100, "people spoke all the while"


def _none_failed(living: Sequence[asyncio.Task[None]]) -> None:
    for one in living:
        if one.done():
            one.result()


async def _client(service: KillableService) -> Client:
    return await connect(Settings(home=service.home), address=service.addresses.temporal_address)
