"""One portion of chaos: processes with people, an agent, proxies and children, faults meanwhile, and what was left behind."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.chaos.answers import SHARE, WEATHER, Answers, whole
from tests.chaos.clock import ShiftedClock, library
from tests.chaos.disk import small_disk
from tests.chaos.faults import KINDS, Faults, Kind
from tests.chaos.installation import Installation
from tests.chaos.paid_calls import PaidCall, paid_again
from tests.gateway.test_up import command
from tests.kills.checker import Checker
from tests.kills.town import SCENE, Agent, Person, Resident, Town, join
from tests.support.messages_api.faults import storm
from tests.support.messages_api.server import MessagesServer

PEOPLE: Final = ("dora", "ada", "bo", "cy", "di", "ed", "max")
LOOK_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 0.7
"""Between two looks of somebody at their inbox."""

ANSWER_SECONDS: Final = 0.15
"""What an answer of the model server takes."""


@dataclass
class Size:
    """How much of it. `longest`: seconds that a fault lasts at most. `pause`: at most, between two faults. `end`: after the last one."""

    processes: int
    faults: int
    workers: int = 2
    longest: float = 6.0
    pause: float = 4.0
    end: float = 900.0
    kinds: tuple[Kind, ...] = KINDS


@dataclass
class Report:
    """What a portion showed. `wrong`: by process, or by what else it is about."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    steps: list[str] = field(default_factory=list)
    processes: Counter[str] = field(default_factory=Counter)
    children: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)
    restarts: int = 0
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def as_json(self) -> str:
        return json.dumps(vars(self), ensure_ascii=False)


async def run(home: Path, logs: Path, seed: int, size: Size, say: Callable[[str], None]) -> Report:
    """Raises `AssertionError` or `TimeoutError` where it cannot go on."""
    report, rng, began = Report(seed), Random(f"chaos/{seed}"), time.monotonic()
    rates = {fault: SHARE / len(WEATHER) for fault in WEATHER}
    found = library()
    clock = ShiftedClock(logs / "clock", found) if found is not None else None
    if clock is None:
        report.skipped.append("clock: it cannot be shifted, libfaketime is not installed")
    with (
        small_disk(home) as disk,
        MessagesServer(
            Answers(rounds=2, sizes={}), faults=storm(rates, seed=seed), latency=ANSWER_SECONDS, deltas=4
        ) as models,
    ):
        if disk is None:
            report.skipped.append("disk full: only root can mount a small one")
        async with Installation(
            home, logs, models, workers=size.workers, clock=clock, environment=_settings(size)
        ) as here:
            say("everything runs")
            faults = Faults(here, rng, disk=disk, clock=clock, longest=size.longest, kinds=size.kinds)
            town = Town(here, seed, pause=PAUSE_SECONDS)
            try:
                await _live(here, town, rng, size, faults, report, say)
            finally:  # the small disk goes, and its logs say why a server did not come back
                shutil.copytree(home / "logs", logs / "servers", dirs_exist_ok=True)
            report.restarts = here.starts
        report.faults = Counter(span.fault.kind for span in faults.spans)
        report.steps = sorted(faults.met)
        paid = [PaidCall(*one) for one in whole(models)]
        again, without_reason = paid_again(paid, [(span.began, span.ended) for span in faults.spans])
        report.calls.update({"requests": models.calls, "whole answers": len(paid), "paid again": again})
        if without_reason:
            report.wrong["model calls"] = without_reason
    report.messages = Counter(one.said for one in town.told)
    report.seconds = time.monotonic() - began
    return report


def _settings(size: Size) -> dict[str, str]:
    rates = dict.fromkeys(("RATE", "ADDRESS_RATE", "JOIN_RATE"), "1000000/minute")
    # One demander asks the same few people in all processes. By default one of them may be asked five times a day: a room without
    # this person would then be too small, and the process would wait for a choice.
    quotas = dict.fromkeys(("PERSON_PER_DAY", "PAIR_PER_DAY", "CHOSEN_PER_DAY", "CHOSEN_PAIR_PER_DAY"), "1000")
    return {
        **{f"TONGYAO_CONSENT__{name}": most for name, most in quotas.items()},
        "TONGYAO_GATEWAY__ANSWER_SECONDS": "3",
        "TONGYAO_GATEWAY__MOST_OPEN_PROCESSES": "1000",
        **{f"TONGYAO_GATEWAY__{name}": rate for name, rate in rates.items()},
    }


async def _live(
    here: Installation, town: Town, rng: Random, size: Size, faults: Faults, report: Report, say: Callable[[str], None]
) -> None:
    """People live through processes while faults come; afterwards everything is checked."""
    token = await command(here.home, "token", "create", "--operator")
    operator = Person(town, "operator", "", token)
    assert (await operator.ask("PUT", f"/scenes/{SCENE}", json={"title": SCENE})).status_code == 200
    residents = {
        name: await join(town, name, Agent if name == "max" else Person, consent="" if name == "ed" else "allow")
        for name in PEOPLE
    }
    demander = residents["dora"]
    assert isinstance(demander, Person)
    living = [asyncio.create_task(one.live()) for one in residents.values()]
    living.append(asyncio.create_task(_resume(town, operator)))
    checker = Checker(here.database_url, here.client)
    starting: list[asyncio.Task[str]] = []
    try:
        order = faults.order(size.faults)
        for number, kind in enumerate(order):
            due = -(
                -size.processes * (number + 1) // max(1, len(order) * 2 // 3)
            )  # all have begun after two thirds of the faults
            for one in range(len(starting), min(size.processes, due)):
                body = demand(town, one, residents)
                starting.append(asyncio.create_task(demander.start_process(f"ferry-{town.seed}-{one}", body)))
            _none_failed([*living, *starting])
            fault = faults.draw(kind)
            said = time.monotonic()
            try:
                await faults.apply(fault, await checker.open_in_tree(_known(starting)))
            except AssertionError:
                say(f"fault {number + 1} of {len(order)}: {fault}; not back")
                raise
            say(
                f"fault {number + 1} of {len(order)}: {fault}; back after {time.monotonic() - said:.1f} s; {len(town.told)} messages"
            )
            await town.until_told(rng.randint(1, 3), seconds=rng.uniform(0.2, size.pause))
        processes = list(await asyncio.gather(*starting))
        async with asyncio.timeout(size.end):
            while await checker.open_in_tree(processes):
                _none_failed(living)
                await asyncio.sleep(LOOK_SECONDS)
        say("all have ended")
    except (
        TimeoutError,
        AssertionError,
    ) as error:  # a part did not come back, somebody got an answer that nobody may get
        processes = _known(starting)
        left = await checker.open_in_tree(processes)
        report.wrong["end"] = [str(error) or f"open after {size.end:g} s: {left}"]
        for process_id in left[:5]:
            say(f"{process_id}: {await checker.story(process_id)}")
    finally:
        town.over = True
        for task in starting:
            task.cancel()
        await asyncio.gather(*living, *starting, return_exceptions=True)
    await _check(checker, town, processes, report)


async def _check(checker: Checker, town: Town, roots: Sequence[str], report: Report) -> None:
    rows = await checker.tree(roots)
    report.children = len(rows) - len(roots)
    report.processes = Counter(str(row["outcome"] or "open") for row in rows)
    for row in rows:
        told = [one for one in town.told if one.process_id == row["id"]]
        if wrong := await checker.examine(row["id"], told):
            report.wrong[row["id"]] = wrong
    report.calls += await checker.calls_by_state([row["id"] for row in rows])


async def _resume(town: Town, operator: Person) -> None:
    """The operator: resumes what is suspended, as `tongyao resume --all` does."""
    number = 0
    while not town.over:
        with suppress(Exception):  # of a fault; asked again
            answer = await operator.ask("GET", "/processes", params={"open": "true", "limit": "200"})
            for row in answer.json()["processes"]:
                if row.get("suspended"):
                    number += 1
                    path = f"/processes/{row['id']}/messages"
                    await operator.ask("POST", path, key=f"resume-{number}", json={"kind": "resume"})
        await asyncio.sleep(5 * LOOK_SECONDS)


def demand(town: Town, number: int, residents: dict[str, Resident]) -> dict[str, Any]:
    """The body of a process: one person or two, the agent in half, one proxy or two. In every third, with one person, a child grows."""
    rng = town.random("process", number)
    people = rng.sample(("ada", "bo", "cy"), 1 if number % 3 == 0 else 2)
    endpoints = dict.fromkeys(people, "human") | dict.fromkeys(rng.sample(("di", "ed"), 1 + number % 2), "proxy")
    if number % 2:
        endpoints["max"] = "agent"
    settings: dict[str, Any] = {
        "auto_confirm": number % 4 != 0,
        "max_rounds": 4,
        "residuals": "off",
        "correcting_seconds": 1,
    }
    if number % 3 == 0:
        settings |= {
            "residuals": "auto",
            "auto_start": True,
            "wait_for_children": number % 2 == 0,
            "max_participants": 4,
        }
    return {
        "intent": f"I want to bring ferry number {number} of {town.seed} back onto the lake. I have a hull and no engine.",
        "scene": SCENE,
        "participants": [{"profile_id": residents[name].id, "endpoint": kind} for name, kind in endpoints.items()],
        "settings": settings,
    }


def _known(starting: Sequence[asyncio.Task[str]]) -> list[str]:
    return [one.result() for one in starting if one.done() and not one.cancelled() and one.exception() is None]


def _none_failed(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for one in tasks:
        if one.done():
            one.result()
