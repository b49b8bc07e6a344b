"""Commands that act on more than one process say with `--dry-run` what they would do, and change nothing (docs/operations.md §3)."""

from __future__ import annotations

import json

from tests.commands.command_line import room, tongyao
from tests.support.stack import Stack
from tongyao.records.database import session
from tongyao.records.privacy.erasure import Erasing


async def test_reconcile_says_what_it_would_repair(stack: Stack) -> None:
    process, _ = await room(stack)
    await stack.handle(process).terminate()
    [person] = await stack.people({"dee": "I keep tide tables."})
    await Erasing(stack.repositories.pool).begin(person)
    async with session(stack.repositories.pool) as connection:
        await connection.execute("UPDATE processes SET updated_at = now() - interval '1 hour'")

    told = await tongyao("reconcile", "--dry-run", "--json")
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["ended_outside"] == [process] and found["erased"] == [person]
    assert (await stack.repositories.processes.get(process)).ended_at is None
    assert await Erasing(stack.repositories.pool).unfinished() == [person]

    done = await tongyao("reconcile")
    assert done.exit_code == 0, done.output
    assert (await stack.repositories.processes.get(process)).phase == "cancelled"
    assert await Erasing(stack.repositories.pool).unfinished() == []


async def test_an_erasure_says_which_processes_it_would_touch(stack: Stack) -> None:
    process, _ = await room(stack)
    [ada] = [one.person for one in await stack.repositories.seats.seats(process) if one.person.startswith("ada")]
    demander = (await stack.repositories.processes.get(process)).demander

    seated = await tongyao("erase", ada, "--dry-run", "--json")
    assert seated.exit_code == 0, seated.output
    assert json.loads(seated.stdout) == {"person": ada, "left": [process], "cancelled": [], "ended": 0}
    asked = await tongyao("erase", demander, "--dry-run", "--json")
    assert json.loads(asked.stdout)["cancelled"] == [process]
    assert (await tongyao("erase", "nobody", "--dry-run")).exit_code != 0

    assert await Erasing(stack.repositories.pool).unfinished() == []
    assert (await stack.repositories.processes.get(process)).phase == "crystallizing"


async def test_cancel_lists_what_it_would_cancel(stack: Stack) -> None:
    process, _ = await room(stack)
    for options in ([], ["--branch"]):
        told = await tongyao("cancel", process, "--dry-run", *options)
        assert told.exit_code == 0, told.output
        assert told.stdout.splitlines() == [f"{process}  crystallizing  would be cancelled", "(nothing was changed)"]
    assert (await stack.repositories.processes.get(process)).ended_at is None
