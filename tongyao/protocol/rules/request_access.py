"""The requests that engines answer, made of the record: what each of them may read of it (docs/protocol.md §6). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongyao.protocol.guards.forbidden import Forbidden
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import (
    CatalystRequest,
    ChildPlan,
    DeliveryRequest,
    EndpointRequest,
    Exchange,
    FormulationRequest,
    Mandate,
    Material,
    PlannerRequest,
)
from tongyao.protocol.model.settings import MAX_ROUNDS
from tongyao.protocol.rules.convergence import VERDICT_FROM_ROUND
from tongyao.protocol.rules.identity.anonymity import Anonymizer
from tongyao.protocol.rules.plans.absent import absences
from tongyao.protocol.rules.read_access import anonymizer, as_said, observation_for_others, shown_tension


def for_formulation(record: Record, material: Material | None) -> FormulationRequest:
    names = anonymizer(record)
    return FormulationRequest(
        language=record.language,
        began=record.began,
        intent=names.text(record.intent, author=DEMANDER),
        material=names.model(material, author=DEMANDER) if material else None,
    )


def for_endpoint(
    record: Record,
    alias: str,
    *,
    material: Material,
    mandate: Mandate,
    words: str | None = None,
    round_limit: int = MAX_ROUNDS,
) -> EndpointRequest:
    """An endpoint's turn: the tension, what was made visible so far, its own words; of others nothing directly."""
    names = anonymizer(record)
    return EndpointRequest(
        language=record.language,
        began=record.began,
        alias=alias,
        round=record.round,
        round_limit=round_limit,
        tension=names.model(shown_tension(record), author=DEMANDER),
        material=names.marked(material),
        words=words,
        observations=tuple(
            observation_for_others(names.model(o)) for o in record.observations if o.round < record.round
        ),
        own=tuple(p for p in record.projections if p.alias == alias and p.round < record.round),
        mandate=_as_the_proxy_reads(mandate, record, names),
    )


def _as_the_proxy_reads(mandate: Mandate, record: Record, names: Anonymizer) -> Mandate:
    """`mandate` for a profile in which numbered names are marks: a phrase with a name, or with a part of one, holds for its mark as well."""
    never = Forbidden(mandate.never)
    meant = [one.name for one in record.names if never.stands_in(one.name)]
    by_parts = Anonymizer({str(one.number): [one.name] for one in record.names}, numbered=record.names)

    def also_marked(phrases: Sequence[str], names: Anonymizer) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*phrases, *map(names.with_marks, phrases))))

    return mandate.model_copy(
        update={
            "topics": also_marked(mandate.topics, names),
            "never": also_marked((*mandate.never, *meant), by_parts),
            "addition": names.with_marks(mandate.addition),
        }
    )


def for_catalyst(
    record: Record, *, strategy: str = "", only_pairs: Sequence[tuple[str, str]] = (), round_limit: int = MAX_ROUNDS
) -> CatalystRequest:
    """The whole exchange so far under aliases. Who spoke, a proxy or a person, cannot be told from it.

    The last round comes without an observation: one that stands in the record is of this step itself, which did not come back.
    """
    names = anonymizer(record)
    *before, last = exchange(record, names, until=record.round)
    return CatalystRequest(
        language=record.language,
        began=record.began,
        round=record.round,
        round_limit=round_limit,
        tension=names.model(shown_tension(record), author=DEMANDER),
        exchange=(*before, last.model_copy(update={"observation": None})),
        contributors=record.contributors(),
        strategy=strategy,
        verdict_counts=record.round >= VERDICT_FROM_ROUND,
        only_pairs=tuple(only_pairs),
    )


def for_planner(
    record: Record,
    *,
    materials: Mapping[str, Material],
    converged: bool = True,
    open_points: Sequence[str] = (),
    without: Sequence[str] = (),
    proposals: Sequence[str] = (),
    children: Sequence[ChildPlan] = (),
    revision: int = 1,
) -> PlannerRequest:
    """The record and the profiles it may read; those who declined stay in the record and out of the new plan."""
    names = anonymizer(record)
    rounds = exchange(record, names, until=record.round)
    observations = [turn.observation for turn in rounds if turn.observation is not None]
    return PlannerRequest(
        language=record.language,
        began=record.began,
        tension=names.model(shown_tension(record), author=DEMANDER),
        exchange=rounds,
        aliases=tuple(alias for alias in record.contributors() if alias not in without),
        materials={
            alias: names.model(material, author=alias) for alias, material in materials.items() if alias not in without
        },
        converged=converged,
        open_points=tuple(names.text(point) for point in open_points),
        absent=absences(observations, [item for turn in rounds for said in turn.projections for item in said.items]),
        without=tuple(without),
        proposals={alias: names.text(record.answer_words.get(alias, ""), author=alias) for alias in proposals},
        children=tuple(children),
        revision=revision,
    )


def for_delivery(record: Record, alias: str, plan: Plan) -> DeliveryRequest:
    return DeliveryRequest(
        language=record.participant(alias).language,
        began=record.began,
        alias=alias,
        plan=anonymizer(record).model(plan),
    )


def exchange(record: Record, names: Anonymizer, *, until: int) -> tuple[Exchange, ...]:
    """Rounds 1 to `until`: projections in alias order, then the observation; the last one may still lack it."""
    observed = {observation.round: observation for observation in record.observations}
    in_order = sorted(record.projections, key=lambda projection: projection.alias)
    return tuple(
        Exchange(
            round=number,
            projections=tuple(
                names.model(as_said(said), author=said.alias) for said in in_order if said.round == number
            ),
            observation=names.model(observed[number]) if number in observed else None,
        )
        for number in range(1, until + 1)
    )
