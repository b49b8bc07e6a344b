"""Where counting happens: around engines and around activities, so that neither knows of it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
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
from tongyao.protocol.model.observation import ObservationDraft
from tongyao.protocol.model.plan import DeliveryDraft, PlanDraft
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    PlannerRequest,
)
from tongyao.protocol.model.tension import TensionDraft
from tongyao.runtime.observability import metrics

if TYPE_CHECKING:
    from tongyao.llm.engine import Bound

DraftT = TypeVar("DraftT")
RequestT = TypeVar("RequestT")


class Measured:
    """An engine whose calls are timed and counted; it answers as the one inside."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        return self._engine.name

    def model_for(self, step: str) -> str:
        return self._engine.model_for(step)

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        return self._engine.bound(step, prompt, units)

    async def formulate(self, request: FormulationRequest, call: Call) -> Answer[TensionDraft]:
        return await self._counted(self._engine.formulate, request, call)

    async def project(self, request: EndpointRequest, call: Call) -> Answer[ProjectionDraft]:
        return await self._counted(self._engine.project, request, call)

    async def observe(self, request: CatalystRequest, call: Call) -> Answer[ObservationDraft]:
        return await self._counted(self._engine.observe, request, call)

    async def plan(self, request: PlannerRequest, call: Call) -> Answer[PlanDraft]:
        return await self._counted(self._engine.plan, request, call)

    async def deliver(self, request: DeliveryRequest, call: Call) -> Answer[DeliveryDraft]:
        return await self._counted(self._engine.deliver, request, call)

    async def _counted(
        self, ask: Callable[[RequestT, Call], Awaitable[Answer[DraftT]]], request: RequestT, call: Call
    ) -> Answer[DraftT]:
        step = call.key.step
        model, end, used, cost = self.model_for(step) or self.name, "cancelled", Usage(), None
        if call.reask is not None:
            metrics.GUARDS.labels(f"{step}_sent_back").inc()
        began = time.monotonic()
        try:
            answer = await ask(request, call)
            model, end, used, cost = answer.model or model, "answered", answer.usage, answer.cost
            return answer
        except EngineError as error:
            end, used, cost = error.reason, error.usage, error.cost
            raise
        finally:
            metrics.ENDS.labels(step, model, end).inc()
            metrics.LATENCY.labels(step, model).observe(time.monotonic() - began)
            _use(step, model, used)
            if cost is not None:
                metrics.COST.labels(step, model).inc(float(cost))


class Measuring(Interceptor):
    """Counts what activities return, and puts the ids of process and activity into every log line under them."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Inbound(next)


class _Inbound(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        what = input.args[0] if input.args else None
        info = activity.info()
        process = what.process_id if isinstance(what, ActivityInput) else info.workflow_id
        with structlog.contextvars.bound_contextvars(process=process, step=info.activity_type, attempt=info.attempt):
            output = await self.next.execute_activity(input)
        _count(what, output)
        return output


def _count(what: object, output: object) -> None:
    """An activity's output says what happened in it, once, however often it was tried."""
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


def _use(step: str, model: str, used: Usage) -> None:
    for kind, count in (
        ("input", used.input_tokens),
        ("cache_write", used.cache_write_tokens),
        ("cache_read", used.cache_read_tokens),
        ("output", used.output_tokens),
    ):
        if count:
            metrics.TOKENS.labels(step, model, kind).inc(count)
