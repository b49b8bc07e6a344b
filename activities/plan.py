"""Makes the plan (docs/protocol.md §7): a model writes it, with one repair; if that fails, it is assembled from the record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import Question, model_step
from tongyao.llm.errors import OutOfBudget, Refused, Unreadable
from tongyao.protocol.contracts.process import PLAN, PlanInput, PlanOutput
from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.guards.fallback import block_in_text, minimal_plan, says_nothing
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.model.observation import GapKind
from tongyao.protocol.model.plan import Plan, PlanDraft
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import Material, Piece, PlannerRequest
from tongyao.protocol.model.tension import Lineage
from tongyao.protocol.rules import request_access
from tongyao.protocol.rules.plans.child_plan import child_plan, child_sources
from tongyao.protocol.rules.plans.holes import hole_title
from tongyao.protocol.rules.plans.lineage import child_id, hole_id
from tongyao.records.privacy.texts import NewText, text_id
from tongyao.records.process.announcements import not_asked_before
from tongyao.records.process.plans import PlanRow
from tongyao.records.process.processes import ProcessRow

PROFILE_CHARS = 3_000
"""The most a plan's request holds of each profile. It helps to understand the record and is never a source
(docs/protocol.md §4.6, docs/models.md §6)."""


class Planning:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=PLAN.name)
    async def plan(self, what: PlanInput) -> PlanOutput:
        """Make one revision of the plan. It is never empty: without an answer it is assembled from the record."""
        repositories, calls = self._deps.repositories, self._deps.model_calls
        async with model_step(repositories, calls, PLAN.step, what) as run:
            row = run.process
            record = await repositories.record(row, before_plan=what.revision)
            open_points = _open_points(record) if what.unconverged else ()
            children = [(await repositories.record(child), _title(record, child)) for child in what.children]
            request = await asyncio.to_thread(
                request_access.for_planner,
                record,
                materials=await self._materials(record, row, what.readable),
                converged=not what.unconverged,
                open_points=open_points,
                without=what.without,
                proposals=what.proposals,
                children=[child_plan(child, title) for child, title in children],
                revision=what.revision,
            )
            draft, reduced = await self._drafted(run.question(request, revision=what.revision))
            plan = settle_plan(
                draft,
                revision=what.revision,
                language=record.language,
                contributors=request.aliases,
                known=dict(
                    record.item_ids(), **{k: v for child, _ in children for k, v in child_sources(child).items()}
                ),
                tension=request.tension,
                absent=request.absent,
                lineage=Lineage(
                    root=row.root_id, parent=row.id, residual=f"plan/{what.revision}/residual/0", depth=row.depth + 1
                ),
                open_points=request.open_points,
                reduced=reduced,
                hidden=not record.open_record,
                said=record.items(),
            )
            plan = await self._write(what, row.epoch, plan)
        claims = plan.claims()
        left = await not_asked_before(repositories, what.process_id, plan.residuals)
        return PlanOutput(
            claims=len(claims),
            supported=sum(claim.supported for claim in claims),
            residuals=tuple(residual.id for residual in left),
            reduced=plan.reduced,
            spent=await calls.spent(what.process_id),
        )

    async def _drafted(self, question: Question[PlannerRequest, PlanDraft]) -> tuple[PlanDraft, bool]:
        """An answer or its repair. Without one, a block of JSON in the text. Without that, a minimal plan from the record, and True."""
        request = question.request
        try:
            settled, _ = await self._deps.model_calls.ask(question)
        except Unreadable as error:
            found = block_in_text(error.text)
            return (found, False) if found is not None else (minimal_plan(request), True)
        except (Refused, OutOfBudget):
            return minimal_plan(request), True
        return (minimal_plan(request), True) if says_nothing(settled.draft) else (settled.draft, False)

    async def _materials(self, record: Record, process: ProcessRow, readable: Sequence[str]) -> dict[str, Material]:
        """The profiles of those who contributed, as far as their owners let their proxies speak. `readable`: aliases."""
        repositories = self._deps.repositories
        materials: dict[str, Material] = {}
        speakers = [record.participant(alias) for alias in record.contributors() if alias in readable]
        profiles = {one.alias: one.profile for one in speakers if one.profile is not None}
        consenting, mandates = await repositories.speaking_in(process, [one.profile_id for one in profiles.values()])
        profiles = {alias: one for alias, one in profiles.items() if one.profile_id in consenting}
        texts = await repositories.profile_texts(list(profiles.values()))
        for alias, profile in profiles.items():
            mandate, text = mandates[profile.profile_id], texts.get(profile)
            if text is None or mandate.keeps_profile_back:
                continue
            if len(text) <= PROFILE_CHARS:
                materials[alias] = Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))
            elif record.tension is not None:
                brief = self._deps.brief or self._deps.retriever
                materials[alias] = await brief.retrieve(profile, text, record.tension)
        return materials

    async def _write(self, what: PlanInput, epoch: int, plan: Plan) -> Plan:
        """Write it to the record. Returns the one that counts: an earlier attempt's, if that one wrote it."""
        repositories = self._deps.repositories
        owner = f"process:{what.process_id}"
        whole = plan.model_copy(update={"markdown": plan_markdown(plan)})
        parts = ("plan", what.process_id, epoch, what.revision)
        structure, words = text_id(*parts, "json"), text_id(*parts, "markdown")
        stand = await repositories.texts.first_many(
            [
                NewText(structure, owner, "plan", whole.model_dump_json()),
                NewText(words, owner, "plan", whole.markdown),
            ]
        )
        plan = Plan.model_validate_json(stand[structure])
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
    """What the plan called the residual that `child` answers to, or whose hole it fills."""
    titles = {one.id: one.title for plan in record.plans for one in plan.residuals}
    for plan in record.plans:
        titles |= {hole_id(plan.revision, role.alias): hole_title(role.alias, plan.language) for role in plan.roles}
    return next((title for id, title in titles.items() if child_id(record.process_id, id) == child), child)


def _open_points(record: Record) -> tuple[str, ...]:
    """What the last observation left open: overlooked gaps, and information nobody answered to. What is absent is asked apart."""
    if not record.observations:
        return ()
    last = record.observations[-1]
    overlooked = (gap for gap in last.gaps if gap.kind is GapKind.OVERLOOKED)
    return tuple(gap.text or gap.target for gap in overlooked) + tuple(note.text for note in last.ignored)
