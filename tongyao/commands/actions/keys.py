"""What `keys` does: which master keys are in use, a new one, and when an old one can go (docs/erasure.md)."""

from __future__ import annotations

from datetime import timedelta

from temporalio.client import Client

from tongyao.commands.actions.field_index import records
from tongyao.commands.context import app_context
from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_REFUSED, console, fail
from tongyao.commands.words import say
from tongyao.records.privacy import master_keys
from tongyao.records.privacy.keys import keep_first, put_in_front
from tongyao.records.privacy.master_keys import MasterKeyUse
from tongyao.runtime.master_key import key_file, keyring

MARGIN = timedelta(hours=1)
"""How long after a new key's first use a worker may still have written with the one before: a rolling restart."""


async def rotate(dry_run: bool) -> None:
    async with records() as (settings, repositories):
        path, given = key_file(settings), keyring(settings)
        own = settings.master_key is None
        if not own and len(given.ids) == 1:
            fail(say("keys.one_key"), EXIT_BAD_INPUT)
        if dry_run:
            uses = await master_keys.uses(repositories.pool, given)
            wrapped = sum(use.data_keys for use in (uses if own else uses[1:]))
            console.print(say("keys.would_wrap_own" if own else "keys.would_wrap", n=wrapped, path=path))
            return
        if own:
            put_in_front(path)
        count = await master_keys.rewrap(repositories.pool, keyring(settings))
    console.print(say("keys.wrapped", n=count), highlight=False)
    console.print(say("keys.stay" if own else "keys.keep", path=path))


async def retire(dry_run: bool) -> None:
    uses, runs = await key_uses()
    needed = sum(use.data_keys for use in uses[1:])
    if len(uses) == 1:
        console.print(say("keys.no_older"))
        return
    if needed:
        fail(say("keys.still_wrapped", n=needed), EXIT_REFUSED)
    if runs:
        fail(say("keys.still_needed", n=runs), EXIT_REFUSED)
    async with records() as (settings, _):
        older = ", ".join(use.id for use in uses[1:])
        if settings.master_key is not None:
            console.print(say("keys.take_out", older=older), highlight=False)
        elif dry_run:
            console.print(say("keys.would_remove", older=older, path=key_file(settings)), highlight=False)
        else:
            keep_first(key_file(settings))
            console.print(say("keys.removed", older=older, path=key_file(settings)), highlight=False)


async def key_uses() -> tuple[list[MasterKeyUse], int]:
    """The keys that are given, and how many runs in Temporal began before the active one was in use everywhere."""
    async with records() as (settings, repositories):
        uses = await master_keys.uses(repositories.pool, keyring(settings))
    if len(uses) == 1:
        return uses, 0
    async with app_context() as context:
        return uses, await _runs_before(context.client, uses[0])


async def _runs_before(client: Client, active: MasterKeyUse) -> int:
    if active.first_used is None:
        return (await client.count_workflows()).count
    until = (active.first_used + MARGIN).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (await client.count_workflows(f"StartTime < '{until}'")).count
