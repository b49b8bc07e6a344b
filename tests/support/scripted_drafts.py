"""The short valid drafts of the scripted engine, and faults in drafts that guards must find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeVar

from tongyao.protocol.model.ids import speaker_of
from tongyao.protocol.model.observation import (
    NoteDraft,
    NoteKind,
    ObservationDraft,
    RelationDraft,
    RelationKind,
    Verdict,
)
from tongyao.protocol.model.plan import ClaimDraft, DeliveryDraft, PlanDraft, ResidualDraft, RoleDraft, TaskDraft
from tongyao.protocol.model.projection import ItemDraft, ItemKind, ProjectionDraft
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    PlannerRequest,
)
from tongyao.protocol.model.sizes import cut
from tongyao.protocol.model.tension import LineQuoteDraft, TensionDraft
from tongyao.protocol.model.value import Draft
from tongyao.protocol.rules.standing import not_examined, standing

Spoil = Literal["invented_quote", "unquoted", "missing_pair", "recommendation", "unknown_source", "cycle"]
"""`invented_quote`, `unquoted`: for a projection. `missing_pair`, `recommendation`: for an observation.
`unknown_source`, `cycle`: for a plan.
"""

DraftT = TypeVar("DraftT", bound=Draft)

INVENTED: Final = "this sentence stands in no profile at all"
RECOMMENDATION: Final = "I recommend that P01 and P02 should work together; 建议 P01 和 P02 直接合作。"
NO_SUCH_ID: Final = "R99/P99/99"


def tension(request: FormulationRequest, quote_chars: int) -> TensionDraft:
    """All four lenses from the beginning of the intent. The grade is A for every intent."""
    known = _beginning(request.material.text if request.material else request.intent, quote_chars)
    about = cut(request.intent.strip(), 40)
    quotes = [LineQuoteDraft(line=line, quote=about if line in "TB1" else known) for line in ("T", "I", "B1", "E")]
    return TensionDraft(transition=about, initial_state=known, barriers=[about], exchange=known, quotes=quotes)


def projection(request: EndpointRequest, quote_chars: int) -> ProjectionDraft:
    """One capability item: a quote from the profile, from a later place in each round. It answers the gaps that ask this alias."""
    whole = max((piece.text for piece in request.material.pieces), key=len, default="")
    quote = _beginning(whole[(request.round - 1) * quote_chars :].lstrip() or whole, quote_chars)
    if not quote:
        return ProjectionDraft()
    target = next((name for name in request.tension.targets() if name.startswith("B")), "T")
    item = ItemDraft(
        kind=ItemKind.CAPABILITY,
        text=f"{request.alias}, round {request.round}: {quote}",
        quotes=[quote],
        about=list(request.asked) or [target],
    )
    return ProjectionDraft(items=[item])


def observation(
    request: CatalystRequest, verdict: Verdict, relate: Mapping[str, RelationKind], gaps: Sequence[str] = ()
) -> ObservationDraft:
    """The script's relations that are not valid yet, each with the first valid items of its participants, and the
    script's gaps.

    All other unexamined pairs are in `none`.
    """
    state = standing(request.exchange)
    first: dict[str, str] = {}
    for item in state.valid_items:
        first.setdefault(speaker_of(item.id), item.id)
    relations = []
    for between, kind in relate.items():
        a, b = between.split("-")
        if all(relation.kind is not kind for relation in state.between(a, b)):
            sources = [first[side] for side in (a, b) if side in first]
            relations.append(RelationDraft(between=[a, b], kind=kind, text=f"{a}, {b}: {kind.value}", sources=sources))
    related = {tuple(relation.between) for relation in relations}
    return ObservationDraft(
        verdict=verdict,
        why=f"round {request.round}",
        relations=relations,
        none=[list(pair) for pair in not_examined(state, request.contributors) if pair not in related],
        notes=[
            NoteDraft(
                kind=NoteKind.GAP,
                text=f"open after round {request.round}, number {number}",
                about=["T"],
                sources=[first[alias]] if alias in first else [],
                asks=alias,
            )
            for number, alias in enumerate(gaps, 1)
        ],
        words=f"round {request.round}: {verdict.value}",
    )


def plan(request: PlannerRequest, residuals: int) -> PlanDraft:
    """A role and a task for each participant with items, each based on the participant's first item."""
    first: dict[str, str] = {}
    for turn in request.exchange:
        for one in turn.projections:
            if one.items and one.alias in request.aliases and one.alias not in request.without:
                first.setdefault(one.alias, one.items[0].id)
    return PlanDraft(
        possible=[
            ClaimDraft(text=cut(request.tension.transition, 40), sources=["T/T"]),
            *(
                ClaimDraft(text=f"from {child.title}", sources=list(child.plan.roles[0].conditions[0].sources))
                for child in request.children
            ),
        ],
        roles=[
            RoleDraft(alias=alias, role="gives", conditions=[ClaimDraft(text="what they said", sources=[source])])
            for alias, source in sorted(first.items())
        ],
        tasks=[
            TaskDraft(id=f"task/{number}", title=f"what {alias} said", assignee=alias, sources=[source])
            for number, (alias, source) in enumerate(sorted(first.items()), 1)
        ],
        residuals=[
            ResidualDraft(
                title=f"residual {number}",
                transition=f"what stayed open, part {number}",
                initial_state=cut(request.tension.initial_state, 40),
                barriers=[f"open point {number}"],
                exchange=cut(request.tension.exchange, 40),
                sources=["T/T"],
            )
            for number in range(1, residuals + 1)
        ],
    )


def delivery(request: DeliveryRequest) -> DeliveryDraft:
    tasks = [task for task in request.plan.tasks if task.assignee == request.alias]
    return DeliveryDraft(asked=[ClaimDraft(text=task.title, sources=list(task.sources)) for task in tasks])


def spoiled(draft: DraftT, spoil: Spoil) -> DraftT:
    """`draft` with a fault. Raises `ValueError` if such a draft cannot have this fault."""
    match draft, spoil:
        case ProjectionDraft(), "invented_quote" | "unquoted":
            quotes = [INVENTED] if spoil == "invented_quote" else []
            item = ItemDraft(kind=ItemKind.CAPABILITY, text=INVENTED, quotes=quotes, about=["T"])
            return draft.model_copy(update={"items": [*draft.items, item]})
        case ObservationDraft(), "missing_pair":
            return draft.model_copy(update={"none": draft.none[1:]})
        case ObservationDraft(), "recommendation":
            note = NoteDraft(kind=NoteKind.IGNORED, text=RECOMMENDATION, about=["T"])
            return draft.model_copy(update={"notes": [*draft.notes, note]})
        case PlanDraft(), "unknown_source":
            claim = ClaimDraft(text="a claim that nothing bears out", sources=[NO_SUCH_ID])
            return draft.model_copy(update={"possible": [*draft.possible, claim]})
        case PlanDraft(), "cycle":
            names = [task.id for task in draft.tasks]
            tasks = [task.model_copy(update={"prerequisites": [names[at - 1]]}) for at, task in enumerate(draft.tasks)]
            return draft.model_copy(update={"tasks": tasks})
    raise ValueError(f"{spoil} cannot be done to a {type(draft).__name__}: the rule's step does not fit")


def _beginning(text: str, characters: int) -> str:
    return text.strip()[:characters].strip()
