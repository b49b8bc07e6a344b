"""Metrics of model calls and activities. Wrappers count them, so engines and activities have no metrics code."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import structlog
from opentelemetry import trace
from opentelemetry.trace import SpanKind
from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from tongyao.llm.engine import Answer, Call, Engine, Usage
from tongyao.llm.errors import EngineError
from tongyao.protocol.contracts.process import (
    ActivityInput,
    FormulateOutput,
    ObserveOutput,
    PlanOutput,
    ProjectInput,
    ProjectOutput,
)
from tongyao.protocol.model.steps import DraftT, RequestT, Step
from tongyao.runtime.observability import metrics

if TYPE_CHECKING:
    from tongyao.llm.engine import Bound

_TRACER = trace.get_tracer("tongyao")


class Measured:
    """Wraps an engine, and times and counts its calls."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        return self._engine.name

    def model_for(self, step: str) -> str:
        return self._engine.model_for(step)

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        return self._engine.bound(step, prompt, units)

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        model, end, used, cost = self.model_for(step.name) or self.name, "cancelled", Usage(), None
        if call.reask is not None:
            metrics.GUARDS.labels(f"{step.name}_sent_back").inc()
        began = time.monotonic()
        try:
            with _TRACER.start_as_current_span(
                f"model {step.name}",
                kind=SpanKind.CLIENT,
                attributes={"gen_ai.request.model": model, "tongyao.process": call.key.process},
                record_exception=False,  # its message may quote a person
            ):
                answer = await self._engine.answer(step, request, call)
            model, end, used, cost = answer.model or model, "answered", answer.usage, answer.cost
            return answer
        except EngineError as error:
            end, used, cost = error.reason, error.usage, error.cost
            raise
        finally:
            metrics.ENDS.labels(step.name, model, end).inc()
            metrics.LATENCY.labels(step.name, model).observe(time.monotonic() - began)
            _count_tokens(step.name, model, used)
            if cost is not None:
                metrics.COST.labels(step.name, model).inc(float(cost))


class Measuring(Interceptor):
    """Counts the results of activities, and adds the ids of process and activity to the log lines inside them."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _TracedActivity(next)


class _TracedActivity(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        what = input.args[0] if input.args else None
        info = activity.info()
        process = what.process_id if isinstance(what, ActivityInput) else info.workflow_id
        with structlog.contextvars.bound_contextvars(process=process, step=info.activity_type, attempt=info.attempt):
            output = await self.next.execute_activity(input)
        _count(what, output)
        return output


def _count(what: object, output: object) -> None:
    """Count the events of an activity from its output, so that they are counted once even if it was retried."""
    match output:
        case ProjectOutput() if isinstance(what, ProjectInput):
            for asked, turn in zip(what.turns, output.turns, strict=True):
                metrics.TURNS.labels(turn.outcome.value, asked.author).inc()
                metrics.GUARDS.labels("item_struck").inc(turn.struck)
        case ObserveOutput():
            metrics.GUARDS.labels("observation_struck").inc(output.struck)
        case PlanOutput():
            metrics.GUARDS.labels("claim_unsupported").inc(output.claims - output.supported)
            metrics.GUARDS.labels("plan_reduced").inc(output.reduced)
        case FormulateOutput():
            metrics.GUARDS.labels("formulation_fell_back").inc(output.fallback)


def _count_tokens(step: str, model: str, used: Usage) -> None:
    for kind, count in (
        ("input", used.input_tokens),
        ("cache_write", used.cache_write_tokens),
        ("cache_read", used.cache_read_tokens),
        ("output", used.output_tokens),
    ):
        if count:
            metrics.TOKENS.labels(step, model, kind).inc(count)
