"""What an ask of `pending` asks, in sentences, and the calls of tools that answer it."""

from __future__ import annotations

from typing import Any, Final

from tongyao.app.messaging.inbox import Ask

ASKED: Final[dict[str, str]] = {
    "confirm_tension": "Does the tension in `view` say what you want? Confirm it, or revise it.",
    "select_participants": "Choose who takes part: ids of profiles.",
    "projection": "Say what is new from you in this round: a `text` in your own words, or `parts`, or that there is nothing new. "
    "capability: what you can give or do that dissolves a barrier or can be exchanged. "
    "direction: where you are heading yourself, with or without this. "
    "boundary: what you will not do, and your conditions.",
    "decision": "The process came to a limit. Decide how it goes on: one of the options in `choices`.",
    "answer": "Read your part of the plan (tool `plan`), then answer: commit, decline, or propose a change in `text`.",
    "residual": "A tension stayed open. Say whether a process is to be started for it.",
    "hole": "Somebody declined their part. Say whether a process is to be started that looks for somebody in their place.",
    "consent": "May a proxy speak for you in this process? No answer is no.",
    "resume": "The process is suspended. Resume it once the cause is mended.",
}
_LAST_PLAN: Final = " The plan was written anew once already: a proposal is kept beside it and leads to no other plan."


def with_answers(ask: Ask) -> dict[str, Any]:
    """An ask as `pending` returns it. `asked`: what it asks. `answer_with`: calls that answer it, the usual one first.

    Each call holds `tool` and `arguments`, complete but for the texts in angle brackets. `key` may be any text that is new.
    """
    shown = ask.model_dump(mode="json", exclude_none=True)
    shown["asked"] = ASKED.get(ask.ask, "") + (_LAST_PLAN if ask.ask == "answer" and ask.round > 1 else "")
    shown["answer_with"] = [
        {"tool": tool, "arguments": {"process_id": ask.process_id, "key": "<key>", **arguments}}
        for tool, arguments in _calls(ask)
    ]
    return shown


def _calls(ask: Ask) -> list[tuple[str, dict[str, Any]]]:
    match ask.ask:
        case "projection":
            parts = {"capability": "<text>", "direction": "<text>", "boundary": "<text>"}
            return [
                ("respond", {"round": ask.round, "text": "<text>"}),
                ("respond", {"round": ask.round, "parts": parts}),
                ("respond", {"round": ask.round, "nothing_new": True}),
            ]
        case "consent":
            return [("consent", {"allow": True}), ("consent", {"allow": False})]
        case _:
            return [("decide", {"message": message}) for message in _messages(ask)]


def _messages(ask: Ask) -> list[dict[str, Any]]:
    match ask.ask:
        case "confirm_tension":
            tension = {"transition": "<text>", "initial_state": "<text>", "barriers": ["<text>"], "exchange": "<text>"}
            return [{"kind": "confirm_tension"}, {"kind": "revise_tension", "tension": tension}]
        case "select_participants":
            return [{"kind": "select_participants", "participants": ["<profile id>", "<profile id>"]}]
        case "answer":
            said = {"kind": "answer_plan", "revision": ask.round}
            return [
                {**said, "answer": "commit"},
                {**said, "answer": "decline", "text": "<text>"},
                {**said, "answer": "propose", "text": "<text>"},
            ]
        case "decision":
            return [_decision(ask, option) for option in (ask.choices.options if ask.choices else ())]
        case "residual" | "hole":
            said = {"kind": "approve_residual", "residual": ask.subject}
            return [{**said, "approve": True}, {**said, "approve": False}]
        case "resume":
            return [{"kind": "resume"}]
        case _:
            return []


def _decision(ask: Ask, option: str) -> dict[str, Any]:
    match option:
        case "replan":
            given = ((ask.view.answers if ask.view else None) or {}).items()
            without = [alias for alias, answer in given if answer == "decline"]
            return {
                "kind": "replan",
                "without": without,
                "proposals": [one for one, said in given if said == "propose"],
            }
        case "conclude":
            return {"kind": "conclude"}
        case "add_participants":
            return {"kind": "decide", "decision": option, "participants": ["<profile id>"]}
        case "raise_budget":
            return {"kind": "decide", "decision": option, "tokens": 1_000_000}
        case _:
            return {"kind": "decide", "decision": option}
