"""Makes the plan (docs/protocol.md §7). A model writes it, with one repair. If that fails, code assembles it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import Question, model_step, parks
from tongyao.llm.errors import ModelRefused, OutOfBudget, Unreadable
from tongyao.protocol.contracts.process import PLAN, PlanInput, PlanOutput
from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.guards.fallback import block_in_text, minimal_plan, says_nothing
from tongyao.protocol.guards.plans import PLAN_CHECKS, settle_plan
from tongyao.protocol.model.ids import child_id, hole_id
from tongyao.protocol.model.plan import Plan, PlanDraft
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import Material, PlannerRequest
from tongyao.protocol.model.tension import Lineage
from tongyao.protocol.model.upcast import read_plan
from tongyao.protocol.rules import request_access
from tongyao.protocol.rules.plans.residuals import hole_title
from tongyao.records.privacy.texts import GONE, NewText, TextErased, text_id
from tongyao.records.process.announcements import not_asked_before
from tongyao.records.process.plans import PlanRow
from tongyao.records.process.process_rows import ProcessRow

PROFILE_CHARS = 3_000
"""Most characters of each profile in the planner's request. A profile helps to understand the record, and is no source
of the plan (docs/protocol.md §4.6, docs/models.md §6)."""


class Planning:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=PLAN.name)
    @parks
    async def plan(self, what: PlanInput) -> PlanOutput:
        """Make one revision of the plan. If no model answers, code assembles the plan from the record."""
        repositories, calls = self._deps.repositories, self._deps.model_calls
        async with model_step(repositories, calls, PLAN.step, what) as run:
            row = run.process
            record = await repositories.record(row, before_plan=what.revision)
            children = [(await repositories.record(child), _title(record, child)) for child in what.children]
            request = await asyncio.to_thread(
                request_access.for_planner,
                record,
                materials=await self._materials(record, row, what.readable),
                converged=not what.unconverged,
                without=what.without,
                proposals=what.proposals,
                children=[request_access.child_plan(child, title) for child, title in children],
                revision=what.revision,
                marker=await repositories.shared.marker(
                    row, {one.alias: one.identities for one in record.participants}
                ),
            )
            draft, reduced = await self._drafted(run.question(request, revision=what.revision))
            lineage = Lineage(root=row.root_id, parent=row.id, residual="", depth=row.depth + 1)
            plan = settle_plan(draft, request, lineage=lineage, hidden=not record.open_record, reduced=reduced)
            plan = await self._write(what, row, plan)
        claims = plan.claims()
        left = await not_asked_before(repositories, what.process_id, plan.residuals)
        return PlanOutput(
            claims=len(claims),
            supported=sum(claim.supported for claim in claims),
            residuals=tuple(residual.id for residual in left),
            reduced=plan.reduced,
            has_parts=any(plan.has_part(alias) for alias in (*request.aliases, DEMANDER)),
            spent=await calls.spent(what.process_id),
        )

    async def _drafted(self, question: Question[PlannerRequest, PlanDraft]) -> tuple[PlanDraft, bool]:
        """Return a draft of the plan, and whether the draft is the minimal plan, which code makes from the record.

        The first that exists is used (docs/protocol.md §7.6): the answer or its repair; a JSON block in the text of the
        answer; the minimal plan.
        """
        try:
            settled = await self._deps.model_calls.ask_and_review(question, PLAN_CHECKS)
        except Unreadable as error:
            draft = block_in_text(error.text)
        except (ModelRefused, OutOfBudget):
            draft = None
        else:
            draft = settled.draft
        if draft is None or says_nothing(draft):
            return minimal_plan(question.request), True
        return draft, False

    async def _materials(self, record: Record, process: ProcessRow, readable: Sequence[str]) -> dict[str, Material]:
        """Return the contributors' profiles by alias, if consents and mandates allow. `readable`: the aliases
        allowed."""
        repositories = self._deps.repositories
        materials: dict[str, Material] = {}
        speakers = [record.participant(alias) for alias in record.contributors() if alias in readable]
        profiles = {seat.alias: seat.profile for seat in speakers if seat.profile is not None}
        consenting, mandates = await repositories.speaking_in(
            process, [profile.profile_id for profile in profiles.values()]
        )
        profiles = {alias: profile for alias, profile in profiles.items() if profile.profile_id in consenting}
        texts = await repositories.profile_texts(list(profiles.values()))
        for alias, profile in profiles.items():
            mandate, text = mandates[profile.profile_id], texts.get(profile)
            if text is None or mandate.keeps_profile_back:
                continue
            if len(text) <= PROFILE_CHARS:
                materials[alias] = Material.whole(text)
            elif record.tension is not None:
                brief = self._deps.brief or self._deps.retriever
                materials[alias] = await brief.retrieve(profile, text, record.tension)
        return materials

    async def _write(self, what: PlanInput, process: ProcessRow, plan: Plan) -> Plan:
        """Write the plan to the record. Returns the stored plan, which an earlier attempt may have written."""
        repositories = self._deps.repositories
        owner = f"process:{what.process_id}"
        whole = plan.model_copy(update={"markdown": plan_markdown(plan)})
        parts = ("plan", what.process_id, process.epoch, what.revision)
        structure, words = text_id(*parts, "json"), text_id(*parts, "markdown")
        stand = await repositories.shared.put_marked(
            process,
            [
                NewText(structure, owner, "plan", whole.model_dump_json()),
                NewText(words, owner, "plan", whole.markdown),
            ],
        )
        if len(stand) < 2:
            raise TextErased(GONE)
        plan = read_plan(stand[structure])
        claims = plan.claims()
        await repositories.plans.put_plan(
            what.process_id,
            PlanRow(
                revision=what.revision,
                text_id=structure,
                markdown_text_id=words,
                reduced=plan.reduced,
                claims=len(claims),
                supported=sum(claim.supported for claim in claims),
            ),
        )
        return plan


def _title(record: Record, child: str) -> str:
    """Return the title of the residual, or of the hole, for which `child` was started."""
    titles = {residual.id: residual.title for plan in record.plans for residual in plan.residuals}
    for plan in record.plans:
        titles |= {hole_id(plan.revision, role.alias): hole_title(role.alias, plan.language) for role in plan.roles}
    return next((title for id, title in titles.items() if child_id(record.process_id, id) == child), child)
