"""Runs the real workflow class in the SDK's workflow instance without a server. Tests make the activations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import temporalio.api.common.v1 as common_pb
from temporalio import workflow
from temporalio.bridge.proto.child_workflow import StartChildWorkflowExecutionFailedCause
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.common import Priority, TypedSearchAttributes
from temporalio.worker import UnsandboxedWorkflowRunner
from temporalio.worker._workflow_instance import WorkflowInstanceDetails, _WorkflowLogicFlag

from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.life.state import State
from tongyao.protocol.model.messages import Message
from tongyao.protocol.rules.refusals import MessageVerdict
from tongyao.runtime.temporal.payload_converter import data_converter
from workflows.crystallization import Crystallization

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SINGLE_BATCH = frozenset({_WorkflowLogicFlag.PROCESS_WORKFLOW_ACTIVATION_JOBS_AS_SINGLE_BATCH})
"""The flag of the SDK's newer order of jobs within one activation. Histories record which order applies."""

_CONVERTER = data_converter.payload_converter


@dataclass
class Activity:
    """A scheduled activity."""

    seq: int
    name: str
    input: Any
    queue: str


async def _instance(details: WorkflowInstanceDetails) -> Any:
    """Create a workflow instance. The SDK needs a running event loop for this. The instance then uses its own loop."""
    return UnsandboxedWorkflowRunner().create_instance(details)


class WorkflowTaskFailed(AssertionError):
    """The workflow task failed. A server would retry it until the code is repaired."""


class NotReplayed(AssertionError):
    """A replay gave other commands than the first execution. On a server, the workflow could not continue."""


@dataclass(frozen=True)
class Task:
    """One workflow task in a history: its jobs and its commands."""

    at: datetime
    history_length: int
    suggested: bool
    jobs: tuple[WorkflowActivationJob, ...]
    commands: tuple[Any, ...]


@dataclass
class InProcess:
    """One run of one process. A test sets `now`, and resolves activities and fires timers."""

    start: ProcessInput | State
    now: datetime = T0
    flags: frozenset[_WorkflowLogicFlag] = frozenset()
    activities: dict[int, Activity] = field(default_factory=dict)
    cancelled: list[Activity] = field(default_factory=list)
    timers: dict[int, datetime] = field(default_factory=dict)
    children: dict[int, str] = field(default_factory=dict)
    verdicts: dict[str, MessageVerdict | str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    result: Any = None
    continued: State | None = None
    history_length: int = 3
    suggested: bool = False
    """Whether the server suggests to continue as new."""
    updates: int = 0
    history: list[Task] = field(default_factory=list)
    scheduled: list[int] = field(default_factory=list)
    """The numbers of all scheduled activities, in order."""

    def __post_init__(self) -> None:
        definition = workflow._Definition.must_from_class(Crystallization)
        info = workflow.Info(
            attempt=1,
            continued_run_id=None,
            cron_schedule=None,
            execution_timeout=None,
            first_execution_run_id="run",
            headers={},
            namespace="default",
            original_execution_run_id="run",
            parent=None,
            root=None,
            priority=Priority.default,
            raw_memo={},
            retry_policy=None,
            run_id="run",
            run_timeout=None,
            search_attributes={},
            start_time=self.now,
            task_queue="tongyao-process",
            task_timeout=timedelta(seconds=10),
            typed_search_attributes=TypedSearchAttributes.empty,
            workflow_id="c-1",
            workflow_type="Crystallization",
            workflow_start_time=self.now,
        )
        self._instance: Any = asyncio.run(
            _instance(
                WorkflowInstanceDetails(
                    payload_converter_factory=data_converter._new_payload_converter,
                    failure_converter_class=data_converter.failure_converter_class,
                    interceptor_classes=[],
                    defn=definition,
                    info=info,
                    randomness_seed=1,
                    extern_functions={},
                    disable_eager_activity_execution=False,
                    worker_level_failure_exception_types=[],
                    patch_activation_callback=None,
                    last_completion_result=common_pb.Payloads(),
                    last_failure=None,
                    default_workflow_logic_flags=self.flags,
                )
            )
        )
        job = WorkflowActivationJob()
        job.initialize_workflow.workflow_type = "Crystallization"
        job.initialize_workflow.arguments.extend(_CONVERTER.to_payloads([self.start]))
        self.activate(job)

    # ---- actions of a server

    def activate(self, *jobs: WorkflowActivationJob) -> None:
        """Run one workflow task. Raises `WorkflowTaskFailed`."""
        activation = WorkflowActivation(
            run_id="run",
            history_length=self.history_length,
            jobs=jobs,
            continue_as_new_suggested=self.suggested,
        )
        activation.timestamp.FromDatetime(self.now)
        completion: WorkflowActivationCompletion = self._instance.activate(activation)
        length = self.history_length
        self.history_length += 3
        if completion.HasField("failed"):
            raise WorkflowTaskFailed(completion.failed.failure.message + completion.failed.failure.stack_trace)
        self._resolve(jobs)
        commands = tuple(completion.successful.commands)
        for command in commands:
            self._take(command)
        self._keep(Task(self.now, length, self.suggested, jobs, commands))

    def _resolve(self, jobs: Sequence[WorkflowActivationJob]) -> None:
        for job in jobs:
            match job.WhichOneof("variant"):
                case "resolve_activity":
                    self.activities.pop(job.resolve_activity.seq, None)
                    self.cancelled = [one for one in self.cancelled if one.seq != job.resolve_activity.seq]
                case "fire_timer":
                    self.timers.pop(job.fire_timer.seq, None)
                case "resolve_child_workflow_execution_start":
                    self.children.pop(job.resolve_child_workflow_execution_start.seq, None)

    def _keep(self, task: Task) -> None:
        """Add a task to the history without updates that the validator refused. A task with only these is not added."""
        refused = {
            command.update_response.protocol_instance_id
            for command in task.commands
            if command.HasField("update_response") and command.update_response.HasField("rejected")
        }
        jobs = []
        for job in task.jobs:
            if job.HasField("do_update") and job.do_update.protocol_instance_id in refused:
                continue
            kept = WorkflowActivationJob()
            kept.CopyFrom(job)
            if kept.HasField("do_update"):
                kept.do_update.run_validator = False
            jobs.append(kept)
        if jobs:
            self.history.append(replace(task, jobs=tuple(jobs), commands=_without(task.commands, refused)))

    @classmethod
    def replayed(
        cls, start: ProcessInput | State, history: Sequence[Task], flags: frozenset[_WorkflowLogicFlag]
    ) -> InProcess:
        """Return the run of another worker that has replayed the history. Raises `NotReplayed`."""
        run = cls(start, now=history[0].at, flags=flags)
        run.compare(history[0])
        for task in history[1:]:
            run.now, run.history_length, run.suggested = task.at, task.history_length, task.suggested
            run.activate(*task.jobs)
            run.compare(task)
        return run

    def compare(self, task: Task) -> None:
        """Raise `NotReplayed` unless the last task gave the commands of `task`."""
        found = self.history[-1].commands
        if found != task.commands:
            raise NotReplayed(f"a replay gives {_kinds(found)}, the first execution gave {_kinds(task.commands)}")

    def _take(self, command: Any) -> None:
        kind = command.WhichOneof("variant")
        self.commands.append(kind)
        self.history_length += 1
        match kind:
            case "schedule_activity":
                one = command.schedule_activity
                given = [_CONVERTER.from_payload(payload) for payload in one.arguments]
                self.activities[one.seq] = Activity(one.seq, one.activity_type, given[0], one.task_queue)
                self.scheduled.append(one.seq)
            case "request_cancel_activity":
                gone = self.activities.pop(command.request_cancel_activity.seq, None)
                if gone is not None:
                    self.cancelled.append(gone)
            case "start_timer":
                self.timers[command.start_timer.seq] = (
                    self.now + command.start_timer.start_to_fire_timeout.ToTimedelta()
                )
            case "cancel_timer":
                self.timers.pop(command.cancel_timer.seq, None)
            case "start_child_workflow_execution":
                child = command.start_child_workflow_execution
                self.children[child.seq] = child.workflow_id
            case "update_response":
                response = command.update_response
                if response.HasField("completed"):
                    self.verdicts[response.protocol_instance_id] = _CONVERTER.from_payload(
                        response.completed, MessageVerdict
                    )
                elif response.HasField("rejected"):
                    details = response.rejected.application_failure_info.details.payloads
                    refused = MessageVerdict.model_validate(_CONVERTER.from_payload(details[0])) if details else None
                    self.verdicts[response.protocol_instance_id] = refused or response.rejected.message
            case "upsert_workflow_search_attributes":
                sent = command.upsert_workflow_search_attributes.search_attributes
                for name, payload in (sent.indexed_fields if hasattr(sent, "indexed_fields") else sent).items():
                    self.attributes[name] = _CONVERTER.from_payload(payload)
            case "continue_as_new_workflow_execution":
                given = command.continue_as_new_workflow_execution.arguments[0]
                self.continued = _CONVERTER.from_payload(given, State)
            case "complete_workflow_execution":
                self.result = _CONVERTER.from_payload(command.complete_workflow_execution.result)

    # ---- jobs, to be given to `activate` alone or together

    def update(self, message: Message) -> WorkflowActivationJob:
        self.updates += 1
        job = WorkflowActivationJob()
        job.do_update.id = job.do_update.protocol_instance_id = str(self.updates)
        job.do_update.name = message.kind
        job.do_update.input.extend(_CONVERTER.to_payloads([message]))
        job.do_update.run_validator = True
        return job

    def signal(self, name: str, *payloads: common_pb.Payload) -> WorkflowActivationJob:
        """Return the job of a signal, with any number of payloads of any encoding."""
        job = WorkflowActivationJob()
        job.signal_workflow.signal_name = name
        job.signal_workflow.originating_event_id = self.history_length
        job.signal_workflow.input.extend(payloads)
        return job

    def completed(self, activity: Activity, output: Any) -> WorkflowActivationJob:
        self.activities.pop(activity.seq)
        job = WorkflowActivationJob()
        job.resolve_activity.seq = activity.seq
        job.resolve_activity.result.completed.result.CopyFrom(_CONVERTER.to_payload(output))
        return job

    def failed(self, activity: Activity, kind: str, message: str = "away", *details: str) -> WorkflowActivationJob:
        """Return the job of a failed activity. `kind`: type of the application failure, such as `OperatorNeeded`."""
        self.activities.pop(activity.seq)
        job = WorkflowActivationJob()
        job.resolve_activity.seq = activity.seq
        failure = job.resolve_activity.result.failed.failure
        failure.message = "Activity task failed"
        failure.activity_failure_info.activity_type.name = activity.name
        failure.cause.message = message
        failure.cause.application_failure_info.type = kind
        failure.cause.application_failure_info.details.payloads.extend(_CONVERTER.to_payloads(details))
        return job

    def cancelled_jobs(self) -> list[WorkflowActivationJob]:
        """Return the jobs with which the server confirms the requested cancellations of activities."""
        jobs = []
        for activity in self.cancelled:
            job = WorkflowActivationJob()
            job.resolve_activity.seq = activity.seq
            failure = job.resolve_activity.result.cancelled.failure
            failure.message = "Activity cancelled"
            failure.canceled_failure_info.SetInParent()
            jobs.append(job)
        return jobs

    def fired(self) -> WorkflowActivationJob:
        """Return the job of the earliest timer, and move the time to it."""
        seq = min(self.timers, key=lambda one: self.timers[one])
        self.now = max(self.now, self.timers.pop(seq))
        job = WorkflowActivationJob()
        job.fire_timer.seq = seq
        return job

    def child_started(self, seq: int) -> WorkflowActivationJob:
        self.children.pop(seq)
        job = WorkflowActivationJob()
        job.resolve_child_workflow_execution_start.seq = seq
        job.resolve_child_workflow_execution_start.succeeded.run_id = "child-run"
        return job

    def child_runs_already(self, seq: int) -> WorkflowActivationJob:
        job = WorkflowActivationJob()
        start = job.resolve_child_workflow_execution_start
        start.seq = seq
        start.failed.workflow_id = self.children.pop(seq)
        start.failed.workflow_type = "Crystallization"
        start.failed.cause = (
            StartChildWorkflowExecutionFailedCause.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS
        )
        return job

    def cancel_job(self) -> WorkflowActivationJob:
        """Return the job of a cancellation in the Temporal UI."""
        job = WorkflowActivationJob()
        job.cancel_workflow.SetInParent()
        return job

    # ---- for tests

    def say(self, message: Message) -> MessageVerdict | str:
        """Send a message as an update, alone in its workflow task."""
        self.activate(self.update(message))
        return self.verdicts[str(self.updates)]

    def named(self, name: str) -> Sequence[Activity]:
        return [activity for activity in self.activities.values() if activity.name == name]

    def write_everything(self) -> None:
        """Let every `record` step succeed."""
        while self.named("record"):
            self.activate(self.completed(self.named("record")[0], None))

    @property
    def state(self) -> State:
        state: State = self._instance._object.state
        return state


def _without(commands: tuple[Any, ...], refused: set[str]) -> tuple[Any, ...]:
    return tuple(
        command
        for command in commands
        if not (command.HasField("update_response") and command.update_response.protocol_instance_id in refused)
    )


def _kinds(commands: tuple[Any, ...]) -> list[str]:
    return [str(command.WhichOneof("variant")) for command in commands]
