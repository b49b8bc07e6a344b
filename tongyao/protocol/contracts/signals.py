"""Operators' signals as messages (docs/protocol.md §8). Their payload is loose JSON, which may carry a text."""

from __future__ import annotations

import hashlib
from typing import Any, Final, cast

from pydantic import JsonValue

from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import SignalledText
from tongyao.protocol.model.ids import process_text_id
from tongyao.protocol.model.messages import KINDS, Message
from tongyao.protocol.model.process import DEMANDER, TensionRef
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension

Payload = dict[str, JsonValue]

FROM_RELAY: Final = frozenset({"lane", "number", "signature"})
"""Fields of a message that only the relay sets."""


def read_signal(state: State, kind: str, payload: Payload) -> tuple[Message, list[SignalledText]]:
    """A signal as a message, and the texts it carries. Raises for a payload that is no message of this kind.

    What only the relay sets (`FROM_RELAY`) is refused: by it a signal would pass for the person's own message.
    """
    if FROM_RELAY & payload.keys():
        raise ValueError(f"a signal does not carry {', '.join(sorted(FROM_RELAY))}")
    if "\0" in _strings(payload):
        raise ValueError("PostgreSQL stores no NUL character")
    fields: dict[str, Any] = {"author": {"role": "operator"}, **payload}
    texts: list[SignalledText] = []

    def keep(body: str, alias: str, what: str) -> str:
        seat = state.seats.get(alias)
        owner = seat.profile.profile_id if seat is not None and seat.profile is not None else state.start.demander
        content = hashlib.sha256(body.encode()).hexdigest()[:24]
        name = process_text_id(state.process_id, f"{kind}/{alias}/{state.round}/{content}")
        texts.append(SignalledText(text_id=name, owner=owner, kind=what, body=body))
        return name

    if kind in ("submit_projection", "answer_plan") and (text := fields.pop("text", None)):
        fields["text_id"] = keep(text, fields["alias"], "words")
    if kind == "revise_tension":
        parts = cast(dict[str, Any], fields["tension"])
        tension = Tension.model_validate({"language": language_of(str(parts.get("transition", ""))), **parts})
        stored = keep(tension.model_dump_json(), DEMANDER, "tension")
        fields["tension"] = TensionRef(text_id=stored, grade=tension.grade, barriers=len(tension.barriers))
    return KINDS[kind].model_validate(fields), texts


def _strings(value: JsonValue) -> str:
    """Every string in a JSON value, keys included, in one."""
    if isinstance(value, dict):
        return "".join(key + _strings(inner) for key, inner in value.items())
    if isinstance(value, list):
        return "".join(map(_strings, value))
    return value if isinstance(value, str) else ""
