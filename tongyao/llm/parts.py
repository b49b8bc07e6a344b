"""Which parts of a step's prompt hold for a request: what a request does not contain is not described in it."""

from __future__ import annotations

from collections.abc import Iterable

from tongyao.llm.labels import label, line
from tongyao.protocol.model.observation import Note, Observation, Pair, Verdict
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.projection import Projection
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    Language,
    Mandate,
    PlannerRequest,
    Request,
)
from tongyao.protocol.rules.catalyst_task import catalyst_task
from tongyao.protocol.rules.news import REPEATS_FROM_ROUND
from tongyao.protocol.rules.relations import observations_of, standing


def parts_of(request: Request) -> tuple[str, ...]:
    """Names of the parts for `request`, in the order in which they are told."""
    match request:
        case FormulationRequest():
            return _chosen(_of_formulation(request))
        case EndpointRequest():
            return _chosen(_of_endpoint(request))
        case CatalystRequest():
            return _chosen(_of_catalyst(request))
        case PlannerRequest():
            return _chosen(_of_planner(request))
        case DeliveryRequest():
            return () if request.plan.has_part(request.alias) else ("without_part",)
    return ()


def _of_formulation(request: FormulationRequest) -> dict[str, bool]:
    return {
        "profile": request.material is not None,
        "pieces": request.material is not None and not request.material.is_whole,
    }


def _of_endpoint(request: EndpointRequest) -> dict[str, bool]:
    proxy = request.words is None
    return {
        turn_kind(request): True,
        "joined": turn_kind(request) == "first" and bool(request.observations),
        "framework": framework_to_answer(request) is not None,
        "taken_back": bool(taken_back(request.own)),
        "exhausted": bool(request.own) and _exhausted(request),
        "repeats": proxy and request.round >= REPEATS_FROM_ROUND,
        "repeated": any(item.repeated for turn in request.own for item in turn.items),
        "pieces": proxy and not request.material.is_whole,
        "demander": request.alias == DEMANDER,
        "mandate": proxy and bool(mandate_lines(request.mandate, request.language)),
    }


def _exhausted(request: EndpointRequest) -> bool:
    """Whether the last observation's verdict is `exhausted`, and the rounds go on nevertheless."""
    return bool(request.observations) and request.observations[-1].verdict is Verdict.EXHAUSTED


def _of_catalyst(request: CatalystRequest) -> dict[str, bool]:
    task = catalyst_task(request.model_copy(update={"only_pairs": ()}))
    return {
        "early": not request.verdict_counts,
        "counting": request.verdict_counts,
        "again": request.round > 1,
        "carried": bool(task.carried),
        "framework_open": task.framework is not None,
        "framework_none": task.framework is None,
        "untouched": bool(task.untouched),
        "taken_back": bool(taken_back(turns_of(request))),
        "not_taken": bool(task.not_taken),
        "last": request.round >= request.round_limit,
        "remarks": bool(task.remarks),
        "strategy": bool(request.strategy.strip()),
    }


def _of_planner(request: PlannerRequest) -> dict[str, bool]:
    return {
        "relations": bool(standing(observations_of(request.exchange))),
        "absent": bool(request.absent),
        "open_points": bool(request.open_points),
        "taken_back": bool(taken_back(turns_of(request))),
        "profiles": bool(request.materials),
        "pieces": not all(material.is_whole for material in request.materials.values()),
        "declined": bool(request.without),
        "proposal": bool(request.proposals),
        "child_plan": bool(request.children),
    }


def _chosen(parts: dict[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, holds in parts.items() if holds)


def turn_kind(request: EndpointRequest) -> str:
    """`sort` for a person's own words, `first` where the speaker was not asked before, otherwise `later`."""
    return "sort" if request.words is not None else "later" if request.own else "first"


def framework_to_answer(request: EndpointRequest) -> Note | None:
    """The framework of the last observation, new or still open, which an item of this turn may answer."""
    last = request.observations[-1] if request.observations else None
    return next(iter(last.frameworks), None) if last is not None else None


def turns_of(request: CatalystRequest | PlannerRequest) -> tuple[Projection, ...]:
    """Every turn of the exchange so far."""
    return tuple(turn for exchange in request.exchange for turn in exchange.projections)


def with_own_sources(seen: Observation, alias: str) -> Observation:
    """`seen` as an endpoint reads it: of the sources only its own items, since it cannot look up anybody else's."""

    def own(sources: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(one for one in sources if one.split("/")[1:2] == [alias])

    def pair(one: Pair) -> Pair:
        second = one.second and one.second.model_copy(update={"sources": own(one.second.sources)})
        return one.model_copy(update={"sources": own(one.sources), "second": second})

    names = ("contributions", "translations", "gaps", "ignored", "frameworks", "third_party_value")
    rest = {
        name: tuple(one.model_copy(update={"sources": own(one.sources)}) for one in getattr(seen, name))
        for name in names
    }
    return seen.model_copy(update={"pairs": tuple(map(pair, seen.pairs)), **rest})


def taken_back(turns: Iterable[Projection]) -> tuple[str, ...]:
    """Ids of items that their speakers have taken back, in order."""
    return tuple(sorted({back for turn in turns for item in turn.items for back in item.withdraws}))


def mandate_lines(mandate: Mandate, language: Language) -> str:
    """A mandate as lines of a request; empty where it says nothing besides that the proxy may speak."""
    said = (
        ("speak only of", "; ".join(mandate.topics)),
        ("never disclose", "; ".join(mandate.never)),
        ("the person adds", mandate.addition),
    )
    return "\n".join(f"{label(name, language)}: {line(text)}" for name, text in said if text.strip())
