"""Quotas of one person: open processes, versions of a profile, tokens, characters, and model calls of a day.

Operators have no quotas. The day budget applies to them too, except on the machine. A check that counts rows must be in
the block of `writing` that stores the next row. Otherwise two concurrent requests could both pass the check.
"""

from __future__ import annotations

from collections.abc import Iterable

from temporalio.client import Client
from temporalio.service import RPCError

from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import QuotaReached, Unavailable
from tongyao.app.operators.task_queues import describe_queue
from tongyao.protocol.contracts.process import MODELS_QUEUE
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind


async def check_open_processes(context: AppContext, caller: Caller, demander: str) -> None:
    """Raises `QuotaReached` if the demander already has as many open processes as permitted."""
    most = context.options.most_open_processes
    if caller.operator:
        return
    if await context.repositories.processes.count_open(demander) >= most:
        raise QuotaReached(
            "too_many_processes", f"you have {most} open processes: end one (`cancel`) before you start another"
        )


async def check_chosen(context: AppContext, caller: Caller, demander: str, choices: Iterable[Choice]) -> None:
    """Limit how often a person is chosen as `human` or `agent`, to protect their inbox. Raises `QuotaReached`."""
    by_hand = [choice.profile_id for choice in choices if choice.endpoint is not EndpointKind.PROXY]
    if caller.on_the_machine or not by_hand:
        return
    quotas = context.consent_quotas
    if full := await context.repositories.consents.chosen_too_often(demander, by_hand, quotas, announced=True):
        raise QuotaReached(
            "chosen_too_often",
            f"{', '.join(full)} cannot be chosen as human or agent now. One person can be chosen in this way at most {quotas.chosen_per_day} "
            f"times a day, {quotas.chosen_pair_per_day} times a day by one demander, and not while {quotas.most_turns} turns wait for them. "
            "Choose somebody else, ask for their proxy, or try again tomorrow",
        )


async def check_profile(context: AppContext, caller: Caller, profile_id: str, *, chars: int) -> None:
    """Raises `QuotaReached` if a version of `chars` characters would exceed the limit of versions or of stored
    texts."""
    most = context.options.most_versions
    known = await context.repositories.profiles.known([profile_id])
    if not caller.operator and known.get(profile_id, 0) >= most:
        raise QuotaReached("too_many_versions", f"this profile has reached the limit of {most} versions")
    await check_storage(context, caller, profile_id, chars=chars)


async def check_storage(context: AppContext, caller: Caller, person: str, *, chars: int) -> None:
    """Raises `QuotaReached` if `chars` further characters would exceed the limit of the person's stored texts."""
    most = context.options.most_stored_chars
    if caller.operator or not chars:
        return
    if await context.repositories.texts.stored_chars(person) + chars > most:
        raise QuotaReached("storage_full", f"at most {most:,} characters are stored for one person")


async def check_tokens(context: AppContext, caller: Caller, person: str) -> None:
    """Raises `QuotaReached` if the person has as many tokens as permitted. Sessions and personal links do not count."""
    most = context.options.most_tokens
    if caller.operator:
        return
    tokens = await context.repositories.tokens.list(person=person)
    good = [token for token in tokens if token.kind == "bearer" and not token.expired and not token.revoked_at]
    if len(good) >= most:
        raise QuotaReached("too_many_tokens", f"you have {most} tokens: revoke one (`DELETE /tokens/{{id}}`)")


async def check_day_budget(context: AppContext, caller: Caller, demander: str) -> None:
    """Raises `QuotaReached` if a day budget (UTC) for model calls is used up."""
    if caller.on_the_machine:
        return
    budgets = context.day_budgets
    used = await context.repositories.ledger.used_today(demander)
    match used.over(budgets, person=True):
        case "installation":
            raise QuotaReached(
                "day_budget_of_installation",
                "this installation has used its budget of model calls for today: start again tomorrow (UTC)",
            )
        case "person":
            raise QuotaReached(
                "day_budget_of_person",
                f"your processes have used ${used.person_cost:.2f} of ${budgets.person_cost:.2f}, and {used.person_tokens:,} of "
                f"{budgets.person_tokens:,} tokens, of model calls today: start again tomorrow (UTC)",
            )


async def oldest_model_step(client: Client) -> float:
    """Return the seconds for which the oldest model step has waited for a worker. 0 if no step waits. Also 0 if the
    server does not answer, because then the start itself fails or waits (docs/operations.md §8)."""
    try:
        return (await describe_queue(client, MODELS_QUEUE, seconds=2.0)).waiting_seconds
    except RPCError:
        return 0.0


async def check_backlog(context: AppContext, caller: Caller) -> None:
    """Refuse a new process while model steps wait too long. Commands on the machine are not refused.

    Raises `Unavailable`; nothing was stored.
    """
    if caller.on_the_machine:
        return
    age = await context.backlog_seconds.get("models", lambda: oldest_model_step(context.client))
    if age > context.options.most_backlog_seconds:
        raise Unavailable(
            "busy",
            f"work has waited for a model for {round(age / 60) or 1} minutes, and running processes go first: nothing was started or "
            "stored. Try again later, under the same key",
        )
