"""Each participant gets their own part of a plan (docs/protocol.md §7.5)."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities import scene_prompts
from activities.dependencies import Deps
from activities.model_calls import model_step
from tongyao.llm.engine import CallKey
from tongyao.llm.errors import OutOfBudget, StepFailed, Unreadable
from tongyao.protocol.contracts.process import DELIVER, DeliverInput, DeliverOutput
from tongyao.protocol.guards.fallback import minimal_delivery
from tongyao.protocol.model.plan import DeliveryDraft, Plan
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.rules import views
from tongyao.records.privacy.texts import text_id
from tongyao.records.process.plans import DeliveryRow


class Delivering:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=DELIVER.name)
    async def deliver(self, what: DeliverInput) -> DeliverOutput:
        """All deliveries of one revision; those written before are not asked for again.

        The first goes ahead, the others follow side by side and read the plan from the cache that it wrote.
        """
        library = self._deps.library
        async with model_step(library, self._deps.settling, what):
            row = await library.processes.get(what.process_id)
            seconds = ProcessSettings.model_validate(row.settings).proxy_seconds
            record = await library.record(row)
            plan = next(plan for plan in record.plans if plan.revision == what.revision)
            done = {one.alias for one in record.deliveries if one.plan_revision == what.revision}
            prompt = await scene_prompts.override(library, what.process_id, "deliver")
            parts = [
                self._one(what, record, plan, alias, seconds, prompt) for alias in what.aliases if alias not in done
            ]
            ended = await asyncio.gather(*parts[:1], return_exceptions=True)
            ended += await asyncio.gather(*parts[1:], return_exceptions=True)  # none is given up for another's sake
            for failed in ended:
                if failed is not None:
                    raise failed
        return DeliverOutput(delivered=what.aliases, spent=await self._deps.settling.spent(what.process_id))

    async def _one(
        self, what: DeliverInput, record: Record, plan: Plan, alias: str, seconds: float, prompt: str | None
    ) -> None:
        request = views.for_delivery(record, alias, plan)
        profile = record.participant(alias).profile
        owner = profile.profile_id if profile else f"process:{what.process_id}"
        key = CallKey(what.process_id, "deliver", alias=alias, revision=what.revision)
        try:
            settled, _ = await self._deps.settling.readable(
                key,
                lambda engine, call: engine.deliver(request, call),
                DeliveryDraft,
                request=request,
                owner=owner,
                seconds=seconds,
                prompt_override=prompt,
            )
            markdown = settled.draft.markdown
        except (StepFailed, Unreadable, OutOfBudget):
            markdown = ""
        library = self._deps.library
        stored = text_id("delivery", what.process_id, what.revision, alias)
        await library.texts.first(owner, "delivery", markdown.strip() or minimal_delivery(request), id=stored)
        await library.plans.put_delivery(
            what.process_id,
            DeliveryRow(revision=what.revision, alias=alias, text_id=stored, language=request.language),
        )
