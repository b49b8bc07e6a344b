"""Replays histories with this build, and compares the input of every step (docs/operations.md §5).

The SDK's replayer compares only the kinds and names of commands, so it accepts a build that gives a step another input.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.worker import (
    Interceptor,
    Replayer,
    StartActivityInput,
    StartChildWorkflowInput,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle

from workflows.crystallization import Crystallization


@dataclass(frozen=True)
class Replayed:
    """The result of replaying one history. It contains names and places of inputs, and no values.

    `failure`: the reason why the commands differ; empty if they do not. `inputs`: a line for each step with another
    input.
    """

    process_id: str
    run_id: str
    events: int
    failure: str = ""
    inputs: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.failure and not self.inputs


async def replay(histories: AsyncIterator[WorkflowHistory], converter: DataConverter) -> AsyncIterator[Replayed]:
    """Replay histories of processes, one after the other. `converter`: that of the client, which decrypts payloads."""
    recorder = _Recorder(converter)
    # Without the sandbox, so that the recorder is the same object inside the workflow and here.
    replayer = Replayer(
        workflows=[Crystallization],
        data_converter=converter,
        workflow_runner=UnsandboxedWorkflowRunner(),
        interceptors=[recorder],
    )
    async with replayer.workflow_replay_iterator(histories) as results:
        async for result in results:
            history, failure = result.history, result.replay_failure
            asked = recorder.runs.pop(history.run_id, _StartedSteps())
            yield Replayed(
                process_id=history.workflow_id,
                run_id=history.run_id,
                events=len(history.events),
                failure=_line(failure) if failure is not None else "",
                inputs=tuple([line async for line in _other_inputs(history, asked, converter)]),
            )


def _line(failure: Exception) -> str:
    """Return the type and the first line of a failure. Further lines of a pydantic error contain the input."""
    lines = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {lines[0][:300] if lines else ''}"


async def _other_inputs(history: WorkflowHistory, asked: _StartedSteps, converter: DataConverter) -> AsyncIterator[str]:
    children = iter(asked.children)
    for event in history.events:
        if event.HasField("activity_task_scheduled_event_attributes"):
            scheduled = event.activity_task_scheduled_event_attributes
            now, name = asked.activities.get(scheduled.activity_id), scheduled.activity_type.name
            before: Sequence[Payload] = scheduled.input.payloads
        elif event.HasField("start_child_workflow_execution_initiated_event_attributes"):
            initiated = event.start_child_workflow_execution_initiated_event_attributes
            now, name = next(children, None), f"child {initiated.workflow_id}"
            before = initiated.input.payloads
        else:
            continue
        if now is None:  # the commands differ, which the replayer reports
            continue
        if converter.payload_codec is not None:
            before = await converter.payload_codec.decode(before)
        places = list(_differences(_values(before), _values(now)))
        if places:
            yield f"event {event.event_id}, {name}: {', '.join(places[:5])}"


def _values(payloads: Sequence[Payload]) -> list[Any]:
    return [json.loads(payload.data) if payload.data else None for payload in payloads]


def _differences(before: Any, now: Any, place: str = "input") -> Iterator[str]:
    """Yield the places at which two JSON values differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted(before.keys() | now.keys()):
            if name not in now or name not in before:
                yield f"{place}.{name} ({'gone' if name not in now else 'new'})"
            else:
                yield from _differences(before[name], now[name], f"{place}.{name}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, (pair, other) in enumerate(zip(before, now, strict=True)):
            yield from _differences(pair, other, f"{place}[{index}]")
    elif before != now:
        yield place


@dataclass
class _StartedSteps:
    """The inputs in this build: of activities by id, of child workflows in order."""

    activities: dict[str, Sequence[Payload]] = field(default_factory=dict)
    children: list[Sequence[Payload]] = field(default_factory=list)


class _Recorder(Interceptor):
    """Records the inputs of activities and child workflows, by run."""

    def __init__(self, converter: DataConverter) -> None:
        self.converter = converter
        self.runs: dict[str, _StartedSteps] = {}

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        recorder = self

        class RecordingInterceptor(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(_Outbound(outbound, recorder))

        return RecordingInterceptor


class _Outbound(WorkflowOutboundInterceptor):
    def __init__(self, next: WorkflowOutboundInterceptor, recorder: _Recorder) -> None:
        super().__init__(next)
        self._recorder = recorder

    def start_activity(self, input: StartActivityInput) -> ActivityHandle[Any]:
        # The SDK numbers activities in the order of their start. The number is the id.
        asked = self._asked()
        asked.activities[input.activity_id or str(len(asked.activities) + 1)] = self._payloads(input.args)
        return self.next.start_activity(input)

    async def start_child_workflow(self, input: StartChildWorkflowInput) -> workflow.ChildWorkflowHandle[Any, Any]:
        self._asked().children.append(self._payloads(input.args))
        return await self.next.start_child_workflow(input)

    def _asked(self) -> _StartedSteps:
        return self._recorder.runs.setdefault(workflow.info().original_execution_run_id, _StartedSteps())

    def _payloads(self, values: Sequence[Any]) -> Sequence[Payload]:
        return self._recorder.converter.payload_converter.to_payloads(values)
