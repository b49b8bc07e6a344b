"""A delivery says what the plan says of its reader, all of it and nothing else (docs/protocol.md §7.5). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tongyao.protocol.documents.delivery_page import delivery_markdown
from tongyao.protocol.guards.ids_in_text import without_ids
from tongyao.protocol.guards.naming import named_ids
from tongyao.protocol.guards.support import doubt
from tongyao.protocol.model.plan import Claim, ClaimDraft, Delivery, DeliveryDraft, Plan
from tongyao.protocol.model.requests import Language


def settle_delivery(draft: DeliveryDraft, *, alias: str, plan: Plan, language: Language) -> Delivery:
    """The delivery in `draft`, with its Markdown.

    - Ids in sentences become sources; a source that the plan does not cite is struck, and a claim without one marked.
    - What the plan says of this person and the draft left out is added as the plan words it: their tasks, and the claims
      of their role, where no claim of the draft rests on any of the same sources.
    """
    known = {one.id: one.text for one in plan.references}

    def claims(drafts: Iterable[ClaimDraft]) -> tuple[Claim, ...]:
        return tuple(claim for one in drafts if (claim := _claim(one, known, language, plan)).text)

    delivery = Delivery(
        alias=alias,
        plan_revision=plan.revision,
        language=language,
        about=claims(draft.about) or plan.about or plan.panorama,
        asked=claims(draft.asked),
        gains=claims(draft.gains),
        conditions=claims(draft.conditions),
        open=claims(draft.open),
        remarks=tuple(draft.remarks),
    )
    whole = _completed(delivery, plan)
    return whole.model_copy(update={"markdown": delivery_markdown(whole, plan)})


def _claim(draft: ClaimDraft, known: dict[str, str], language: Language, plan: Plan) -> Claim:
    text, found = without_ids(draft.text, language)
    sources = named_ids([*draft.sources, *found], known)
    compared = language == plan.language and all(known[source] for source in sources)
    return Claim(
        text=text,
        sources=sources,
        supported=bool(sources),
        concluded=draft.concluded and bool(sources),
        doubt=doubt(text, [known[source] for source in sources], language) if sources and compared else "",
    )


def _completed(delivery: Delivery, plan: Plan) -> Delivery:
    told = {source for claim in delivery.claims() for source in claim.sources}
    asked = {source for claim in delivery.asked for source in claim.sources}

    def missing(claims: Sequence[Claim]) -> tuple[Claim, ...]:
        return tuple(claim for claim in claims if not told & set(claim.sources))

    tasks = tuple(
        Claim(text=task.title, sources=task.sources, supported=bool(task.sources))
        for task in plan.tasks
        if task.assignee == delivery.alias and not asked & set(task.sources)
    )
    role = next((one for one in plan.roles if one.alias == delivery.alias), None)
    if role is None:
        return delivery.model_copy(update={"asked": (*delivery.asked, *tasks)})
    given = () if tasks else missing(role.contributions)
    return delivery.model_copy(
        update={
            "asked": (*delivery.asked, *tasks, *given),
            "gains": (*delivery.gains, *missing(role.benefits)),
            "conditions": (*delivery.conditions, *missing((*role.costs, *role.dependencies))),
        }
    )


def delivery_of_plan(plan: Plan, alias: str) -> DeliveryDraft:
    """A delivery assembled from the plan alone, in the plan's words: what it is about, tasks, gains, conditions, collisions."""
    role = next((one for one in plan.roles if one.alias == alias), None)
    tasks = [task for task in plan.tasks if task.assignee == alias]
    asked = [ClaimDraft(text=task.title, sources=list(task.sources)) for task in tasks]
    done = {source for task in tasks for source in task.sources}
    if role is not None:
        asked += _drafts(claim for claim in role.contributions if not done & set(claim.sources))
    return DeliveryDraft(
        about=_drafts((*plan.about, *(claim for claim in plan.panorama if alias in claim.text or not plan.about))),
        asked=asked,
        gains=_drafts(role.benefits if role else ()),
        conditions=_drafts((*role.costs, *role.dependencies) if role else ()),
        open=_drafts(claim for claim in plan.offsets if alias in claim.text),
    )


def _drafts(claims: Iterable[Claim]) -> list[ClaimDraft]:
    return [ClaimDraft(text=one.text, sources=list(one.sources), concluded=one.concluded) for one in claims]
