"""Parts of workers besides a client: the sandbox's exceptions and the interceptor that measures, as one plugin."""

from __future__ import annotations

import dataclasses

from temporalio.plugin import SimplePlugin
from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from tongyao.runtime.observability.instrumentation import Measuring
from tongyao.runtime.temporal.payload_codec import PayloadEncryption, converter_with

PASSED_THROUGH = ("tongyao.protocol", "pydantic", "pydantic_core", "annotated_types")
"""Modules known to be pure. Importing them again for each workflow would take time and change nothing."""


def plugin(codec: PayloadEncryption | None = None) -> SimplePlugin:
    """Give it to `Client.connect`: its workers inherit it. Without `codec` payloads are plain, and encrypted ones unreadable."""
    return SimplePlugin(
        "tongyao", data_converter=converter_with(codec), workflow_runner=_runner, interceptors=[Measuring()]
    )


def _runner(runner: WorkflowRunner | None) -> WorkflowRunner:
    if isinstance(runner, SandboxedWorkflowRunner):
        restrictions = runner.restrictions.with_passthrough_modules(*PASSED_THROUGH)
        return dataclasses.replace(runner, restrictions=restrictions)
    if runner is None:
        raise ValueError("a worker always has a workflow runner")
    return runner
