"""The short valid drafts of the scripted engine, and the ways of spoiling one that guards must find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeVar

from tongyao.protocol.model.observation import (
    CorrespondenceDraft,
    NoteDraft,
    ObservationDraft,
    PairDraft,
    Relation,
    Verdict,
    all_pairs,
)
from tongyao.protocol.model.plan import ClaimDraft, DeliveryDraft, PlanDraft, ResidualDraft, RoleDraft, TaskDraft
from tongyao.protocol.model.projection import Dimension, ItemDraft, ProjectionDraft
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

Spoil = Literal["invented_quote", "unquoted", "missing_pair", "recommendation", "unknown_source", "cycle"]
"""`invented_quote`, `unquoted`: of a projection. `missing_pair`, `recommendation`: of an observation.
`unknown_source`, `cycle`: of a plan."""

DraftT = TypeVar("DraftT", bound=Draft)

INVENTED: Final = "this sentence stands in no profile at all"
RECOMMENDATION: Final = "I recommend that P01 and P02 should work together; 建议 P01 和 P02 直接合作。"
NO_SUCH_ID: Final = "R99/P99/99"


def tension(request: FormulationRequest, quote_chars: int) -> TensionDraft:
    """All four lenses from the intent's beginning: grade A, whatever the intent."""
    known = _beginning(request.material.text if request.material else request.intent, quote_chars)
    about = cut(request.intent.strip(), 40)
    quotes = [LineQuoteDraft(line=line, quote=about if line in "TB1" else known) for line in ("T", "I", "B1", "E")]
    return TensionDraft(transition=about, initial_state=known, barriers=[about], exchange=known, quotes=quotes)


def projection(request: EndpointRequest, quote_chars: int) -> ProjectionDraft:
    """One capability item: a quote from the person's words, or from the profile, further on in it in each
    round."""
    source = request.words
    if source is None:
        whole = max((piece.text for piece in request.material.pieces), key=len, default="")
        source = whole[(request.round - 1) * quote_chars :].lstrip() or whole
    quote = _beginning(source, quote_chars)
    if not quote:
        return ProjectionDraft(nothing_new=True)
    target = next((name for name in request.tension.targets() if name.startswith("B")), "T")
    item = ItemDraft(
        dimension=Dimension.CAPABILITY,
        claim=f"{request.alias}, round {request.round}: {quote}",
        targets=[target],
        quotes=[quote],
    )
    return ProjectionDraft(items=[item])


def observation(request: CatalystRequest, verdict: Verdict, relate: Mapping[str, Relation]) -> ObservationDraft:
    """Every wanted pair: `relate`d as the script says, on the items of both, the first one's in the slots of its form, else
    `none_found`."""
    said: dict[str, list[str]] = {}
    for turn in request.exchange:
        for one in turn.projections:
            said.setdefault(one.alias, []).extend(item.id for item in one.items)
    pairs = []
    for a, b in request.only_pairs or all_pairs(request.contributors):
        relation = relate.get(f"{a}-{b}", Relation.NONE_FOUND)
        pair = PairDraft(a=a, b=b, relation=relation, text=f"{a}, {b}: {relation.value}")
        left, right = (said.get(alias, []) if relation.related else [] for alias in (a, b))
        pair.sources = left[:1] + right[:1]
        match relation:
            case Relation.COMPLEMENTARY:
                pair.lack, pair.means = left[:1], right[:1]
            case Relation.OFFSETTING:
                pair.condition, pair.cancels = left[:1], right[:1]
            case Relation.ALIGNED:
                pair.steps = [CorrespondenceDraft(a=x, b=y) for x, y in zip(left, right, strict=False)]
        pairs.append(pair)
    return ObservationDraft(verdict=verdict, pairs=pairs, markdown=f"round {request.round}: {verdict.value}")


def plan(request: PlannerRequest, residuals: int) -> PlanDraft:
    """A role and a task per participant who said something, each resting on their first item."""
    first: dict[str, str] = {}
    for turn in request.exchange:
        for one in turn.projections:
            if one.items and one.alias in request.aliases and one.alias not in request.without:
                first.setdefault(one.alias, one.items[0].id)
    return PlanDraft(
        panorama=[
            ClaimDraft(text=cut(request.tension.transition, 40), sources=["T/T"]),
            *(
                ClaimDraft(text=f"from {child.title}", sources=list(child.plan.roles[0].contributions[0].sources))
                for child in request.children
            ),
        ],
        roles=[
            RoleDraft(alias=alias, role="gives", contributions=[ClaimDraft(text="what they said", sources=[source])])
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
    """`draft` with a fault in it. Raises `ValueError` when that fault cannot stand in such a draft."""
    match draft, spoil:
        case ProjectionDraft(), "invented_quote" | "unquoted":
            quotes = [INVENTED] if spoil == "invented_quote" else []
            item = ItemDraft(dimension=Dimension.CAPABILITY, claim=INVENTED, quotes=quotes)
            return draft.model_copy(update={"items": [*draft.items, item], "nothing_new": False})
        case ObservationDraft(), "missing_pair":
            return draft.model_copy(update={"pairs": draft.pairs[1:]})
        case ObservationDraft(), "recommendation":
            return draft.model_copy(update={"ignored": [*draft.ignored, NoteDraft(text=RECOMMENDATION)]})
        case PlanDraft(), "unknown_source":
            claim = ClaimDraft(text="a claim that nothing bears out", sources=[NO_SUCH_ID])
            return draft.model_copy(update={"panorama": [*draft.panorama, claim]})
        case PlanDraft(), "cycle":
            names = [task.id for task in draft.tasks]
            tasks = [task.model_copy(update={"prerequisites": [names[at - 1]]}) for at, task in enumerate(draft.tasks)]
            return draft.model_copy(update={"tasks": tasks})
    raise ValueError(f"{spoil} cannot be done to a {type(draft).__name__}: the rule's step does not fit")


def _beginning(text: str, characters: int) -> str:
    return text.strip()[:characters].strip()
