"""Makes a delivery contain everything that the plan states about its reader (docs/protocol.md §7.5). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tongyao.protocol.documents.delivery_page import delivery_markdown
from tongyao.protocol.guards.support import claim_of
from tongyao.protocol.model.plan import Claim, ClaimDraft, Delivery, DeliveryDraft, Plan, PlanRole
from tongyao.protocol.model.requests import Language


def settle_delivery(draft: DeliveryDraft, *, alias: str, plan: Plan, language: Language) -> Delivery:
    """Return the delivery in `draft`, with its Markdown.

    - Ids in sentences become sources. Sources that the plan does not cite are struck; claims without one are marked.
    - Parts of the plan about this person that the draft omits are added in the plan's words: their tasks, the claims of
      their role, and the offsets that name them, if no claim of the draft has one of the same sources. An empty draft
      becomes the plan's own words.
    """
    known = {source.id: source.text for source in plan.references}

    def claims(drafts: Iterable[ClaimDraft]) -> tuple[Claim, ...]:
        made = (claim_of(entry, known, language, compared=language == plan.language) for entry in drafts)
        return tuple(claim for claim in made if claim.text)

    delivery = Delivery(
        alias=alias,
        plan_revision=plan.revision,
        language=language,
        about=claims(draft.about) or plan.possible,
        asked=claims(draft.asked),
        gains=claims(draft.gains),
        conditions=claims(draft.conditions),
        open=claims(draft.open),
        remarks=tuple(draft.remarks),
    )
    whole = _completed(delivery, plan)
    return whole.model_copy(update={"markdown": delivery_markdown(whole, plan)})


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
    role = next((role for role in plan.roles if role.alias == delivery.alias), PlanRole(alias=delivery.alias, role=""))
    return delivery.model_copy(
        update={
            "asked": (*delivery.asked, *tasks),
            "gains": (*delivery.gains, *missing(role.benefits)),
            "conditions": (*delivery.conditions, *missing(role.conditions)),
            "open": (*delivery.open, *missing([claim for claim in plan.offsets if delivery.alias in claim.text])),
        }
    )
