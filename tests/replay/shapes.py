"""The shapes a process can take, each played once on a real server; their histories are replayed against later code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from tests.support.scripted import Rule, Script, ScriptedEngine
from tests.support.stack import Stack
from tests.workflows.conftest import SILENT, TEXTS
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind

Play = Callable[[Stack, ScriptedEngine], Awaitable[str]]
"""Plays a process to its end and returns its id."""


async def _three(stack: Stack, **wish: Any) -> str:
    people = await stack.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
    return await stack.start(people, **{"auto_confirm": True} | wish)


async def _to_its_end(stack: Stack, _: ScriptedEngine) -> str:
    pid = await _three(stack)
    await stack.end(pid)
    return pid


async def _accept_at_the_limit(stack: Stack, _: ScriptedEngine) -> str:
    pid = await _three(stack, max_rounds=2)
    await stack.until(pid, "deciding")
    await stack.say(pid, "decide", decision="accept_as_is")
    await stack.end(pid)
    return pid


async def _extend_at_the_limit(stack: Stack, _: ScriptedEngine) -> str:
    pid = await _three(stack, max_rounds=2)
    await stack.until(pid, "deciding")
    await stack.say(pid, "decide", decision="extend")
    await stack.until(pid, "deciding", round_number=4)
    await stack.say(pid, "decide", decision="accept_as_is")
    await stack.end(pid)
    return pid


async def _suspended_and_resumed(stack: Stack, engine: ScriptedEngine) -> str:
    pid = await _three(stack)
    await stack.until_suspended(pid)
    engine.mend("mended")
    await stack.say(pid, "resume", role="operator")
    await stack.end(pid)
    return pid


async def _grade_c_expires(stack: Stack, _: ScriptedEngine) -> str:
    pid = await _three(stack, auto_confirm=False, confirm_seconds=1, turn_seconds=1, process_seconds=2)
    await stack.end(pid)
    return pid


async def _too_few_remain(stack: Stack, _: ScriptedEngine) -> str:
    people = await stack.people({name: TEXTS[name] for name in ("ada", "bo")})
    choices = [Choice(profile_id=one, endpoint=EndpointKind.HUMAN) for one in people]
    pid = await stack.start(choices, auto_confirm=True, correcting_seconds=0)
    await stack.asked(pid, "P01", 1)
    await stack.speak(pid, "P01", 1, "I can offer the slipway.")
    await stack.say(pid, "leave", alias="P02")
    await stack.until(pid, "deciding")
    await stack.say(pid, "decide", decision="abandon")
    await stack.end(pid)
    return pid


async def _cancelled(stack: Stack, _: ScriptedEngine) -> str:
    pid = await _three(stack, auto_confirm=False)
    await stack.until(pid, "confirming")
    await stack.say(pid, "cancel")
    await stack.end(pid)
    return pid


async def _people(stack: Stack, _: ScriptedEngine) -> str:
    people = await stack.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
    kinds = (EndpointKind.PROXY, EndpointKind.HUMAN, EndpointKind.AGENT)
    choices = [Choice(profile_id=one, endpoint=kind) for one, kind in zip(people, kinds, strict=True)]
    pid = await stack.start(choices, auto_confirm=True, correcting_seconds=0)
    await stack.until(pid, "crystallizing")
    aliases = [seat.alias for seat in await stack.repositories.seats.seats(pid) if seat.endpoint != "proxy"]
    for alias in aliases:
        await stack.asked(pid, alias, 1)
        await stack.speak(pid, alias, 1, f"{alias} can offer a slipway of four metres.")
    await stack.finish(pid, *aliases)
    return pid


async def _the_demander_too(stack: Stack, _: ScriptedEngine) -> str:
    demander, *people = await stack.people({name: TEXTS[name] for name in ("di", "ada", "bo")})
    wish: dict[str, Any] = {"auto_confirm": True, "demander_takes_part": True, "correcting_seconds": 1}
    pid = await stack.start(people, demander=demander, **wish)
    await stack.asked(pid, "P00", 1)
    await stack.speak(pid, "P00", 1, "P00 can offer a slipway of four metres.")
    await stack.finish(pid, "P00")
    return pid


async def _children(stack: Stack, _: ScriptedEngine) -> str:
    await stack.people(TEXTS, scene="shapes")
    wish: dict[str, Any] = {"auto_confirm": True, "auto_start": True, "wait_for_children": True, "residuals": "auto"}
    pid = await stack.start([], scene="shapes", **wish)
    await stack.end(pid)
    return pid


async def _add_at_the_limit(stack: Stack, _: ScriptedEngine) -> str:
    people = await stack.people(TEXTS, scene="shapes-adding")
    wish: dict[str, Any] = {"auto_confirm": True, "max_rounds": 2}
    pid = await stack.start(people[:3], scene="shapes-adding", **wish)
    await stack.until(pid, "deciding")
    await stack.say(pid, "decide", decision="add_participants", participants=[{"profile_id": people[3]}])
    await stack.until(pid, "deciding", round_number=4)
    await stack.say(pid, "decide", decision="accept_as_is")
    await stack.end(pid)
    return pid


async def _declined(stack: Stack, _: ScriptedEngine) -> str:
    people = await stack.people(TEXTS, scene="shapes-declined")
    choices = [
        Choice(profile_id=people[0], endpoint=EndpointKind.HUMAN),
        *(Choice(profile_id=one) for one in people[1:3]),
    ]
    wish: dict[str, Any] = {
        "auto_confirm": True,
        "auto_start": True,
        "wait_for_children": True,
        "aliases_as_named": True,
        "correcting_seconds": 0,
    }
    pid = await stack.start(choices, scene="shapes-declined", **wish)
    for number in (1, 2, 3, 4):
        await stack.asked(pid, "P01", number)
        await stack.speak(pid, "P01", number, f"I can offer {number} readings of the tide gauge.")
    await stack.asked(pid, "P01", 1, what="answer")
    await stack.say(pid, "answer_plan", alias="P01", revision=1, answer="decline")
    await stack.say(pid, "approve_residual", residual="plan/1/hole/P01")
    await stack.end(pid)
    return pid


_CONVERGES = ["more", "more", "exhausted"]
SHAPES: Final[dict[str, tuple[dict[str, Any], Play]]] = {
    "converged": ({"verdicts": _CONVERGES}, _to_its_end),
    "accelerated": ({"verdicts": ["more"], "rules": [Rule(step="project", round=2, draft=SILENT)]}, _to_its_end),
    "limit-then-accept": ({"verdicts": ["more"]}, _accept_at_the_limit),
    "limit-then-extend": ({"verdicts": ["more"]}, _extend_at_the_limit),
    "one-endpoint-failed": (
        {"verdicts": _CONVERGES, "rules": [Rule(step="project", alias="P02", do="refused")]},
        _to_its_end,
    ),
    "all-failed-suspended-resumed": (
        {"verdicts": _CONVERGES, "rules": [Rule(step="project", do="step_failed", until="mended")]},
        _suspended_and_resumed,
    ),
    "grade-c-expired": ({"rules": [Rule(step="formulate", do="refused")]}, _grade_c_expires),
    "too-few-remain": ({"verdicts": _CONVERGES}, _too_few_remain),
    "cancelled": ({}, _cancelled),
    "people": ({"verdicts": _CONVERGES}, _people),
    "demander-takes-part": ({"verdicts": _CONVERGES}, _the_demander_too),
    "limit-then-add": ({"verdicts": ["more"]}, _add_at_the_limit),
    "declined-then-a-child": ({"verdicts": _CONVERGES}, _declined),
    "children": ({"verdicts": _CONVERGES, "residuals": 1}, _children),
}
"""Name → the engine's script, and how it is played."""


def engine_of(shape: str) -> ScriptedEngine:
    return ScriptedEngine(Script.model_validate(SHAPES[shape][0]))
