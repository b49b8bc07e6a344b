"""What is drawn for a schedule through a real server, from a seed and from the state that the process itself shows.

A schedule comes from a seed, but not alone: what is drawn depends on how far the process has come by then. What was done is written
down as a script, which plays the same inputs again. Of a script an input is a JSON list:

- `["begin", start]`: `settings`, `participants`, `scene`; `rules` of the scripted engine for this process; always first.
- `["say", message]`: through the relay; fields as in `tests.simulation.script`, without a number. `["signal", kind]`.
- `["quiet"]`: wait until nothing but people and time is waited for.
- `["down"]`, `["up"]`: the worker is killed, with SIGKILL; started. `["kill"]`: both.
- `["pass", seconds]`: time passes, on the server whose clock can be moved.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.kills.house import SCENE
from tests.simulation import generator, talk
from tests.simulation.script import Input
from tongyao.app.start import process_id_of
from tongyao.protocol.life.state import State
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.process import DEMANDER, Phase

LENGTH: Final = 30
"""Inputs of a schedule before it is drained."""

SHORT: Final = 12
"""Inputs where there is little time. Then the worker is killed once only: each start of one takes seconds."""


def start_of(seed: int) -> dict[str, Any]:
    """How the process of a seed begins, and what goes wrong with its model calls."""
    rng = Random(f"start/{seed}")
    drawn = generator.start(rng, generator.manner(rng, seed))
    settings = drawn["settings"] | {"correcting_seconds": rng.choice((0, 0, 1)), "depth_limit": 1}
    if rng.random() < 0.7:
        settings["max_rounds"] = rng.choice((3, 5))
    start: dict[str, Any] = {"key": f"seed-{seed}", "settings": settings, "scene": SCENE, "rules": []}
    if "participants" in drawn:
        start["participants"] = drawn["participants"]
    for _ in range(rng.choice((0, 1, 1, 2))):
        do = rng.choice(("transient", "operator_needed", "crash", "crash", "unreadable"))
        step = rng.choice(("formulate", "project", "project", "observe", "plan", "deliver"))
        rule: dict[str, Any] = {"step": step, "do": do, "attempt": 1}
        if step in ("project", "observe"):
            rule["round"] = rng.randint(1, 3)
        start["rules"].append(rule)
    return start


def rules_of(start: dict[str, Any]) -> list[dict[str, Any]]:
    """Of the scripted engine, which is told all of them when its worker starts."""
    return [{**rule, "process": process_id_of(demander_of(start), start["key"])} for rule in start["rules"]]


def demander_of(start: dict[str, Any]) -> str:
    return f"demander-of-{start['key']}"


def next_input(rng: Random, state: State, *, down: bool, jumps: bool) -> Input:
    """What is done next with a process in this state. `down`: no worker runs. `jumps`: the server's clock can be moved."""
    x = rng.random()
    if down:
        if x < 0.3:
            return ["up"]
    elif x < 0.06:
        return ["kill"]
    elif x < 0.12:
        return ["down"]
    elif x < 0.45:
        return ["quiet"]
    if jumps and rng.random() < 0.15:
        return ["pass", rng.choice((600, 40_000, 86_400, 259_200))]
    kind = (
        rng.choice([kind for kind in m.MESSAGE_TYPES if kind not in ("child_ended", "call_answered")])
        if rng.random() < 0.12
        else ""
    )
    message = talk.message(rng, state, kind)
    message.pop("number", None)
    if message["kind"] in ("cancel", "leave") and rng.random() < 0.8:
        message |= {"role": "participant", "alias_of_author": "P09"}
    if (
        message["role"] == "child" or message["kind"] == "child_ended"
    ):  # a child's end is a row that the child's own end inserts
        return ["quiet"]
    if message["role"] == "operator" and rng.random() < 0.4:
        return ["signal", message["kind"]]
    return ["say", message]


def next_help(state: State) -> list[dict[str, Any]]:
    """What would move a process that waits for people or operators: the shortest way to its end."""
    demander = {"role": "demander", "alias_of_author": DEMANDER}
    if any(cause.kind == "operator" for cause in state.causes.values()):
        return [{"kind": "resume", "role": "operator", "alias_of_author": ""}]
    said: list[dict[str, Any]] = []
    match state.phase:
        case Phase.CONFIRMING:
            said.append({"kind": "confirm_tension", **demander})
        case Phase.SELECTING:
            count = max(2, state.start.settings.quorum)
            said.append(
                {
                    "kind": "select_participants",
                    "participants": [{"profile_id": f"n{n}"} for n in range(count)],
                    **demander,
                }
            )
        case Phase.CONSENTING:
            for one in state.invitations:
                if one.waits:
                    author = {"role": "invited", "alias_of_author": f"invited/{one.number}"}
                    said.append({"kind": "consent", "invitation": one.number, "allow": True, **author})
        case Phase.CRYSTALLIZING:
            for turn in state.waiting_for:
                author = {
                    "role": "demander" if turn.alias == DEMANDER else "participant",
                    "alias_of_author": turn.alias,
                }
                said.append(
                    {
                        "kind": "submit_projection",
                        "alias": turn.alias,
                        "round": state.round,
                        "nothing_new": True,
                        **author,
                    }
                )
        case Phase.DECIDING:
            said.append({"kind": "decide", "decision": "accept_as_is", **demander})
        case Phase.ANSWERING:
            for residual in state.undecided:
                said.append({"kind": "approve_residual", "residual": residual, "approve": False, **demander})
            for alias in state.asked_for_answers:
                if alias not in state.answers:
                    author = {"role": "demander" if alias == DEMANDER else "participant", "alias_of_author": alias}
                    said.append(
                        {
                            "kind": "answer_plan",
                            "alias": alias,
                            "revision": state.plan_revision,
                            "answer": "commit",
                            **author,
                        }
                    )
            if not said and state.open_points:
                said.append({"kind": "conclude", **demander})
        case Phase.AWAITING_CHILDREN:
            said.append({"kind": "conclude", **demander})
    return said
