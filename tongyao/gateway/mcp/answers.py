"""The table of asks for an MCP client: the sentences of an ask, and the calls of tools that answer it."""

from __future__ import annotations

from typing import Any

from tongyao.app.messaging.inbox import Ask
from tongyao.protocol.life.asks import Body, helps

_CONSENT_FIRST = (
    "First show your person `consent.invitation_en` or `_zh`: it states who asks, what this is and what each answer does. "
    "“I” in `consent.tension` means the person who asks. "
)


def with_answers(ask: Ask) -> dict[str, Any]:
    """An ask as `pending` returns it. `asked`: what it asks. `answer_with`: calls that answer it, the usual one first.

    Each call holds `tool` and `arguments`, complete but for the texts in angle brackets. `key` may be any text that is new.
    """
    shown = ask.model_dump(mode="json", exclude_none=True, exclude={"messages", "en", "zh"})
    shown["asked"] = f"{ask.en[:1].upper()}{ask.en[1:]}. {helps(ask, 'en')}"
    if ask.consent is not None:
        shown["asked"] = _CONSENT_FIRST + shown["asked"]
    shown["answer_with"] = []
    for message in ask.messages:
        tool, arguments = _call(message)
        call = {"process_id": ask.process_id, "key": "<key>", **arguments}
        shown["answer_with"].append({"tool": tool, "arguments": call})
    return shown


def _call(message: Body) -> tuple[str, dict[str, Any]]:
    """The tool that sends a message, and its arguments."""
    fields = {name: field for name, field in message.items() if name != "kind"}
    match message["kind"]:
        case "submit_projection":
            return "respond", fields
        case "consent":
            return "consent", fields
        case _:
            return "decide", {"message": message}
