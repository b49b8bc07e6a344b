"""The operators' view of an installation: states and figures without texts of people, and the payloads
of Temporal that they decode.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from temporalio.api.common.v1 import Payload

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, Unavailable
from tongyao.protocol.model.value import Value
from tongyao.records.backlog import Backlog, read_backlog
from tongyao.records.database import one_snapshot
from tongyao.records.operators_overview import (
    CallsInWait,
    ChannelFigures,
    FailureCount,
    ProcessLine,
    ProcessState,
    StateCounts,
    StepFigures,
    SuspendedProcess,
)
from tongyao.records.privacy.keys import BadKey, KeyMissing

HOURS: Final = 24
"""Hours that the figures cover."""


class Suspension(Value):
    """A cause of suspension, with suspended processes. `held`: the number of all suspended processes, including
    processes that are not listed.

    `mendable`: whether `resume` is needed after the repair. Other causes end by themselves.
    """

    code: str
    held: int
    mendable: bool
    processes: tuple[SuspendedProcess, ...]


class Operations(Value):
    """The overview. `waiting` and `failed` contain only the first lines of these lists."""

    counts: StateCounts
    suspensions: tuple[Suspension, ...]
    waiting: tuple[ProcessLine, ...]
    failed: tuple[ProcessLine, ...]
    steps: tuple[StepFigures, ...]
    waiting_calls: CallsInWait
    failures: tuple[FailureCount, ...]
    channels: tuple[ChannelFigures, ...]
    backlog: Backlog


async def read_operations(context: AppContext, caller: Caller) -> Operations:
    """Return the overview, read in one database snapshot. Raises `NotAllowed` for callers who are not operators."""
    permit(caller, Action.READ_OPERATIONS)
    overview = context.repositories.overview
    async with one_snapshot(context.repositories.pool):
        return Operations(
            counts=await overview.counts(hours=HOURS),
            suspensions=_by_cause(await overview.suspended()),
            waiting=tuple(await overview.lines("waiting", limit=10)),
            failed=tuple(await overview.lines("failed", limit=10, hours=HOURS)),
            steps=tuple(await overview.steps(hours=HOURS)),
            waiting_calls=await overview.waiting_calls(),
            failures=tuple(await overview.failures(hours=HOURS)),
            channels=tuple(await overview.channels(hours=HOURS)),
            backlog=await read_backlog(context.repositories.pool),
        )


async def read_processes_in(context: AppContext, caller: Caller, state: ProcessState) -> list[ProcessLine]:
    """Return the 200 oldest processes in this state, or for `failed` the 200 newest. Raises `NotAllowed`."""
    permit(caller, Action.READ_OPERATIONS)
    return await context.repositories.overview.lines(state, limit=200)


def _by_cause(rows: Sequence[SuspendedProcess]) -> tuple[Suspension, ...]:
    """Group the rows by cause. They are already sorted by cause."""
    grouped = [(code, tuple(held)) for code, held in groupby(rows, key=lambda row: row.code)]
    return tuple(
        Suspension(
            code=code,
            held=held[0].held,
            mendable=any(row.kind != "infrastructure" for row in held),
            processes=held,
        )
        for code, held in grouped
    )


async def decode_payloads(
    context: AppContext, caller: Caller, payloads: Sequence[Payload], *, via: str
) -> list[Payload]:
    """Return the decrypted payloads. Payloads that are not encrypted are unchanged. First, the caller is written to the operators' log.

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
