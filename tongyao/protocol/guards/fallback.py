"""What stands when no answer can be read: never nothing (docs/protocol.md §7.6). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import ValidationError

from tongyao.protocol.model.observation import Effect
from tongyao.protocol.model.plan import ClaimDraft, PlanDraft, ResidualDraft, RoleDraft, TaskDraft
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import PlannerRequest

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.S)

SAYS = {
    "en": "Participants who contributed: {count}. Rounds: {rounds}. What follows is taken from the record.",
    "zh": "{count} 位参与者在 {rounds} 轮中作出了投影；以下内容直接取自记录。",
}


def block_in_text(text: str) -> PlanDraft | None:
    """The last JSON object in `text` that reads as a plan with any content; None when there is none."""
    for candidate in _candidates(text):
        try:
            draft = PlanDraft.model_validate(json.loads(candidate))
        except (ValueError, ValidationError, RecursionError):
            continue
        if not says_nothing(draft):
            return draft
    return None


def says_nothing(draft: PlanDraft) -> bool:
    """Whether an answer that can be read holds no claim with any words: then it is no better than one that cannot."""
    of_roles = (
        claim
        for role in draft.roles
        for group in (role.contributions, role.benefits, role.costs, role.dependencies)
        for claim in group
    )
    return not any(claim.text.strip() for claim in (*draft.about, *draft.panorama, *of_roles, *draft.order))


def minimal_plan(request: PlannerRequest) -> PlanDraft:
    """A plan assembled from the record alone: each contributor's capabilities, their boundaries as costs, and every
    barrier that nobody dissolves as a residual tension."""
    items = [item for exchange in request.exchange for said in exchange.projections for item in said.items]
    by_alias = {alias: [item for item in items if item.id.split("/")[1] == alias] for alias in request.aliases}
    says = SAYS[request.language]
    first = [item.id for alias in request.aliases for item in by_alias[alias][:1]]
    about = [ClaimDraft(text=text, sources=[f"T/{name}"]) for name, text in request.tension.targets().items()]
    return PlanDraft(
        about=about,
        panorama=[
            ClaimDraft(
                text=says.format(count=len(request.aliases), rounds=len(request.exchange)),
                sources=first or ["T/T"],
            )
        ],
        roles=[
            RoleDraft(
                alias=alias,
                contributions=_claims(by_alias[alias], Dimension.CAPABILITY),
                costs=_claims(by_alias[alias], Dimension.BOUNDARY),
            )
            for alias in request.aliases
        ],
        tasks=[
            TaskDraft(id=f"T{number}", title=said[0].statement, assignee=alias, sources=[said[0].id])
            for number, (alias, said) in enumerate(
                (
                    (alias, [i for i in by_alias[alias] if i.dimension is Dimension.CAPABILITY])
                    for alias in request.aliases
                ),
                1,
            )
            if said
        ],
        residuals=[
            ResidualDraft(
                title=barrier,
                transition=barrier,
                initial_state=request.tension.initial_state,
                barriers=[barrier],
                exchange=request.tension.exchange,
                sources=[f"T/{name}"],
            )
            for name, barrier in request.tension.targets().items()
            if name.startswith("B") and name not in _met(request)
        ],
    )


def _candidates(text: str) -> Iterator[str]:
    yield from reversed(_FENCE.findall(text))
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        yield text[start : end + 1]


def _claims(items: list[Item], dimension: Dimension) -> list[ClaimDraft]:
    return [ClaimDraft(text=item.statement, sources=[item.id]) for item in items if item.dimension is dimension]


def _met(request: PlannerRequest) -> set[str]:
    return {
        contribution.target
        for exchange in request.exchange
        if exchange.observation is not None
        for contribution in exchange.observation.contributions
        if contribution.effect is Effect.DISSOLVES
    }
