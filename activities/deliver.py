"""Writes each participant's part of a plan (docs/protocol.md §7.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import StepRun, model_step, parks
from tongyao.llm.errors import OutOfBudget, StepFailed, Unreadable
from tongyao.protocol.contracts.process import DELIVER, DeliverInput, DeliverOutput
from tongyao.protocol.guards.plans import settle_delivery
from tongyao.protocol.model.plan import Delivery, DeliveryDraft, Plan
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import DeliveryRequest
from tongyao.protocol.rules import request_access
from tongyao.records.privacy.texts import NewText, TextErased, text_id
from tongyao.records.process.plans import DeliveryRow


class Delivering:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=DELIVER.name)
    @parks
    async def deliver(self, what: DeliverInput) -> DeliverOutput:
        """Write the deliveries of one plan revision. Deliveries in the record are not requested again.

        The first call runs alone and writes the prompt cache. The others run concurrently and read the plan from it.
        With the delegated engine all calls are made at the same time, because the first call also only waits.
        """
        repositories, calls = self._deps.repositories, self._deps.model_calls
        async with model_step(repositories, calls, DELIVER.step, what) as run:
            record = await repositories.record(run.process)
            plan = next(plan for plan in record.plans if plan.revision == what.revision)
            done = {delivery.alias for delivery in record.deliveries if delivery.plan_revision == what.revision}
            parts = [self._one(run, record, plan, alias) for alias in what.aliases if alias not in done]
            ended = await asyncio.gather(*parts[:1], return_exceptions=True)
            ended += await asyncio.gather(*parts[1:], return_exceptions=True)  # one failure does not cancel the others
            await self._write(run, record, [result for result in ended if isinstance(result, Delivery)])
            for failed in ended:
                if isinstance(failed, BaseException):
                    raise failed
        return DeliverOutput(delivered=what.aliases, spent=await calls.spent(what.process_id))

    async def _one(
        self, run: StepRun[DeliveryRequest, DeliveryDraft], record: Record, plan: Plan, alias: str
    ) -> Delivery:
        """Ask for one delivery. Without a readable answer, return the participant's part in the words of the plan."""
        request = await asyncio.to_thread(request_access.for_delivery, record, alias, plan)
        question = run.question(request, owner=_owner(record, alias), alias=alias, revision=plan.revision)
        try:
            draft = (await self._deps.model_calls.ask_and_review(question, ())).draft
        except (StepFailed, Unreadable, OutOfBudget):
            draft = DeliveryDraft()
        return settle_delivery(draft, alias=alias, plan=request.plan, language=request.language)

    async def _write(
        self, run: StepRun[DeliveryRequest, DeliveryDraft], record: Record, deliveries: Sequence[Delivery]
    ) -> None:
        """Write deliveries to the record. Raises `TextErased` if a participant was erased in the meantime."""
        if not deliveries:
            return
        repositories = self._deps.repositories
        ids = {
            delivery.alias: text_id(
                "delivery", record.process_id, run.process.epoch, delivery.plan_revision, delivery.alias
            )
            for delivery in deliveries
        }
        stand = await repositories.shared.put_marked(
            run.process,
            [
                NewText(ids[one.alias], _owner(record, one.alias), "delivery", one.model_dump_json())
                for one in deliveries
            ],
        )
        await repositories.plans.put_deliveries(
            record.process_id,
            [
                DeliveryRow(
                    revision=delivery.plan_revision,
                    alias=delivery.alias,
                    text_id=ids[delivery.alias],
                    language=delivery.language,
                )
                for delivery in deliveries
                if ids[delivery.alias] in stand
            ],
        )
        if len(stand) < len(deliveries):
            raise TextErased("a participant was erased while their delivery was written")


def _owner(record: Record, alias: str) -> str:
    profile = record.participant(alias).profile
    return profile.profile_id if profile else f"process:{record.process_id}"
