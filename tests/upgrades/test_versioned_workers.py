"""Our unversioned workers beside workers that Temporal versions (AUTO_UPGRADE): who gets the tasks (docs/operations.md §5)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
from temporalio import workflow
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerDeploymentConfig

from tests.support.until import until
from tongyao.commands.doctor import CheckState, versions_row
from tongyao.runtime.temporal.namespaces import ensure_namespace
from tongyao.runtime.temporal.workers import DEPLOYMENT

QUEUE = "versioned"


@workflow.defn(name="Steps")
class Steps:
    """Ends after two signals; each is a workflow task at least."""

    def __init__(self) -> None:
        self.signals = 0

    @workflow.signal
    def step(self) -> None:
        self.signals += 1

    @workflow.query
    def seen(self) -> int:
        return self.signals

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: self.signals >= 2)


@pytest.fixture
async def client(temporal: Client) -> Client:
    address = temporal.service_client.config.target_host
    client = await Client.connect(address, namespace=f"versions-{uuid.uuid4().hex[:8]}")
    await ensure_namespace(client)
    return client


@asynccontextmanager
async def worker(client: Client, identity: str, *, versioned: bool) -> AsyncIterator[None]:
    """A worker that reports a build as ours do, versioned by Temporal or not."""
    config = WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(DEPLOYMENT, identity),
        use_worker_versioning=versioned,
        default_versioning_behavior=VersioningBehavior.AUTO_UPGRADE if versioned else VersioningBehavior.UNSPECIFIED,
    )
    own = await Client.connect(client.service_client.config.target_host, namespace=client.namespace, identity=identity)
    async with Worker(
        own, task_queue=QUEUE, workflows=[Steps], workflow_runner=UnsandboxedWorkflowRunner(), deployment_config=config
    ):
        yield


async def started(client: Client, *, signals: int) -> WorkflowHandle[Any, Any]:
    handle = await client.start_workflow("Steps", id=f"steps-{uuid.uuid4().hex[:8]}", task_queue=QUEUE)
    for _ in range(signals):
        await handle.signal("step")
    return handle


async def who(handle: WorkflowHandle[Any, Any]) -> list[str]:
    """The workers that completed its workflow tasks, without repetitions in a row."""
    events = (await handle.fetch_history()).events
    names = [
        one.workflow_task_completed_event_attributes.identity
        for one in events
        if one.HasField("workflow_task_completed_event_attributes")
    ]
    return [name for number, name in enumerate(names) if number == 0 or names[number - 1] != name]


async def set_current(client: Client, build: str) -> None:
    """Empty: unversioned workers. The server knows a version when its worker has polled for a while."""
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=DEPLOYMENT, build_id=build, ignore_missing_task_queues=True
    )

    async def is_set() -> bool:
        with suppress(RPCError):
            await client.workflow_service.set_worker_deployment_current_version(request)
            return True
        return False

    await until(is_set, f"the current version is {build!r}")


async def test_the_current_version_gets_every_task_and_unversioned_workers_none(client: Client) -> None:
    async with asyncio.timeout(240), worker(client, "ours", versioned=False):
        begun = await started(client, signals=1)
        async with worker(client, "theirs", versioned=True):
            first = await started(client, signals=2)
            await first.result()
            assert await who(first) == ["ours"], "no version is current: versioned workers get nothing"

            await set_current(client, "theirs")
            await begun.signal("step")
            await begun.result()
            assert (await who(begun))[-1] == "theirs", "what began unversioned goes on with the current version"
            [row] = [row async for row in versions_row(client)]
            assert row.finding is CheckState.FAILED and "current theirs" in row.found

        left = await started(client, signals=2)
        with pytest.raises(RPCError):  # theirs has gone and ours polls, and yet nobody takes its tasks
            await left.query("seen", rpc_timeout=timedelta(seconds=5))
        assert await who(left) == []
        await set_current(client, "")
        await left.result()
        assert await who(left) == ["ours"]
        [row] = [row async for row in versions_row(client)]
        assert row.finding is CheckState.OK
