"""What a process waits for: asked of the workflow itself, told to each party as far as it may know."""

from __future__ import annotations

from datetime import UTC, datetime

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.operators.project_again import state_of
from tongyao.protocol.life.why import Reason, why, why_for_party
from tongyao.protocol.model.value import Value


class Why(Value):
    """`sentence`: for whoever asks, in the language of the process. `reasons`: for operators, with aliases."""

    sentence: str
    reasons: tuple[Reason, ...] = ()


async def read_why(context: AppContext, caller: Caller, process_id: str, *, language: str = "") -> Why:
    """`language`: by default that of the process. Raises `NotFound` for a process without a workflow, `Unavailable` where no worker answers."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_PROCESS)
    language = language or access.process.language
    if access.process.ended_at is not None:
        return Why(sentence="过程已经结束。" if language == "zh" else "The process has ended.")
    state, _ = await state_of(context.client, process_id)
    now = datetime.now(UTC)
    if access.role is not Role.OPERATOR:
        return Why(sentence=why_for_party(state, now, access.alias, language))
    reasons = tuple(why(state, now))
    return Why(sentence=" ".join(reason.sentence for reason in reasons), reasons=reasons)
