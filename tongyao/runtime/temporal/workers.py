"""The workers of each role, with their task queues, workflows and activities (docs/operations.md §3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

from temporalio.client import Client
from temporalio.common import WorkerDeploymentVersion
from temporalio.worker import Worker, WorkerDeploymentConfig

from activities.deliver import Delivering
from activities.dependencies import Deps
from activities.discover import Discovering
from activities.formulate import Formulating
from activities.freeze import Freezing
from activities.maintain import Maintaining, Reciting, Reindexing
from activities.observe import Observing
from activities.plan import Planning
from activities.project import Projecting
from activities.record_steps import RecordSteps
from tongyao.protocol.contracts.process import FIELD_QUEUE, MODELS_QUEUE, PROCESS_QUEUE
from tongyao.records.maintenance import DutyLog
from tongyao.runtime.errors import NotReady
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.namespaces import missing_search_attributes
from workflows.crystallization import Crystallization
from workflows.maintenance import Maintenance, Recitation, Reindex

Role = Literal["all", "process", "models", "field"]

DEPLOYMENT = "tongyao"
"""The name under which workers report their build."""


def build(client: Client, deps: Deps, settings: Settings, *, role: Role = "all") -> list[Worker]:
    """Return the workers of one role, one for each task queue. The role `all` polls every queue."""
    model_steps: list[Callable[..., Any]] = [
        Formulating(deps).formulate,
        Projecting(deps).project,
        Observing(deps).observe,
        Planning(deps).plan,
        Delivering(deps).deliver,
    ]
    records = RecordSteps(deps)
    record_steps: list[Callable[..., Any]] = [
        records.record,
        records.check_deadline,
        records.consent,
        records.branch,
        records.cancel_children,
        records.remember,
        Freezing(deps).freeze,
        Maintaining(deps.duties, DutyLog(deps.repositories.pool)).maintain,
    ]
    workers = []
    if role in ("all", "process"):
        workflows = [Crystallization, Maintenance]
        workers.append(_worker(client, settings, PROCESS_QUEUE, activities=record_steps, workflows=workflows))
    if role in ("all", "models"):
        workers.append(
            _worker(client, settings, MODELS_QUEUE, activities=model_steps, per_second=settings.models_per_second)
        )
    if role in ("all", "field"):
        steps: list[Callable[..., Any]] = [Discovering(deps).discover, Discovering(deps).propose]
        if deps.indexing is not None:
            reindexing = Reindexing(deps.indexing)
            steps += [reindexing.open_index, reindexing.fill_index, reindexing.switch_index]
        if deps.reciting is not None:
            steps.append(Reciting(deps.repositories.profile_text, deps.reciting).recite_level)
        workers.append(_worker(client, settings, FIELD_QUEUE, activities=steps, workflows=[Reindex, Recitation]))
    return workers


async def check_server(client: Client) -> None:
    """Raise `NotReady` if search attributes are missing, because workflow tasks would then hang without an error."""
    missing = await missing_search_attributes(client)
    if missing:
        raise NotReady(
            f"namespace {client.namespace!r} lacks the search attributes {', '.join(missing)}: "
            "register them with `tongyao prepare`, then start the worker again"
        )


def _worker(
    client: Client,
    settings: Settings,
    queue: str,
    *,
    activities: list[Callable[..., Any]],
    workflows: list[type] | None = None,
    per_second: float | None = None,
) -> Worker:
    return Worker(
        client,
        task_queue=queue,
        deployment_config=WorkerDeploymentConfig(
            version=WorkerDeploymentVersion(DEPLOYMENT, build_id()), use_worker_versioning=False
        ),
        workflows=workflows or [],
        activities=activities,
        max_concurrent_activities=settings.worker_activities,
        max_concurrent_workflow_tasks=settings.worker_workflow_tasks if workflows else None,
        max_cached_workflows=settings.worker_cached_workflows if workflows else 0,
        max_concurrent_workflow_task_polls=settings.worker_pollers if workflows else None,
        max_concurrent_activity_task_polls=settings.worker_pollers,
        max_task_queue_activities_per_second=per_second,
        graceful_shutdown_timeout=timedelta(seconds=settings.shutdown_seconds),
    )
