"""The messages that answer what a process asks, as a program can send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tongyao.protocol.model.messages import ask_of
from tongyao.protocol.model.process import Phase

Answer = dict[str, Any]


def messages_for(
    ask: str, *, number: int, subject: str = "", options: Sequence[str] = (), given: Mapping[str, str] | None = None
) -> list[Answer]:
    """Bodies of messages, the usual one first, complete but for the texts in angle brackets.

    Args:
        number: the round, or of `answer` the revision of the plan.
        subject: the residual that it is about.
        options: of a decision.
        given: of a decision about a plan, how it was answered, by alias.
    """
    match ask:
        case "confirm_tension":
            tension = {"transition": "<text>", "initial_state": "<text>", "barriers": ["<text>"], "exchange": "<text>"}
            return [{"kind": "confirm_tension"}, {"kind": "revise_tension", "tension": tension}]
        case "select_participants":
            return [{"kind": "select_participants", "participants": ["<profile id>", "<profile id>"]}]
        case "projection":
            said = {"kind": "submit_projection", "round": number}
            return [{**said, "text": "<text>"}, {**said, "nothing_new": True}]
        case "answer":
            said = {"kind": "answer_plan", "revision": number}
            return [
                {**said, "answer": "commit"},
                {**said, "answer": "decline", "text": "<text>"},
                {**said, "answer": "propose", "text": "<text>"},
            ]
        case "decision":
            return [_decision(option, given or {}, number) for option in options]
        case "residual" | "hole":
            said = {"kind": "approve_residual", "residual": subject}
            return [{**said, "approve": True}, {**said, "approve": False}]
        case "consent":
            said = {"kind": "consent"}
            return [{**said, "allow": True}, {**said, "allow": True, "endpoint": "human"}, {**said, "allow": False}]
        case "resume":
            return [{"kind": "resume"}]
        case _:
            return []


def _decision(option: str, given: Mapping[str, str], number: int) -> Answer:
    """`number`: the round in which the rounds stopped, or the revision of the plan that was answered."""
    of_plan = option in ("replan", "conclude")
    kind = option if of_plan else "decide"
    message: Answer = {
        "kind": kind,
        "ask": ask_of(kind, Phase.ANSWERING if of_plan else Phase.DECIDING, number, number),
    }
    match option:
        case "conclude":
            return message
        case "replan":
            without = [alias for alias, answer in given.items() if answer == "decline"]
            proposals = [alias for alias, answer in given.items() if answer == "propose"]
            return {**message, "without": without, "proposals": proposals}
    message["decision"] = option
    match option:
        case "add_participants":
            return {**message, "participants": ["<profile id>"]}
        case "raise_budget":
            return {**message, "tokens": 1_000_000}
        case _:
            return message
