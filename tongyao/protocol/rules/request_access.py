"""Makes the request of each model step from the parts of the record that this step may read (docs/protocol.md §6).
Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tongyao.protocol.identity.marks import Marker
from tongyao.protocol.identity.proposer import without_proposed
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
from tongyao.protocol.model.rewrite import map_ids
from tongyao.protocol.rules.convergence import VERDICT_FROM_ROUND
from tongyao.protocol.rules.read_access import as_said, shown_tension
from tongyao.protocol.rules.standing import rounds_of, standing

MAX_FOCUS: Final = 6
"""Most texts with which a long profile is searched in one round."""


def for_formulation(record: Record, material: Material | None) -> FormulationRequest:
    """Return the request with the demander's unchanged words: the formulation is made on the demander's behalf."""
    return FormulationRequest(language=record.language, began=record.began, intent=record.intent, material=material)


def for_endpoint(
    record: Record, alias: str, *, material: Material, mandate: Mandate, marker: Marker | None = None
) -> EndpointRequest:
    """Return the request of a turn: the tension, the participant's own valid items, the catalyst's valid statements.

    Statements have no sources, because ids of items would reveal who spoke in which round. `marker` replaces other
    people's names in the profile by marks. Texts of the record already have marks.
    """
    names = marker or Marker()
    rounds = _before(record)
    state = standing(rounds)
    last = rounds[-1].observation if rounds else None
    seated = any(participant.alias == alias for participant in record.participants)
    return EndpointRequest(
        language=record.language,
        began=record.began,
        alias=alias,
        round=record.round,
        tension=shown_tension(record),
        material=names.marked(material, author=alias),
        mandate=_as_the_proxy_reads(mandate, names),
        first=not any(turn.alias == alias for exchange in rounds for turn in exchange.projections),
        items=tuple(
            item.model_copy(update={"quotes": (), "text": names.with_marks(item.text, author=alias)})
            for item in state.valid_items
            if speaker_of(item.id) == alias
        ),
        stands=tuple(one.model_copy(update={"sources": ()}) for one in state.statements),
        asked=tuple(
            note.id
            for note in state.notes
            if (asked := state.asked.get(note.id)) and (asked.alias, asked.round) == (alias, record.round)
        ),
        words=last.words if last is not None else "",
        answers_only=alias == DEMANDER and not seated,
        exhausted=last is not None and last.verdict is Verdict.EXHAUSTED,
    )


def focus_of(record: Record, alias: str) -> tuple[str, ...]:
    """Return at most `MAX_FOCUS` texts with which the long profile of `alias` is searched in this round.

    The texts are statements made since the participant's last turn: relations with the participant, frameworks and open
    gaps. Statements that name `alias` come first. Earlier statements were used in earlier turns. The result is empty in
    the first turn and if there are no new statements. The profile is then searched with the tension.
    """
    rounds = _before(record)
    state = standing(rounds)
    spoke = max((turn.round for exchange in rounds for turn in exchange.projections if turn.alias == alias), default=0)
    if not spoke:
        return ()
    named: list[Statement] = [relation for relation in state.relations if alias in relation.between]
    named += [gap for gap in state.open_gaps if alias in (gap.asks, *gap.about)]
    named += [note for note in state.notes if note.kind is NoteKind.FRAMEWORK or note in state.open_gaps]
    texts = (statement.text for statement in named if round_of(statement.id) >= spoke)
    return tuple(dict.fromkeys(texts))[:MAX_FOCUS]


def _as_the_proxy_reads(mandate: Mandate, names: Marker) -> Mandate:
    """Return `mandate` for a profile with marks in place of names. `topics` and `never` apply with names and marks."""

    def also_marked(phrases: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*phrases, *map(names.with_marks, phrases))))

    return mandate.model_copy(
        update={
            "topics": also_marked(mandate.topics),
            "never": also_marked(mandate.never),
            "addition": names.with_marks(mandate.addition),
        }
    )


def for_catalyst(record: Record, *, strategy: str = "") -> CatalystRequest:
    """Return all rounds so far, under aliases. The request does not show whether a proxy or a person spoke.

    The last round is given without observation. If the record has one, an earlier attempt of this step made it.
    """
    *before, last = exchange(record, until=record.round)
    return CatalystRequest(
        language=record.language,
        began=record.began,
        round=record.round,
        tension=shown_tension(record),
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
    marker: Marker | None = None,
) -> PlannerRequest:
    """Return the record and the readable profiles, with marks. People in `without` get no role in the plan. Their words
    remain in the request."""
    names = marker or Marker()
    return PlannerRequest(
        language=record.language,
        began=record.began,
        tension=shown_tension(record),
        exchange=exchange(record, until=record.round),
        aliases=tuple(alias for alias in record.with_parts() if alias not in without),
        materials={
            alias: _for_planner(material, names, alias) for alias, material in materials.items() if alias not in without
        },
        converged=converged,
        without=tuple(without),
        proposals={alias: record.answer_words.get(alias, "") for alias in proposals},
        children=tuple(children),
        revision=revision,
    )


def child_plan(child: Record, title: str) -> ChildPlan:
    """Return the last plan of `child` for the parent's planner (docs/protocol.md §7.7).

    It has aliases in place of names, and sources such as `<child process>/R1/P02/2`. Raises `ValueError` if the child
    has no plan.
    """
    if not child.plans:
        raise ValueError(f"{child.process_id} has no plan")

    def of_child(source: str) -> str:
        return source if source.startswith(f"{child.process_id}/") else f"{child.process_id}/{source}"

    plan = map_ids(child.plans[-1], of_child)
    references = tuple(source.model_copy(update={"id": of_child(source.id)}) for source in plan.references)
    named = plan.model_copy(update={"references": references, "unused": ()})
    return ChildPlan(process=child.process_id, title=title, plan=named)


def _for_planner(material: Material, names: Marker, alias: str) -> Material:
    """Return a profile for the planner, with marks in place of known names and of texts that look like names."""
    pieces = tuple(piece.model_copy(update={"text": without_proposed(piece.text)}) for piece in material.pieces)
    return names.model(material.model_copy(update={"pieces": pieces}), author=alias)


def for_delivery(record: Record, alias: str, plan: Plan) -> DeliveryRequest:
    return DeliveryRequest(
        language=record.participant(alias).language,
        began=record.began,
        alias=alias,
        plan=plan,
    )


def exchange(record: Record, *, until: int) -> tuple[Exchange, ...]:
    """Return rounds 1 to `until` as other participants may read them: items have no quotes from profiles."""

    def for_others(said: Projection) -> Projection:
        items = tuple(item.model_copy(update={"quotes": ()}) for item in said.items)
        return as_said(said).model_copy(update={"items": items})

    rounds = {exchange.round: exchange for exchange in rounds_of(record.projections, record.observations)}
    return tuple(
        Exchange(
            round=number,
            projections=tuple(map(for_others, found.projections)),
            observation=found.observation,
        )
        for number in range(1, until + 1)
        for found in [rounds.get(number, Exchange(round=number, projections=()))]
    )


def _before(record: Record) -> tuple[Exchange, ...]:
    """Return the rounds before the current round of the record."""
    return rounds_of(
        [projection for projection in record.projections if projection.round < record.round],
        [observation for observation in record.observations if observation.round < record.round],
    )
