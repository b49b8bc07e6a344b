"""What an ask of `pending` asks, in sentences, and the calls of tools that answer it."""

from __future__ import annotations

from typing import Any, Final

from tongyao.app.messaging.answers import Answer
from tongyao.app.messaging.inbox import Ask

ASKED: Final[dict[str, str]] = {
    "confirm_tension": "Does the tension in `view` say what you want? Confirm it, or revise it.",
    "select_participants": "Choose who takes part: ids of profiles.",
    "projection": "Say what is new from you in this round, in a `text` in your own words, or that there is nothing new: what you can "
    "give or do and on what conditions, and what you will not do; what you wish for, said as a wish. `gaps` ask you in particular.",
    "gap": "The host asks what only you can know: the `gaps`. Answer in a `text` in your own words, or say that there is nothing new. "
    "No round waits for it.",
    "decision": "The process came to a limit. Decide how it goes on: one of the options in `choices`.",
    "answer": "Read your part of the plan (tool `plan`), then answer: commit, decline, or propose a change in `text`.",
    "residual": "A tension stayed open. Say whether a process is to be started for it.",
    "hole": "Somebody declined their part. Say whether a process is to be started that looks for somebody in their place.",
    "consent": "May a proxy speak for you in this process? You can also take part and speak for yourself: `endpoint` human. "
    "No answer is no.",
    "resume": "The process is suspended. Resume it once the cause is mended.",
}
_LAST_PLAN: Final = " The plan was written anew once already: a proposal is kept beside it and leads to no other plan."


def with_answers(ask: Ask) -> dict[str, Any]:
    """An ask as `pending` returns it. `asked`: what it asks. `answer_with`: calls that answer it, the usual one first.

    Each call holds `tool` and `arguments`, complete but for the texts in angle brackets. `key` may be any text that is new.
    """
    shown = ask.model_dump(mode="json", exclude_none=True, exclude={"messages"})
    shown["asked"] = ASKED.get("gap" if ask.of_gaps else ask.ask, "") + (
        _LAST_PLAN if ask.ask == "answer" and ask.round > 1 else ""
    )
    shown["answer_with"] = []
    for message in ask.messages:
        tool, arguments = _call(message)
        call = {"process_id": ask.process_id, "key": "<key>", **arguments}
        shown["answer_with"].append({"tool": tool, "arguments": call})
    return shown


def _call(message: Answer) -> tuple[str, dict[str, Any]]:
    """The tool that sends a message, and its arguments."""
    fields = {name: one for name, one in message.items() if name != "kind"}
    match message["kind"]:
        case "submit_projection":
            return "respond", fields
        case "consent":
            return "consent", fields
        case _:
            return "decide", {"message": message}
