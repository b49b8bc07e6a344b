"""What the model server says: something new for two rounds, and a plan that leaves a tension of its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support.messages_api.faults import Fault, digest
from tests.support.messages_api.responder import Responder
from tests.support.messages_api.server import MessagesServer

SHARE: Final = 0.3
"""Of calls that go wrong."""

WEATHER: Final = (
    Fault.RATE_LIMITED, Fault.OVERLOADED, Fault.SERVER_ERROR, Fault.CUT_STREAM, Fault.ERROR_IN_STREAM, Fault.INVALID_JSON,
    Fault.WRONG_SCHEMA, Fault.TRUNCATION, Fault.MISSING_PAIR, Fault.INVENTED_QUOTE,
)  # fmt: skip

CRANE: Final = {
    "title": "A crane that somebody here understands",
    "transition": "From lifting by hand to lifting with a machine that somebody here understands.",
    "initial_state": "Two jetties, a hand winch from 1961, and crates of ninety kilograms.",
    "barriers": ["No one in the room has a licence for a crane."],
    "exchange": "Two days of work with the winch.",
    "sources": ["T/B1"],
}


@dataclass(frozen=True)
class Answers(Responder):
    """No two plans are alike, and no two residual tensions: what is asked in two processes, or of two revisions, differs."""

    def _plan(self, prompt: str, task: Mapping[str, str], inner: str) -> dict[str, Any]:
        plan, mark = super()._plan(prompt, task, inner), uuid.uuid4().hex[:8]
        plan["date"] = {"text": f"Written as {mark}.", "sources": ["T/T"]}
        return {
            **plan,
            "residuals": [{**CRANE, "initial_state": f"{CRANE['initial_state']} The winch has the number {mark}."}],
        }


def step_of(request: Mapping[str, Any]) -> str:
    """Of which step a request is."""
    text = str(request["messages"])
    return text[text.rindex("<task ") :].partition('step="')[2].partition('"')[0].partition("\\")[0]


def whole(server: MessagesServer) -> list[tuple[str, str, float, float]]:
    """(digest of the request, step, began, ended) of every whole answer without a fault."""
    return [
        (digest(one.request), step_of(one.request), one.began, server.finished[one.number])
        for one in list(server.served)
        if one.fault is None and one.stop_reason == "end_turn" and one.number in server.finished
    ]
