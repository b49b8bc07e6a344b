"""LangGraph with PostgreSQL checkpoints: `python -m bench.peers.langgraph_peer URL REQUESTS DATABASE THREAD COUNT`.

A graph with two nodes: one chooses the next wave, the other makes one call. The calls of a wave are parallel tasks of
one superstep, and the state contains the answers. `durability="sync"`: a checkpoint is stored before the next superstep
begins. In the same way, a Temporal activity is recorded before the next one begins. If it is started again with the
same THREAD, it continues from the checkpoint.
"""

from __future__ import annotations

import asyncio
import operator
import sys
import time
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from bench.peers.calls import Calls


class Room(TypedDict):
    """The state of one run: the number of finished waves, and all answers."""

    wave: int
    answers: Annotated[list[str], operator.add]


class Task(TypedDict):
    wave: int
    index: int


async def main(url: str, requests: Path, database: str, thread: str, count: int) -> None:
    calls = Calls(url, requests)

    async def call(task: Task) -> dict[str, Any]:
        return {"answers": [await calls.answer(task["wave"], task["index"])]}

    def following(room: Room) -> dict[str, Any]:
        return {"wave": room["wave"] + 1}

    def fan_out(room: Room) -> Any:
        wave = room["wave"]
        if wave >= len(calls.waves):
            return END
        return [Send("call", Task(wave=wave, index=index)) for index in range(len(calls.waves[wave]))]

    graph = StateGraph(Room)
    graph.add_node("call", call)
    graph.add_node("next", following)
    graph.add_conditional_edges(START, fan_out, ["call", END])
    graph.add_edge("call", "next")
    graph.add_conditional_edges("next", fan_out, ["call", END])
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(database, min_size=2, max_size=20, kwargs=options) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        compiled = graph.compile(checkpointer=saver)

        async def run(name: str) -> None:
            config = {"configurable": {"thread_id": name}, "recursion_limit": 100}
            begun = (await compiled.aget_state(config)).created_at is not None
            await compiled.ainvoke(None if begun else Room(wave=0, answers=[]), config, durability="sync")

        await calls.warm_up()
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.monotonic()
        await asyncio.gather(*(run(f"{thread}-{number}") for number in range(count)))
        print(f"{time.monotonic() - began:.3f}", flush=True)
        sys.stdin.readline()  # the caller reads the CPU of this process before it ends


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])))
