"""Formulates a tension from the intent (docs/protocol.md §2). If this fails, the intent becomes T, with grade C."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import model_step, parks
from tongyao.llm.errors import OutOfBudget, StepFailed, Unreadable
from tongyao.protocol.contracts.process import FORMULATE, FormulateInput, FormulateOutput
from tongyao.protocol.identity.listed import names_of
from tongyao.protocol.identity.proposer import proposed_names
from tongyao.protocol.model.ids import process_text_id
from tongyao.protocol.model.process import DEMANDER, TensionRef
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import Material
from tongyao.protocol.model.tension import (
    MOST_NAMES,
    NameFound,
    Tension,
    TensionDraft,
    from_draft,
    from_raw,
    within_limits,
)
from tongyao.protocol.rules import request_access
from tongyao.protocol.rules.formulation import faults, spans_of

PROFILE_CHARS = 15_000
"""Of a longer demander's profile, only the pieces nearest to the intent are read (docs/protocol.md §4.6)."""


class Formulating:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=FORMULATE.name)
    @parks
    async def formulate(self, what: FormulateInput) -> FormulateOutput:
        """Formulate the intent, and store the tension under the process's text id for the tension."""
        repositories, calls = self._deps.repositories, self._deps.model_calls
        async with model_step(repositories, calls, FORMULATE.step, what) as run:
            record = await repositories.record(run.process, own=(DEMANDER,))
            material = await self._material(record)
            request = await asyncio.to_thread(request_access.for_formulation, record, material)
            owner = run.process.demander
            try:
                settled = await calls.ask_and_review(run.question(request, owner=owner), (faults,))
                draft = within_limits(settled.draft)
                profile = await self._profile(record)
                shown = material.spans if material is not None else ()
                spans = spans_of(draft, intent=record.intent, profile=profile, shown=shown)
                names = _names(draft, (record.intent, profile))
                tension, fallback = from_draft(draft, language=record.language, spans=spans, names=names), False
            except (StepFailed, Unreadable, OutOfBudget, ValueError):
                names = proposed_names(record.intent)[:MOST_NAMES]
                tension, fallback = from_raw(record.intent, language=record.language, names=names), True
        stored = process_text_id(what.process_id, "tension")
        tension = Tension.model_validate_json(
            await repositories.texts.first(owner, "tension", tension.model_dump_json(), id=stored)
        )
        return FormulateOutput(
            tension=TensionRef(text_id=stored, grade=tension.grade, barriers=len(tension.barriers)),
            fallback=fallback,
            spent=await calls.spent(what.process_id),
        )

    async def _profile(self, record: Record) -> str:
        """Return the demander's profile. Empty if there is none, or if the mandate restricts it (docs/protocol.md
        §3.5)."""
        repositories, profile = self._deps.repositories, record.demander.profile
        if profile is None or (await repositories.mandate(profile.profile_id)).keeps_profile_back:
            return ""
        return await repositories.profile_text(profile)

    async def _material(self, record: Record) -> Material | None:
        text = await self._profile(record)
        if record.demander.profile is None or not text:
            return None
        if len(text) <= PROFILE_CHARS:
            return Material.whole(text)
        intent = from_raw(record.intent, language=record.language)
        return await self._deps.retriever.retrieve(record.demander.profile, text, intent)


def _names(draft: TensionDraft, texts: tuple[str, str]) -> tuple[NameFound, ...]:
    """Return the names that the model listed and the names that code finds in the lines. The demander confirms them."""
    lines = "\n".join((draft.transition, draft.initial_state, *draft.barriers, draft.exchange))
    listed = names_of([name.name for name in draft.names], lines, *texts)
    proposed = [name for name in proposed_names(lines) if all(name.name not in other.name for other in listed)]
    return (*listed, *proposed)[:MOST_NAMES]
