"""Operators' signals as messages (docs/protocol.md §8). Their payload is loose JSON, which may carry a text."""

from __future__ import annotations

import hashlib
from typing import Any, cast

from pydantic import JsonValue

from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import SignalledText
from tongyao.protocol.model.messages import MESSAGE, Message
from tongyao.protocol.model.process import DEMANDER, TensionRef
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.text_ids import process_text_id

Payload = dict[str, JsonValue]


def read_signal(state: State, kind: str, payload: Payload) -> tuple[Message, list[SignalledText]]:
    """A signal as a message, and the texts it carries. Raises `ValueError` (`ValidationError` among them), `TypeError`."""
    fields: dict[str, Any] = {"author": {"role": "operator"}, **payload, "kind": kind}
    texts: list[SignalledText] = []

    def keep(body: str, alias: str, what: str) -> str:
        seat = state.seats.get(alias)
        owner = seat.profile.profile_id if seat is not None and seat.profile is not None else state.start.demander
        content = hashlib.sha256(body.encode()).hexdigest()[:24]
        name = process_text_id(state.process_id, f"{kind}/{alias}/{state.round}/{content}")
        texts.append(SignalledText(text_id=name, owner=owner, kind=what, body=body))
        return name

    if kind in ("submit_projection", "answer_plan") and (text := fields.pop("text", None)):
        fields["text_id"] = keep(str(text), str(fields.get("alias", "")), "words")
    if kind == "revise_tension" and "tension" in fields:
        parts = cast(dict[str, Any], fields["tension"])
        tension = Tension.model_validate({"language": language_of(str(parts.get("transition", ""))), **parts})
        stored = keep(tension.model_dump_json(), DEMANDER, "tension")
        fields["tension"] = TensionRef(text_id=stored, grade=tension.grade, barriers=len(tension.barriers))
    return MESSAGE.validate_python(fields), texts
