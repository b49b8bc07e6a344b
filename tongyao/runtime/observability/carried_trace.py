"""Passes the trace of the last message to a workflow on to the steps that it starts.

It runs in the workflow sandbox and does not decode the trace.
"""

from __future__ import annotations

from typing import Any, Final

from temporalio.api.common.v1 import Payload
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleSignalInput,
    HandleUpdateInput,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle

HEADER: Final = "tongyao-trace"


class CarriesTrace(WorkflowInboundInterceptor):
    """Keeps in `heard` the trace header of the start, or of the last accepted update or signal."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        self.heard: Payload | None = None
        super().init(_PassesOn(outbound, self))

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        self.heard = self.heard or input.headers.get(HEADER)
        return await super().execute_workflow(input)

    async def handle_signal(self, input: HandleSignalInput) -> None:
        self.heard = input.headers.get(HEADER, self.heard)
        await super().handle_signal(input)

    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:
        self.heard = input.headers.get(HEADER, self.heard)
        return await super().handle_update_handler(input)


class _PassesOn(WorkflowOutboundInterceptor):
    def __init__(self, next: WorkflowOutboundInterceptor, heard: CarriesTrace) -> None:
        super().__init__(next)
        self._inbound = heard

    def start_activity(self, input: StartActivityInput) -> ActivityHandle[Any]:
        if self._inbound.heard is not None:
            input.headers = {**input.headers, HEADER: self._inbound.heard}
        return super().start_activity(input)
