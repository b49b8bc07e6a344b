"""What the plan's page and the report print of a plan, besides its own layout: answers and inferences. Pure."""

from __future__ import annotations

from typing import Any

from tongyao.protocol.documents.delivery_page import delivery_page
from tongyao.protocol.documents.plan_answers import GivenAnswer, decision_in_words
from tongyao.protocol.documents.plan_page import plan_page
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.rules.plans.answered import given_answers
from tongyao.protocol.rules.read_access import PartyView


def answers_in(view: PartyView) -> tuple[GivenAnswer, ...]:
    """What everybody with a part of the plan answered, as far as the reader of the view may know it."""
    return given_answers(view.asked or (), view.answers or {}, view.answer_words or {}, view.identities or {})


def values_of(view: PartyView, plan: Plan) -> dict[str, Any]:
    """What `parts/plan.html` needs besides `view` and `plan`."""
    answers = answers_in(view)
    laid_out = plan_page(plan, answers, reader=view.you)
    return {
        "laid_out": laid_out,
        "notes": {note.number: note for note in laid_out.notes},
        "earlier": [
            (revision, [one for one in view.earlier_answers or () if one.revision == revision])
            for revision in sorted({one.revision for one in view.earlier_answers or ()}, reverse=True)
        ],
        "decision_in_words": decision_in_words,
        "inferred": inferred_in(view),
    }


def delivery_values(view: PartyView, delivery: Delivery) -> dict[str, Any]:
    """What `plan_parts.html` needs to print a delivery; no page where the reader has no plan beside it."""
    laid_out = delivery_page(delivery, view.plan) if view.plan is not None else None
    return {
        "laid_out": laid_out,
        "notes": {note.number: note for note in laid_out.notes} if laid_out is not None else {},
        "inferred": inferred_in(view),
    }


def inferred_in(view: PartyView) -> frozenset[str]:
    """The ids of items that are inferences, as far as the reader sees items."""
    said = (*(view.projections or ()), *(view.own or ()))
    return frozenset(item.id for one in said for item in one.items if item.inferred)
