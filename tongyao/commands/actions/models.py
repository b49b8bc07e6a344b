"""What `cost`, `estimate`, `prompts`, `record` do: what models were told, what they answered, what it cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from rich.table import Table

from tongyao.commands.shared.common import records_context
from tongyao.commands.shared.terminal import console, print_json
from tongyao.commands.shared.words import say
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.repositories import Repositories

Group = Literal["process", "step", "model", "day"]


async def cost(by: tuple[Group, ...], process: str | None, as_json: bool) -> None:
    async with records_context() as context:
        rows = await context.repositories.ledger.totals(by, process_id=process)
    if as_json:
        print_json([row.model_dump(mode="json", exclude_none=True) for row in rows])
        return
    columns = (*by, "calls", "failed", "orphaned", "input", "cache_written", "cache_read", "output")
    table = Table(*(say(f"models.{name}") for name in columns), "$", box=None)
    for row in rows:
        key = {"process": row.process_id, "step": row.step, "model": row.model or say("models.none"), "day": row.day}
        dollars = f"{row.cost:.4f}" if row.cost_known else say("models.or_more", cost=f"{row.cost:.4f}")
        counts = (row.calls, row.failed, row.orphaned, row.input_tokens, row.cache_write_tokens, row.cache_read_tokens,
                  row.output_tokens)  # fmt: skip
        table.add_row(*(str(key[one]) for one in by), *(f"{count:,}" for count in counts), dollars)
    console.print(table)


async def record(process: str, to: Path) -> int:
    async with records_context() as context:
        return await write_record(context.repositories, process, to)


async def write_record(repositories: Repositories, process: str, to: Path) -> int:
    """Write a recording of the settled answers of a process; returns how many there are."""
    from tongyao.llm.engine import CallKey
    from tongyao.llm.recorded import Row, Tokens, write_recording

    await repositories.processes.get(process)
    rows = []
    for call in await repositories.ledger.calls(process):
        key = CallKey(process, call.step, call.round, call.alias, call.revision, call.reask)
        settled = await repositories.ledger.settled(key, call.input_hash) if call.state == "settled" else None
        if settled is None:
            continue
        counted = settled.model_dump(include=set(Row.model_fields) - {"draft"})
        usage = Tokens(**settled.model_dump(include=set(Tokens.model_fields)))
        rows.append(Row.model_validate({**counted, "draft": json.loads(settled.draft_json), "usage": usage}))
    seats = [seat.person for seat in await repositories.seats.seats(process) if seat.alias != DEMANDER]
    return write_recording(rows, to, title=process, seats=seats)
