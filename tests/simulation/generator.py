"""Generates schedules from seeds. A seed always gives the same schedule.

Every schedule has a manner: the shares of messages, of failures of steps, and of waiting. It also has a *focus*: a
phase, suspended or not, in which it sends messages of all kinds. So each kind is sent often enough in each phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tests.simulation import results, talk
from tests.simulation.script import Input
from tests.simulation.world import World
from tongyao.protocol.life.state import RECORD_KEY
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.process import ENDED, Phase

OPEN_PHASES: Final = tuple(phase for phase in Phase if phase not in ENDED)
FOCUSES: Final = (
    *OPEN_PHASES,
    *(Phase.AWAITING_CHILDREN,) * 12,
    Phase.DISCOVERING,
    *(Phase.ANSWERING,) * 3,
    *(Phase.DECIDING, Phase.SELECTING, Phase.PLANNING) * 2,
    *(Phase.DELIVERING, Phase.CONFIRMING),
)
"""The phases from which a focus is drawn. Phases that are seldom reached occur several times."""

BURST: Final = 52
"""Number of messages of all kinds that a schedule sends in its focus."""

KINDS: Final = tuple(m.MESSAGE_TYPES)

LENGTH: Final = 80
"""Limit of the inputs of a schedule before it is drained."""

DELEGATED: Final = 8
"""In one of so many schedules, people answer model calls from outside."""

FURTHER: Final = 30
"""Further inputs of schedules that go directly to a late phase."""

CODES: Final = {"operator": ("no_credit", "bad_key"), "infrastructure": ("database_away", "no_worker")}


@dataclass
class Manner:
    """The manner of a schedule. Its shares are probabilities of inputs."""

    focus: Phase
    focus_suspended: bool
    direct: bool
    burst: int = BURST
    say: float = 0.35
    fail: float = 0.06
    hasty: float = 0.15
    talkative: float = 0.93
    any_kind: float = 0.12
    takes_over: bool = False
    """Participants repeatedly take over from their proxies and hand back to them."""
    delegated: bool = False
    """People answer model calls from outside."""


LATE: Final = frozenset({Phase.DECIDING, Phase.PLANNING, Phase.DELIVERING, Phase.ANSWERING, Phase.AWAITING_CHILDREN})
"""Phases that are reached only after few failures."""


def manner(rng: Random, seed: int) -> Manner:
    focus = FOCUSES[seed % len(FOCUSES)]
    direct = focus in LATE and rng.random() < 0.8
    return Manner(
        focus=focus,
        focus_suspended=(seed // len(FOCUSES)) % 2 == 1,
        direct=direct,
        say=0.12 if direct else rng.choice((0.2, 0.35, 0.5)),
        fail=0.0 if direct else rng.choice((0.0, 0.05, 0.15)),
        hasty=rng.choice((0.05, 0.15, 0.3)),
        talkative=rng.choice((0.6, 0.9, 1.0)),
        any_kind=0.02 if direct else rng.choice((0.05, 0.15)),
        takes_over=not direct and rng.random() < 0.1,
        delegated=seed % DELEGATED == 0,
    )


def start(rng: Random, how: Manner) -> dict[str, Any]:
    """Draw the start of a process. If the focus is a late phase, most starts let the process reach it."""
    takes_part = rng.random() < 0.25
    residuals = rng.choice(("off", "ask", "ask", "auto"))
    settings: dict[str, Any] = {
        "auto_confirm": rng.random() < 0.25,
        "auto_start": rng.random() < 0.5,
        "aliases_as_named": rng.random() < 0.2,
        "demander_takes_part": takes_part,
        "demander_endpoint": rng.choice(("human", "human", "agent") if takes_part else ("human", "agent", "proxy")),
        "max_participants": rng.choice((4, 5, 8)),
        "quorum": rng.choice((1, 2, 2, 2, 3)),
        "max_rounds": rng.choice((2, 3, 4, 7)),
        "fallback": rng.choice(("lapse", "proxy", "leave")),
        "correcting_seconds": rng.choice((0, 0, 600)),
        "confirm_seconds": rng.choice((300, 86_400)),
        "residuals": residuals,
        "depth_limit": 2 if residuals != "off" and rng.random() < 0.9 else 1,
        "wait_for_children": residuals != "off" and rng.random() < 0.6,
    }
    if how.direct:
        settings |= {"max_rounds": rng.choice((2, 3)), "auto_confirm": rng.random() < 0.8, "quorum": rng.choice((1, 2))}
        if how.focus is Phase.AWAITING_CHILDREN:
            residuals = rng.choice(("ask", "ask", "auto"))
            settings |= {"residuals": residuals, "depth_limit": 3, "wait_for_children": True}
    if rng.random() < 0.25:
        settings["token_budget"] = rng.choice((500, 3000))
    if rng.random() < 0.15:
        settings["cost_budget"] = rng.choice(("0.5", "1", "2.5"))
    given: dict[str, Any] = {"process_id": "c-1", "demander": "d", "intent_text_id": "intent", "settings": settings}
    named = rng.random() < 0.6
    if named:
        count = rng.randint(max(2, settings["quorum"]), settings["max_participants"] - takes_part)
        given["participants"] = [talk.choice(rng, f"n{n}") for n in range(count)]
    if not named or rng.random() < 0.6:
        given["scene"] = "harbour"
    if rng.random() < 0.3:
        given["demander_profile"] = {"profile_id": "d-profile", "version": 2}
    if rng.random() < 0.2:
        given["tension"] = {"text_id": "brought", "grade": rng.choice("AAC"), "barriers": 2}
        if rng.random() < 0.5:
            lineage = {"root": "c-0", "parent": "c-0", "residual": "plan/1/residual/1", "depth": rng.randint(1, 2)}
            given |= {"lineage": lineage, "excluded": ["q1"]}
    given["remember"] = rng.random() < 0.5
    if how.delegated:
        settings["delegated_seconds"] = rng.choice((600, 40_000, 604_800))
    return given


def next_input(rng: Random, world: World, how: Manner) -> Input:
    """Draw the next input."""
    state = world.state
    if state.phase is how.focus and how.burst:
        if state.suspended == how.focus_suspended:
            how.burst -= 1
            message = talk.message(rng, state, rng.choice(KINDS))
            return ["say", _tamed(rng, message)]
        if how.focus_suspended and world.running:
            return _failure(rng, rng.choice(list(world.running)))
        if not how.focus_suspended and rng.random() < 0.7:
            by_message = ["say", {"kind": "resume", "role": "operator", "alias_of_author": ""}]
            return rng.choice((by_message, ["signal", "resume"]))
    if how.takes_over and state.phase is Phase.CRYSTALLIZING and rng.random() < 0.5:
        return ["say", talk.taken_over(rng, state)]
    if state.parked and rng.random() < 0.25:
        return ["say", talk.message(rng, state, "call_answered")]
    x = rng.random()
    if world.running and x > how.say:
        if (x := rng.random()) < how.fail:
            return _failure(rng, rng.choice(list(world.running)))
        if x < 0.9:
            key = rng.choice(list(world.running))
            if world.running[key].step.optional and rng.random() < 0.2:
                return _failure(rng, key)
            step = world.running[key].step
            return ["succeed", key, results.decide(rng, step, talkative=how.talkative, delegated=how.delegated)]
    if state.suspended and rng.random() < 0.25:
        return ["say", talk.message(rng, state, "resume")]
    if (x := rng.random()) < 0.62:
        return _said(rng, world, how)
    if x < 0.62 + how.hasty:
        return _time(rng, world)
    return _incident(rng, world)


def _tamed(rng: Random, message: dict[str, Any]) -> dict[str, Any]:
    """Give some messages that would shorten a process an author without permission, so that processes last longer."""
    strangers = {"cancel": 0.85, "leave": 0.4, "conclude": 0.4}
    if rng.random() < strangers.get(message["kind"], 0):
        return message | {"role": "participant", "alias_of_author": "P09"}
    return message


def _said(rng: Random, world: World, how: Manner) -> Input:
    x = rng.random()
    if world.on_their_way and x < 0.3:
        return ["deliver", rng.choice(world.on_their_way)]
    message = talk.message(rng, world.state, rng.choice(KINDS) if rng.random() < how.any_kind else "")
    message = _tamed(rng, message)
    if x < 0.36:
        return ["store", message]
    if message["role"] == "operator":
        kind = message["kind"]
        if kind == "cancel" and not message.get("branch") and x < 0.42:
            return ["cancel"]
        if x < (0.7 if kind == "resume" else 0.42):
            return ["signal", kind]
    return ["say", message]


def _failure(rng: Random, key: str) -> Input:
    kind = "infrastructure" if key == RECORD_KEY else rng.choice(("operator", "infrastructure"))
    return ["fail", key, kind, rng.choice(CODES[kind])]


def _time(rng: Random, world: World) -> Input:
    """Let time pass, mostly until something is due, but not on purpose until the deadline of the whole process.

    A suspension may last longer than this deadline, because its time does not count.
    """
    x = rng.random()
    if world.state.suspended and x < 0.03:
        return ["tick", 2 * world.state.start.settings.process_seconds]
    seconds = rng.choice((1, 20, 600, 3600, 40_000))
    if x < 0.15:
        return ["pass", seconds]
    state = world.state
    deadlines = any(turn.waits for turn in state.turns.values()) or state.deadline is not None or bool(state.parked)
    if x < 0.75 and (deadlines or state.suspended or state.correcting_until or state.invitations):
        return ["alarm"] if rng.random() < 0.8 else ["alarm", seconds]
    return ["tick", seconds]


def _incident(rng: Random, world: World) -> Input:
    x = rng.random()
    if x < 0.2:
        return ["kill"]
    if x < 0.3:
        return ["continue"]
    if x < 0.45:
        return ["checkpoint"]
    if x < 0.5 and world.checkpoint is not None:
        return ["reset"]
    if x < 0.7 and world.applied:
        return ["repeat", rng.choice(list(world.applied))]
    if world.lost:
        key = rng.choice(list(world.lost))
        return ["late", key, results.decide(rng, world.lost[key].step, talkative=0.9)]
    return ["tick", rng.choice((1, 60))]
