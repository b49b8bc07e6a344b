"""Raw intent → tension (docs/protocol.md §2). Where it cannot be done, the raw text stands as T, grade C."""

from __future__ import annotations

from temporalio import activity

from activities import scene_prompts
from activities.dependencies import Deps
from activities.model_calls import model_step
from tongyao.llm.engine import CallKey, Reask
from tongyao.llm.errors import OutOfBudget, StepFailed, Unreadable
from tongyao.protocol.contracts.process import FORMULATE, FormulateInput, FormulateOutput
from tongyao.protocol.life import effects
from tongyao.protocol.model.process import TensionRef
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import FormulationRequest, Language, Material, Piece
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension, TensionDraft, from_draft, from_raw, within_limits
from tongyao.protocol.rules import views

PROFILE_CHARS = 15_000
"""Of a longer profile of the demander, a formulation reads what bears on the intent (docs/protocol.md §4.6)."""


class Formulating:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=FORMULATE.name)
    async def formulate(self, what: FormulateInput) -> FormulateOutput:
        """Formulate once; store the tension under the process's own id for it."""
        library = self._deps.library
        async with model_step(library, self._deps.settling, what):
            row = await library.processes.get(what.process_id)
            record = await library.record(what.process_id)
            request = views.for_formulation(record, await self._material(record))
            seconds = ProcessSettings.model_validate(row.settings).proxy_seconds
            try:
                tension, fallback = await self._formulated(request, what.process_id, row.demander, seconds), False
            except (StepFailed, Unreadable, OutOfBudget, ValueError):
                tension, fallback = from_raw(record.intent, language=record.language), True
        stored = effects.text_id(what.process_id, "tension")
        tension = Tension.model_validate_json(
            await library.texts.first(row.demander, "tension", tension.model_dump_json(), id=stored)
        )
        return FormulateOutput(
            tension=TensionRef(text_id=stored, grade=tension.grade, barriers=len(tension.barriers)),
            fallback=fallback,
            spent=await self._deps.settling.spent(what.process_id),
        )

    async def _formulated(self, request: FormulationRequest, process_id: str, owner: str, seconds: float) -> Tension:
        """The tension as formulated, sent back once when it breaks a limit, then shortened to it.

        Raises `ValueError` when it is no tension even then.
        """
        settling = self._deps.settling
        key = CallKey(process_id, "formulate")
        prompt = await scene_prompts.override(self._deps.library, process_id, "formulate")
        settled, mended = await settling.readable(
            key,
            lambda engine, call: engine.formulate(request, call),
            TensionDraft,
            request=request,
            owner=owner,
            seconds=seconds,
            prompt_override=prompt,
        )
        language: Language = "zh" if language_of(request.intent) == "zh" else "en"
        try:
            return from_draft(settled.draft, language=language)
        except ValueError as error:
            if mended:
                return from_draft(within_limits(settled.draft), language=language)
            too_much = error
        try:
            again = await settling.answer(
                key,
                lambda engine, call: engine.formulate(request, call),
                TensionDraft,
                request=request,
                owner=owner,
                seconds=seconds,
                reask=Reask(previous=settled.text, complaints=(str(too_much),)),
                prompt_override=prompt,
            )
        except (StepFailed, Unreadable, OutOfBudget):
            return from_draft(within_limits(settled.draft), language=language)
        return from_draft(within_limits(again.draft), language=language)

    async def _material(self, record: Record) -> Material | None:
        if record.demander.profile is None:
            return None
        text = await self._deps.library.profile_text(record.demander.profile)
        if len(text) <= PROFILE_CHARS:
            return Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))
        intent = from_raw(record.intent, language=record.language)
        return await self._deps.retriever.retrieve(record.demander.profile, text, intent)
