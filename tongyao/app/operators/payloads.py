"""Decrypts Temporal payloads for operators, through the codec endpoint of the gateway (docs/temporal.md §3)."""

from __future__ import annotations

from collections.abc import Sequence

from temporalio.api.common.v1 import Payload

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, Unavailable
from tongyao.records.privacy.keys import BadKey, KeyMissing


async def decode_payloads(
    context: AppContext, caller: Caller, payloads: Sequence[Payload], *, via: str
) -> list[Payload]:
    """Return the decrypted payloads; others are unchanged. First, the caller is written to the operators' log.

    Raises `NotAllowed`, `BadInput` if a payload cannot be decrypted, `Unavailable` if its master key is missing.
    """
    permit(caller, Action.DECODE_PAYLOADS)
    codec = context.client.data_converter.payload_codec
    if codec is None or not payloads:
        return list(payloads)
    await context.repositories.operators.note_decoded(len(payloads), login=caller.login or caller.id, via=via)
    try:
        return await codec.decode(payloads)
    except KeyMissing as error:
        raise Unavailable("key_missing", str(error)) from None
    except BadKey as error:
        raise BadInput("payload_unreadable", str(error), field="payloads") from None


async def encode_payloads(context: AppContext, caller: Caller, payloads: Sequence[Payload]) -> list[Payload]:
    """Return the payloads encrypted for Temporal, for signals that operators send by hand. Raises `NotAllowed`."""
    permit(caller, Action.DECODE_PAYLOADS)
    codec = context.client.data_converter.payload_codec
    return list(payloads) if codec is None else await codec.encode(payloads)
