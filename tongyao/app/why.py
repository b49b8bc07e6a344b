"""The reasons why a process waits, read from the workflow and shown to each party as far as permitted."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from temporalio.client import Client
from temporalio.service import RPCError

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, ProcessAccess, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import Unavailable
from tongyao.app.operators.project_again import state_of
from tongyao.app.operators.task_queues import read_roles
from tongyao.protocol.contracts.process import PROCESS_QUEUE, queue_of
from tongyao.protocol.life.asks import words
from tongyao.protocol.life.state import State
from tongyao.protocol.life.why import WaitReason, others_are_waited_for_until, waited_for, why, why_for_party
from tongyao.protocol.model.requests import known_language
from tongyao.protocol.model.value import Value
from tongyao.texts.catalogue import catalogue, worded


class Why(Value):
    """`sentence`: the answer, in the language of the process. `until`: the latest date until which the process waits
    for others. None without a date, or if it waits for the reader. `reasons`: for operators, with aliases."""

    sentence: str
    until: datetime | None = None
    reasons: tuple[WaitReason, ...] = ()


async def read_why(context: AppContext, caller: Caller, process_id: str, *, language: str = "") -> Why:
    """Like `why_for`, for a caller."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_PROCESS)
    return await why_for(context, access, language=language)


async def why_for(context: AppContext, access: ProcessAccess, *, language: str = "") -> Why:
    """`language`: by default that of the process. Operators also read which roles have no worker.

    Raises `NotFound` if the process has no workflow, `Unavailable` if no worker answers.
    """
    process_id = access.process.id
    language = language or access.process.language
    if access.process.ended_at is not None:
        return Why(sentence=worded(catalogue("app"), language, "picture.ended"))
    if access.role is not Role.OPERATOR:  # many people read one process, so the state is cached
        transition = (process_id, access.process.run_id, access.process.seq)
        state = await context.states.get(transition, lambda: _state(context, process_id))
        return Why(
            sentence=why_for_party(state, access.alias, language),
            until=others_are_waited_for_until(state, access.alias),
        )
    try:
        state, _ = await state_of(context.client, process_id)
    except Unavailable as error:
        if missing := await _missing(context.client, {PROCESS_QUEUE}):
            raise Unavailable("no_worker", "; ".join(missing)) from error
        raise
    missing = await _missing(context.client, {queue_of(step.contract) for step in waited_for(state).values()})
    spoken = known_language(language)
    reasons = (
        *(WaitReason(waits_for=words("why.worker", spoken), moved_by=role, language=spoken) for role in missing),
        *why(state, datetime.now(UTC), spoken),
    )
    return Why(sentence=" ".join(reason.sentence for reason in reasons), reasons=reasons)


async def _state(context: AppContext, process_id: str) -> State:
    return (await state_of(context.client, process_id))[0]


async def _missing(client: Client, queues: Collection[str]) -> list[str]:
    """Return advice for each role that has no worker on its queue. Empty if the server does not answer."""
    try:
        return [role.missing for role in await read_roles(client, sorted(queues)) if role.missing]
    except RPCError:
        return []
