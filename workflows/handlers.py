"""The message handlers of a process: an update for each kind of message, and one dynamic signal handler
(docs/protocol.md §8).

The relay sends updates with typed messages, whose texts are already stored. Validators refuse messages, and handlers
apply them. Operators send signals (command line, Temporal UI): untyped JSON, which may contain a text. A refused signal
becomes an event. If the start input has a key, both must be signed: the relay signs updates, and `tongyao signal` signs
payloads.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, cast

from pydantic import JsonValue, ValidationError
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():  # compiled code, which the sandbox cannot reload
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tongyao.protocol.contracts.process import REFUSED
from tongyao.protocol.contracts.signatures import NOT_SIGNED, SIGNED, SignalSignature, message_bytes, signal_bytes
from tongyao.protocol.life import machine
from tongyao.protocol.life.machine import KINDS, Kind, open_now
from tongyao.protocol.life.state import State, note
from tongyao.protocol.life.turns import counts_in
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import EventKind, SignalledText
from tongyao.protocol.model.ids import process_text_id
from tongyao.protocol.model.process import DEMANDER, TensionRef
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.refusals import ACCEPTED, MessageVerdict, Refusal

SIGNALS_KEPT: Final = 200
"""Number of recent signals with a key that are remembered, so that a repeated signal is applied once."""

RESUME: Final = "resume"
"""The only signal that is accepted without a signature. Its payload is then not read."""

FROM_RELAY: Final = frozenset({"lane", "number", "signature"})
"""Fields of a message that only the relay sets."""

Payload = dict[str, JsonValue]
"""The JSON object in a signal, which may contain a text."""

UNKNOWN: Final = "unknown"
"""Recorded as the kind of a refused signal if the signal's name is no kind of message. The name itself is not recorded.
"""


class MessageHandlers:
    """Message handlers that change the state and return at once. The workflow sets `state` before any message."""

    state: State
    changed: bool
    heard_at: int
    updates: int

    def _refuse(self, message: m.Message) -> None:
        """Raise the refusal, with its verdict, if a message may not be applied and was not applied before."""
        key = self.state.start.signal_key
        if key and not _is_by(key, message.signature, message_bytes(self.state.process_id, message)):
            raise ApplicationError(
                "the message is not signed by this installation", type=NOT_SIGNED, non_retryable=True
            )
        if machine.repeated(self.state, message):
            return
        if (code := machine.refuse(self.state, message)) is not None:
            verdict = MessageVerdict.refused(code, open_now(self.state, message))
            raise ApplicationError(verdict.en, verdict.model_dump(), type=REFUSED, non_retryable=True)

    def _apply(self, message: m.Message) -> MessageVerdict:
        """Apply a message that its validator accepted. The rules are not checked again, so that replays agree."""
        self.updates += 1
        self.heard_at = workflow.info().get_current_history_length()
        if machine.repeated(self.state, message):
            return ACCEPTED.model_copy(update={"repeated": True})
        counts = counts_in(self.state)
        later = counts if isinstance(message, m.SubmitProjection) and counts > message.round else 0
        machine.hear(self.state, message, workflow.now())
        self.changed = True
        return ACCEPTED.model_copy(update={"round": later}) if later else ACCEPTED

    @workflow.signal(dynamic=True)
    def signal(self, kind: str, payloads: Sequence[RawValue]) -> None:
        """Apply the signal, or note why it was refused. No payload raises an error."""
        self.changed = True
        if (code := self._hear_signal(kind, payloads)) is not None:
            known = kind if kind in KINDS else UNKNOWN
            note(self.state, EventKind.MESSAGE_REFUSED, workflow.now(), message=known, code=code.value)

    def _hear_signal(self, kind: str, payloads: Sequence[RawValue]) -> Refusal | None:
        state = self.state
        try:
            payload = _only(payloads)
            if state.start.signal_key:
                signed = self._is_signed(kind, payload)
                if not signed and kind != RESUME:
                    return Refusal.NOT_SIGNED
                payload = {name: value for name, value in payload.items() if name != SIGNED} if signed else {}
            message, texts = read_signal(state, kind, payload)
            digest = hashlib.sha256(json.dumps([kind, payload], sort_keys=True).encode()).hexdigest()[:16]
        except Exception:  # whatever error the parser raises, the payload cannot be read
            return Refusal.NOT_TRUSTED
        if message.key and digest in state.signals:
            return None
        if (code := machine.refuse(state, message)) is not None:
            return code
        if message.key:
            state.signals = [*state.signals, digest][-SIGNALS_KEPT:]
        state.signalled += texts
        machine.hear(state, message, workflow.now())
        return None

    def _is_signed(self, kind: str, payload: Payload) -> bool:
        """Whether a signal has a valid signature that was not used before. The signature then counts as used."""
        now, nonces = workflow.now(), self.state.nonces
        signed = _signature_of_signal(self.state.start.signal_key, self.state.process_id, kind, payload)
        if signed is None or signed.nonce in nonces or not signed.stands_at(now):
            return False
        taken = {**nonces, signed.nonce: signed.expires}
        self.state.nonces = {nonce: until for nonce, until in taken.items() if until > now.timestamp()}
        return True


def read_signal(state: State, kind: str, payload: Payload) -> tuple[m.Message, list[SignalledText]]:
    """Return a signal as a message, with the texts that it contains. Raises an error if the payload is no message of
    this kind.

    Fields that only the relay sets (`FROM_RELAY`) are refused, because with them a signal could pass as a person's own
    message.
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
    return m.KINDS[kind].model_validate(fields), texts


def _strings(value: JsonValue) -> str:
    """Return all strings in a JSON value, including keys, joined."""
    if isinstance(value, dict):
        return "".join(key + _strings(inner) for key, inner in value.items())
    if isinstance(value, list):
        return "".join(map(_strings, value))
    return value if isinstance(value, str) else ""


def _only(payloads: Sequence[RawValue]) -> Payload:
    """Return the single JSON object of a signal. Raises `ValueError`, and the errors of the payload converter."""
    [raw] = payloads
    payload = workflow.payload_converter().from_payload(raw.payload)
    if not isinstance(payload, dict):
        raise ValueError("the payload of a signal is a JSON object")
    return payload


def _signature_of_signal(public_key: str, process_id: str, kind: str, payload: Payload) -> SignalSignature | None:
    """Return the signature of a signal if it is valid for process, kind and payload, or None. Ignores expiry."""
    try:
        signed = SignalSignature.model_validate(payload.get(SIGNED))
        data = signal_bytes(process_id, kind, payload, signed.nonce, signed.expires)
    except (ValidationError, ValueError, RecursionError):
        return None
    return signed if _is_by(public_key, signed.signature, data) else None


def _is_by(public_key: str, signature: str, data: bytes) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(signature, validate=True), data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _add_update(name: str, kind: Kind) -> None:
    """Add the update of one kind, with its validator, to `MessageHandlers`."""

    def handle(self: MessageHandlers, message: m.Message) -> MessageVerdict:
        return self._apply(message)

    def validate(self: MessageHandlers, message: m.Message) -> None:
        self._refuse(message)

    handle.__annotations__ = {"message": kind.type, "return": MessageVerdict}
    validate.__annotations__ = {"message": kind.type, "return": None}
    update = workflow.update(name=name, description=kind.description)(handle)
    update.validator(validate)
    setattr(MessageHandlers, name, update)


for _name, _kind in KINDS.items():
    _add_update(_name, _kind)
