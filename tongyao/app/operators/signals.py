"""Signed payloads of signals for the `temporal` command line and the Temporal UI (docs/operations.md §6)."""

from __future__ import annotations

import secrets
import time
from datetime import timedelta
from typing import Any, Final

from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.app.people.acting import tell_spoken_for
from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.contracts.signatures import LONGEST_SECONDS, SIGNED, SignalSignature
from tongyao.protocol.model.ids import ask_id
from tongyao.protocol.model.messages import KINDS
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.process.announcements import START
from tongyao.records.process.processes import ProcessRow

DEFAULT_LIFETIME: Final = timedelta(hours=1)


async def signed_payload(
    context: AppContext,
    caller: Caller,
    process_id: str,
    kind: str,
    payload: dict[str, Any],
    *,
    lifetime: timedelta = DEFAULT_LIFETIME,
) -> dict[str, Any]:
    """Return `payload` with a signature under `signed`, which is valid for one signal of this kind to this process.

    If processes accept unsigned signals, `payload` is returned unchanged. If the signal speaks for a person, that
    person is notified. Raises `BadInput`, `ProcessUnknown`.
    """
    if kind not in KINDS:
        raise BadInput("unknown_kind", f"{kind!r} is not a message; the messages are {', '.join(sorted(KINDS))}")
    if SIGNED in payload:
        raise BadInput("signed_already", f"leave {SIGNED!r} out of the payload: it is added here")
    if not 0 < lifetime.total_seconds() < LONGEST_SECONDS:
        raise BadInput("lifetime", f"a signature is valid for {LONGEST_SECONDS // 3600} hours at most")
    row = await context.repositories.processes.get(process_id)
    start = ProcessInput.model_validate((await context.repositories.seats.manifest(row.id))[START])
    if not start.signal_key or context.signer is None:
        await tell_spoken_for(context, caller, await _speaker(context, row, payload), kind, process_id=row.id)
        return payload
    if await context.signer.public_key() != start.signal_key:
        raise BadInput("another_key", "this process was started by an installation with another signing key")
    nonce, expires = secrets.token_urlsafe(18), int(time.time() + lifetime.total_seconds())
    try:
        signature = await context.signer.signal_signature(process_id, kind, payload, nonce, expires)
    except ValueError as error:
        raise BadInput("payload", f"the payload is not JSON: {error}") from None
    await tell_spoken_for(context, caller, await _speaker(context, row, payload), kind, process_id=row.id)
    signed = SignalSignature(nonce=nonce, expires=expires, signature=signature)
    return {**payload, SIGNED: signed.model_dump()}


async def _speaker(context: AppContext, row: ProcessRow, payload: dict[str, Any]) -> str:
    """Return the person for whom this message speaks. Empty if there is none."""
    if (number := payload.get("invitation")) is not None:
        asked = await context.repositories.inbox.get(row.id, ask_id("consent", number))
        return asked.person or "" if asked is not None else ""
    alias = payload.get("alias", DEMANDER)
    seats = await context.repositories.seats.seats(row.id)
    return next((seat.person for seat in seats if seat.alias == alias), row.demander if alias == DEMANDER else "")
