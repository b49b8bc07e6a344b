"""What `cost`, `estimate`, `prompts`, `record` do: what models were told, what they answered, what it cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from rich.table import Table

from tongyao.commands.context import records_context
from tongyao.commands.terminal import console, print_json
from tongyao.commands.words import say
from tongyao.protocol.model.process import DEMANDER

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
    from tongyao.llm.engine import CallKey
    from tongyao.llm.recorded import Row, Tokens, write_recording

    async with records_context() as context:
        await context.repositories.processes.get(process)
        rows = []
        for call in await context.repositories.ledger.calls(process):
            key = CallKey(process, call.step, call.round, call.alias, call.revision, call.reask)
            settled = (
                await context.repositories.ledger.settled(key, call.input_hash) if call.state == "settled" else None
            )
            if settled is None:
                continue
            counted = settled.model_dump(include=set(Row.model_fields) - {"draft"})
            usage = Tokens(**settled.model_dump(include=set(Tokens.model_fields)))
            rows.append(Row.model_validate({**counted, "draft": json.loads(settled.draft_json), "usage": usage}))
        seats = [seat.person for seat in await context.repositories.seats.seats(process) if seat.alias != DEMANDER]
        return write_recording(rows, to, title=process, seats=seats)
