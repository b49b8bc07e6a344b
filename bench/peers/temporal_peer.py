"""A bare Temporal workflow: `python -m bench.peers.temporal_peer URL REQUESTS ADDRESS ID COUNT`.

There is one activity per call, and the activities of a wave run in parallel. The answers are results of activities, so
the history contains them. If it is started again with the same ID, the worker continues the open workflows.
"""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from bench.peers.calls import Calls

QUEUE = "bench-peers"


@workflow.defn
class Room:
    """Makes the calls wave by wave. `waves`: the number of calls of each wave."""

    @workflow.run
    async def run(self, waves: list[int]) -> int:
        answers: list[str] = []
        for wave, size in enumerate(waves):
            tasks = [
                workflow.start_activity(
                    "answer",
                    args=[wave, index],
                    result_type=str,
                    start_to_close_timeout=timedelta(seconds=60),
                    heartbeat_timeout=timedelta(seconds=10),
                )
                for index in range(size)
            ]
            answers += [await task for task in tasks]
        return len(answers)


async def main(url: str, requests: Path, address: str, name: str, count: int) -> None:
    calls = Calls(url, requests)

    @activity.defn(name="answer")
    async def answer(wave: int, index: int) -> str:
        return await calls.answer(wave, index)

    client = await Client.connect(address)
    sizes = [len(wave) for wave in calls.waves]
    async with Worker(
        client, task_queue=QUEUE, workflows=[Room], activities=[answer], max_concurrent_activities=1200,
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):  # fmt: skip
        await calls.warm_up()
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.monotonic()
        await asyncio.gather(
            *(
                client.execute_workflow(
                    Room.run, sizes, id=f"{name}-{number}", task_queue=QUEUE,
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                )
                for number in range(count)
            )
        )  # fmt: skip
        print(f"{time.monotonic() - began:.3f}", flush=True)
        sys.stdin.readline()  # the caller reads the CPU of this process before it ends


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])))
