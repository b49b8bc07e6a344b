"""A plugin with the parts of workers that a client lacks: passed-through modules of the sandbox, and metrics."""

from __future__ import annotations

import dataclasses

from temporalio.plugin import SimplePlugin
from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from tongyao.runtime.observability.instrumentation import Measuring
from tongyao.runtime.temporal.payload_codec import PayloadEncryption, converter_with

PASSED_THROUGH = ("tongyao.protocol", "pydantic", "pydantic_core", "annotated_types")
"""Modules without state. They are not imported again for each workflow, which would take time."""


def plugin(codec: PayloadEncryption | None = None) -> SimplePlugin:
    """Return the plugin for `Client.connect`. Workers inherit it. Without `codec`, it does not encrypt or decrypt."""
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
