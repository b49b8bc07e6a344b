"""The requests that engines answer, made of the record: what each of them may read of it (docs/protocol.md §6). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tongyao.protocol.guards.forbidden import Forbidden
from tongyao.protocol.model.ids import round_of, speaker_of
from tongyao.protocol.model.observation import NoteKind, Statement, Verdict
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.projection import Projection
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
from tongyao.protocol.rules.convergence import VERDICT_FROM_ROUND
from tongyao.protocol.rules.identity.anonymity import Anonymizer
from tongyao.protocol.rules.read_access import anonymizer, as_said, shown_tension
from tongyao.protocol.rules.standing import rounds_of, standing

MAX_FOCUS: Final = 6
"""The most texts, newest first, that a long profile is searched for besides the tension."""


def for_formulation(record: Record, material: Material | None) -> FormulationRequest:
    names = anonymizer(record)
    return FormulationRequest(
        language=record.language,
        began=record.began,
        intent=names.text(record.intent, author=DEMANDER),
        material=names.model(material, author=DEMANDER) if material else None,
    )


def for_endpoint(record: Record, alias: str, *, material: Material, mandate: Mandate) -> EndpointRequest:
    """An endpoint's turn: the tension, its own items that hold, what the catalyst has stated that holds; of others nothing directly.

    Statements come without their sources: ids of items would tell who said something in which round.
    """
    names = anonymizer(record)
    rounds = _before(record)
    state = standing(rounds)
    last = rounds[-1].observation if rounds else None
    seated = any(participant.alias == alias for participant in record.participants)
    return EndpointRequest(
        language=record.language,
        began=record.began,
        alias=alias,
        round=record.round,
        tension=names.model(shown_tension(record), author=DEMANDER),
        material=names.marked(material),
        mandate=_as_the_proxy_reads(mandate, record, names),
        first=not any(turn.alias == alias for exchange in rounds for turn in exchange.projections),
        items=tuple(
            item.model_copy(update={"quotes": (), "text": names.with_marks(item.text)})
            for item in state.valid_items
            if speaker_of(item.id) == alias
        ),
        stands=tuple(names.model(statement.model_copy(update={"sources": ()})) for statement in state.statements),
        asked=tuple(
            note.id
            for note in state.notes
            if (asked := state.asked.get(note.id)) and (asked.alias, asked.round) == (alias, record.round)
        ),
        words=names.text(last.words) if last is not None else "",
        answers_only=alias == DEMANDER and not seated,
        exhausted=last is not None and last.verdict is Verdict.EXHAUSTED,
    )


def focus_of(record: Record, alias: str) -> tuple[str, ...]:
    """The texts that a long profile is searched for besides the tension, at most `MAX_FOCUS`: relations with `alias`, frameworks,
    and gaps that are open. Those that name `alias` come first, and of these and of the others the newest.
    """
    state = standing(_before(record))
    named: list[Statement] = [relation for relation in state.relations if alias in relation.between]
    named += [gap for gap in state.open_gaps if alias in (gap.asks, *gap.about)]
    others = [note for note in state.notes if note.kind is NoteKind.FRAMEWORK or note in state.open_gaps]
    newest = sorted(named, key=_round, reverse=True) + sorted(others, key=_round, reverse=True)
    return tuple(dict.fromkeys(statement.text for statement in newest))[:MAX_FOCUS]


def _round(statement: Statement) -> int:
    return round_of(statement.id)


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


def for_catalyst(record: Record, *, strategy: str = "") -> CatalystRequest:
    """The whole exchange so far under aliases. Who spoke, a proxy or a person, cannot be told from it.

    The last round comes without an observation: one that stands in the record is of this step itself, which did not come back.
    """
    names = anonymizer(record)
    *before, last = exchange(record, names, until=record.round)
    return CatalystRequest(
        language=record.language,
        began=record.began,
        round=record.round,
        tension=names.model(shown_tension(record), author=DEMANDER),
        exchange=(*before, last.model_copy(update={"observation": None})),
        contributors=record.contributors(),
        strategy=strategy,
        verdict_counts=record.round >= VERDICT_FROM_ROUND,
    )


def for_planner(
    record: Record,
    *,
    materials: Mapping[str, Material],
    converged: bool = True,
    without: Sequence[str] = (),
    proposals: Sequence[str] = (),
    children: Sequence[ChildPlan] = (),
    revision: int = 1,
) -> PlannerRequest:
    """The record and the profiles it may read; those who declined stay in the record and out of the new plan."""
    names = anonymizer(record)
    return PlannerRequest(
        language=record.language,
        began=record.began,
        tension=names.model(shown_tension(record), author=DEMANDER),
        exchange=exchange(record, names, until=record.round),
        aliases=tuple(alias for alias in record.with_parts() if alias not in without),
        materials={
            alias: names.model(material, author=alias) for alias, material in materials.items() if alias not in without
        },
        converged=converged,
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
    """Rounds 1 to `until` as others may read them: items without the passages of the profile that they quote."""

    def for_others(said: Projection) -> Projection:
        items = tuple(item.model_copy(update={"quotes": ()}) for item in said.items)
        return names.model(as_said(said).model_copy(update={"items": items}), author=said.alias)

    rounds = {exchange.round: exchange for exchange in rounds_of(record.projections, record.observations)}
    return tuple(
        Exchange(
            round=number,
            projections=tuple(map(for_others, found.projections)),
            observation=names.model(found.observation) if found.observation is not None else None,
        )
        for number in range(1, until + 1)
        for found in [rounds.get(number, Exchange(round=number, projections=()))]
    )


def _before(record: Record) -> tuple[Exchange, ...]:
    """The rounds before the one of the record."""
    return rounds_of(
        [projection for projection in record.projections if projection.round < record.round],
        [observation for observation in record.observations if observation.round < record.round],
    )
