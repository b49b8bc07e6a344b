"""Plans for the case that no answer can be read. They are never empty (docs/protocol.md §7.6). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import ValidationError

from tongyao.protocol.model.ids import speaker_of
from tongyao.protocol.model.observation import Relation, RelationKind
from tongyao.protocol.model.plan import ClaimDraft, PlanDraft, ResidualDraft, RoleDraft, TaskDraft
from tongyao.protocol.model.projection import Item, ItemKind
from tongyao.protocol.model.requests import PlannerRequest
from tongyao.protocol.rules.standing import standing
from tongyao.texts.catalogue import table

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.S)

SAYS = table("protocol", "reduced")


def block_in_text(text: str) -> PlanDraft | None:
    """Return the last JSON object in `text` that can be read as a plan with content, or None."""
    for candidate in _candidates(text):
        try:
            draft = PlanDraft.model_validate(json.loads(candidate))
        except (ValueError, ValidationError, RecursionError):
            continue
        if not says_nothing(draft):
            return draft
    return None


def says_nothing(draft: PlanDraft) -> bool:
    """Whether a readable answer has no claim and no task with text. It then counts as unreadable."""
    texts = [claim.text for claim in draft.possible]
    texts += [claim.text for role in draft.roles for claim in role.conditions]
    return not any(text.strip() for text in (*texts, *(task.title for task in draft.tasks)))


def minimal_plan(request: PlannerRequest) -> PlanDraft:
    """Make a plan from the items and relations in the record.

    Capabilities become tasks. Boundaries and people's own words become conditions. Complementary and aligned relations
    of two participants become claims of `possible`. Offsetting relations become claims of `offsets`. Every barrier
    without a complementary relation becomes a residual tension. `settle_plan` lists the open gaps at the end.
    """
    state = standing(request.exchange)
    items = {alias: [item for item in state.valid_items if speaker_of(item.id) == alias] for alias in request.aliases}
    told = SAYS[request.language]["said"].format(count=len(request.aliases), rounds=len(request.exchange))
    first = [said[0].id for said in items.values() if said]
    able = [(alias, item) for alias, said in items.items() for item in said if item.kind is ItemKind.CAPABILITY]
    tension = request.tension
    pairs = [relation for relation in state.relations if relation.of_participants]
    helped = {relation.between[1] for relation in state.relations if relation.kind is RelationKind.COMPLEMENTARY}
    return PlanDraft(
        possible=[ClaimDraft(text=told, sources=first or ["T/T"])]
        + [_claim(relation) for relation in pairs if relation.kind is not RelationKind.OFFSETTING],
        roles=[
            RoleDraft(
                alias=alias,
                conditions=[_claim(item) for item in said if item.kind in (ItemKind.BOUNDARY, None)],
            )
            for alias, said in items.items()
        ],
        tasks=[
            TaskDraft(id=f"t{number}", title=item.text, assignee=alias, sources=[item.id])
            for number, (alias, item) in enumerate(able, 1)
        ],
        residuals=[
            ResidualDraft(
                title=barrier,
                transition=barrier,
                initial_state=tension.initial_state,
                barriers=[barrier],
                exchange=tension.exchange,
                sources=[f"T/{name}"],
            )
            for name, barrier in tension.targets().items()
            if name.startswith("B") and name not in helped
        ],
        offsets=[_claim(relation) for relation in state.relations if relation.kind is RelationKind.OFFSETTING],
    )


def _claim(said: Item | Relation) -> ClaimDraft:
    return ClaimDraft(text=said.text, sources=[said.id])


def _candidates(text: str) -> Iterator[str]:
    yield from reversed(_FENCE.findall(text))
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        yield text[start : end + 1]
