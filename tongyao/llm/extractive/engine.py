"""The extractive engine: the five steps without any language model. See docs/extractive.md."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from tongyao.llm.engine import Answer, Bound, Call
from tongyao.llm.extractive import catalyst, endpoint, formulation, planner, wording
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
from tongyao.protocol.model.value import Draft

RequestT = TypeVar("RequestT")
DraftT = TypeVar("DraftT", bound=Draft)


class ExtractiveEngine:
    """An `Engine` that selects and aligns sentences. Deterministic: the same request gives the same draft.

    It needs no key and no network, raises nothing on purpose, and marks every answer with the label
    `extractive`. A scene's prompt override means nothing to it. A re-ask of a projection brings no items:
    what it quotes is verbatim already, so it has no better version of an item that a guard refused.
    """

    name: Final = "extractive"

    def model_for(self, step: str) -> str:
        """Always empty: there is no model."""
        return ""

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """Nothing: no service is asked."""
        return Bound()

    async def formulate(self, request: FormulationRequest, call: Call) -> Answer[TensionDraft]:
        return await self._answer(formulation.formulate, request)

    async def project(self, request: EndpointRequest, call: Call) -> Answer[ProjectionDraft]:
        if call.reask is not None:
            return self._wrap(ProjectionDraft(nothing_new=False, items=[], markdown=wording.NOTICE[request.language]))
        return await self._answer(endpoint.project, request)

    async def observe(self, request: CatalystRequest, call: Call) -> Answer[ObservationDraft]:
        return await self._answer(catalyst.observe, request)

    async def plan(self, request: PlannerRequest, call: Call) -> Answer[PlanDraft]:
        return await self._answer(planner.plan, request)

    async def deliver(self, request: DeliveryRequest, call: Call) -> Answer[DeliveryDraft]:
        return await self._answer(planner.deliver, request)

    async def _answer(self, step: Callable[[RequestT], DraftT], request: RequestT) -> Answer[DraftT]:
        # In a thread: a profile of 50,000 characters takes a good part of a second, and the loop has others
        # to serve.
        return self._wrap(await asyncio.to_thread(step, request))

    def _wrap(self, draft: DraftT) -> Answer[DraftT]:
        return Answer(draft=draft, text=draft.model_dump_json(), engine=self.name, labels=(wording.LABEL,))
