"""Writes each participant's part of a plan (docs/protocol.md §7.5)."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import StepRun, model_step
from tongyao.llm.errors import OutOfBudget, StepFailed, Unreadable
from tongyao.protocol.contracts.process import DELIVER, DeliverInput, DeliverOutput
from tongyao.protocol.guards.deliveries import settle_delivery
from tongyao.protocol.model.plan import DeliveryDraft, Plan
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import DeliveryRequest
from tongyao.protocol.rules import request_access
from tongyao.records.privacy.texts import text_id
from tongyao.records.process.plans import DeliveryRow


class Delivering:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=DELIVER.name)
    async def deliver(self, what: DeliverInput) -> DeliverOutput:
        """All deliveries of one revision; those already written are not asked for again.

        The first goes ahead; the others follow side by side and read the plan from the prompt cache that it wrote.
        """
        repositories, calls = self._deps.repositories, self._deps.model_calls
        async with model_step(repositories, calls, DELIVER.step, what) as run:
            record = await repositories.record(run.process)
            plan = next(plan for plan in record.plans if plan.revision == what.revision)
            done = {delivery.alias for delivery in record.deliveries if delivery.plan_revision == what.revision}
            parts = [self._one(run, record, plan, alias) for alias in what.aliases if alias not in done]
            ended = await asyncio.gather(*parts[:1], return_exceptions=True)
            ended += await asyncio.gather(*parts[1:], return_exceptions=True)  # one failure does not cancel the others
            for failed in ended:
                if failed is not None:
                    raise failed
        return DeliverOutput(delivered=what.aliases, spent=await calls.spent(what.process_id))

    async def _one(self, run: StepRun[DeliveryRequest, DeliveryDraft], record: Record, plan: Plan, alias: str) -> None:
        """Ask for one delivery and store it. Without an answer it is the participant's part as the plan states it."""
        request = await asyncio.to_thread(request_access.for_delivery, record, alias, plan)
        profile = record.participant(alias).profile
        owner = profile.profile_id if profile else f"process:{record.process_id}"
        question = run.question(request, owner=owner, alias=alias, revision=plan.revision)
        try:
            draft = (await self._deps.model_calls.ask_and_review(question, ())).draft
        except (StepFailed, Unreadable, OutOfBudget):
            draft = DeliveryDraft()
        delivery = settle_delivery(draft, alias=alias, plan=request.plan, language=request.language)
        repositories = self._deps.repositories
        stored = text_id("delivery", record.process_id, run.process.epoch, plan.revision, alias)
        await repositories.texts.first(owner, "delivery", delivery.model_dump_json(), id=stored)
        await repositories.plans.put_delivery(
            record.process_id,
            DeliveryRow(revision=plan.revision, alias=alias, text_id=stored, language=request.language),
        )
