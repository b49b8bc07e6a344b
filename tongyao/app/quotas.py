"""How much one person may keep here: open processes, versions of a profile, tokens, characters. Operators have no quotas."""

from __future__ import annotations

from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import QuotaReached


async def check_open_processes(context: AppContext, caller: Caller, demander: str) -> None:
    """Raises `QuotaReached` where another process would be too many."""
    most = context.options.most_open_processes
    if caller.operator:
        return
    if await context.repositories.processes.count_open(demander) >= most:
        raise QuotaReached(
            "too_many_processes", f"you have {most} open processes: end one (`cancel`) before you start another"
        )


async def check_profile(context: AppContext, caller: Caller, profile_id: str, *, versions: int, chars: int) -> None:
    """`versions`: there are now; `chars`: of the next one. Raises `QuotaReached`."""
    most = context.options.most_versions
    if not caller.operator and versions >= most:
        raise QuotaReached("too_many_versions", f"this profile has {most} versions, and there are no more")
    await check_storage(context, caller, profile_id, chars=chars)


async def check_storage(context: AppContext, caller: Caller, person: str, *, chars: int) -> None:
    """`chars`: to be stored beside what is kept of this person. Raises `QuotaReached`."""
    most = context.options.most_stored_chars
    if caller.operator or not chars:
        return
    if await context.repositories.texts.stored_chars(person) + chars > most:
        raise QuotaReached("storage_full", f"at most {most:,} characters are kept of one person")


async def check_tokens(context: AppContext, caller: Caller, person: str) -> None:
    """Raises `QuotaReached` where another token would be too many."""
    most = context.options.most_tokens
    if caller.operator:
        return
    good = [
        one for one in await context.repositories.tokens.list(person=person) if not one.expired and not one.revoked_at
    ]
    if len(good) >= most:
        raise QuotaReached("too_many_tokens", f"you have {most} tokens: revoke one (`DELETE /tokens/{{id}}`)")
