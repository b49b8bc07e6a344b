"""Checks of the catalyst's answer, and its conversion to an observation (docs/protocol.md §5). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from tongyao.protocol.guards.advice import visibility
from tongyao.protocol.guards.checks import Check, Complaint, complaint
from tongyao.protocol.guards.naming import named_alias, named_ids, named_targets
from tongyao.protocol.model.ids import Pair, note_id, ordered, relation_id, speaker_of
from tongyao.protocol.model.observation import (
    Ended,
    Note,
    NoteDraft,
    NoteKind,
    Observation,
    ObservationDraft,
    Relation,
    RelationDraft,
    Verdict,
)
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.requests import CatalystRequest
from tongyao.protocol.rules.standing import Standing, not_examined, standing


def coverage(draft: ObservationDraft, request: CatalystRequest) -> Iterator[Complaint]:
    """Each pair of contributors that was not examined yet is in `relations` or in `none`."""
    looked_at = {_between(entry.between, request) for entry in draft.relations} | set(_none(draft, request))
    for a, b in not_examined(standing(request.exchange), request.contributors):
        if (a, b) not in looked_at:
            told = complaint(request.language, "missing_pair", a=a, b=b)
            yield Complaint(text=told, reason="missing_pair", fields=("none", "relations"))


def relations_hold(draft: ObservationDraft, request: CatalystRequest) -> Iterator[Complaint]:
    """A relation has a text, is between two contributors or a contributor and a line, cites a valid item of each
    participant in it, and replaces no protected relation."""
    state = standing(request.exchange)
    holding = {item.id for item in state.valid_items}
    for number, entry in enumerate(draft.relations):
        between = _between(entry.between, request)
        if between is None:
            people, lines = ", ".join(request.contributors), ", ".join(request.tension.target_names())
            yield _relation(request, number, entry, "between", people=people, lines=lines)
            continue
        if not entry.text.strip():
            yield _relation(request, number, entry, "empty_text")
        speakers = {speaker_of(source) for source in named_ids(entry.sources, holding)}
        if silent := [alias for alias in between if alias in request.contributors and alias not in speakers]:
            yield _relation(request, number, entry, "one_sided", aliases=", ".join(silent))
        softened = [id for id in _protected(entry.replaces, state) if not _keeps(entry, between, id, state)]
        if softened:
            yield _relation(request, number, entry, "protected", id=softened[0])


def notes_hold(draft: ObservationDraft, request: CatalystRequest) -> Iterator[Complaint]:
    """A note has a text and replaces no protected relation. New frameworks after the first are struck at once."""
    state = standing(request.exchange)
    held = [note.id for note in state.notes if note.kind is NoteKind.FRAMEWORK]
    frameworks = 0
    for number, entry in enumerate(draft.notes):
        is_new = entry.kind is NoteKind.FRAMEWORK and not named_ids(entry.replaces, held)
        frameworks += is_new
        if fixed := _protected(entry.replaces, state):
            what = complaint(request.language, "protected", id=fixed[0])
            told = complaint(request.language, "note", text=entry.text.strip(), what=what)
            yield Complaint(text=told, reason="protected", fields=("notes",), entry=number)
        elif not entry.text.strip():
            what = complaint(request.language, "empty_text")
            told = complaint(request.language, "note", text=entry.kind, what=what)
            yield Complaint(text=told, reason="empty_text", fields=("notes",), entry=number)
        elif is_new and frameworks > 1:
            yield Complaint(text="", reason="second_framework", fields=("notes",), entry=number)


def protected_stand(draft: ObservationDraft, request: CatalystRequest) -> Iterator[Complaint]:
    """A protected relation (`Standing.is_protected`) is not ended."""
    state = standing(request.exchange)
    for number, entry in enumerate(draft.ended):
        if fixed := _protected([entry.id], state):
            told = complaint(request.language, "protected_ended", id=fixed[0])
            yield Complaint(text=told, reason="protected", fields=("ended",), entry=number)


OBSERVATION_CHECKS: Final[Sequence[Check[ObservationDraft, CatalystRequest]]] = (
    coverage,
    relations_hold,
    notes_hold,
    protected_stand,
    visibility,
)


def observation_of(draft: ObservationDraft, request: CatalystRequest, *, struck: int = 0) -> Observation:
    """Return a checked draft as an observation, with relations and notes numbered from 1.

    A gap that replaces another gap cannot ask the same person, because a person is asked once. Unknown ids, aliases and
    lines are left out. `replaces` and `ended` keep valid statements. `none` keeps pairs that were not examined before
    and have no relation now. In rounds before the verdict counts, it is `more`.
    """
    state = standing(request.exchange)
    items = [item.id for item in state.valid_items]
    statements = [statement.id for statement in state.statements]
    stated = [(between, entry) for entry in draft.relations if (between := _between(entry.between, request))]
    related = {between for between, _ in stated}
    open_pairs = not_examined(state, request.contributors)
    none = set(_none(draft, request))
    return Observation(
        round=request.round,
        verdict=draft.verdict if request.verdict_counts else Verdict.MORE,
        why=draft.why.strip() if request.verdict_counts else "",
        relations=tuple(
            Relation(
                id=relation_id(request.round, number),
                between=between,
                kind=entry.kind,
                text=entry.text.strip(),
                sources=named_ids(entry.sources, items),
                replaces=named_ids(entry.replaces, statements),
            )
            for number, (between, entry) in enumerate(stated, 1)
        ),
        none=tuple(pair for pair in open_pairs if pair in none and pair not in related),
        notes=tuple(_note(entry, number, request, state, items) for number, entry in enumerate(draft.notes, 1)),
        ended=tuple(
            Ended(id=id, why=entry.why.strip()) for entry in draft.ended for id in named_ids([entry.id], statements)
        ),
        words=draft.words.strip(),
        struck=struck,
    )


def _note(entry: NoteDraft, number: int, request: CatalystRequest, state: Standing, items: Collection[str]) -> Note:
    people = (*request.contributors, DEMANDER)
    replaces = named_ids(entry.replaces, [statement.id for statement in state.statements])
    were_asked = {state.asked[id].alias for id in replaces if id in state.asked}
    asks = named_alias(entry.asks)
    return Note(
        id=note_id(request.round, number),
        kind=entry.kind,
        text=entry.text.strip(),
        about=(
            *named_targets(entry.about, request.tension.target_names()),
            *dict.fromkeys(alias for alias in map(named_alias, entry.about) if alias in people),
        ),
        sources=named_ids(entry.sources, items),
        asks=asks if entry.kind is NoteKind.GAP and asks in people and asks not in were_asked else "",
        replaces=replaces,
    )


def _between(said: Sequence[str], request: CatalystRequest) -> Pair | None:
    """Return two contributors, lower alias first, or a contributor and a line. None if `said` names neither."""
    if len(said) != 2:
        return None
    people = [alias for alias in map(named_alias, said) if alias in request.contributors]
    lines = named_targets(said, request.tension.target_names())
    if len(set(people)) == 2:
        return ordered(*people)
    return (people[0], lines[0]) if len(people) == len(lines) == 1 else None


def _none(draft: ObservationDraft, request: CatalystRequest) -> list[Pair]:
    """Return the pairs that have no relation according to the draft."""
    pairs = (_between(said, request) for said in draft.none)
    return [pair for pair in pairs if pair is not None and pair[1] in request.contributors]


def _protected(said: Sequence[str], state: Standing) -> tuple[str, ...]:
    """Return the ids of `said` that name a protected relation."""
    return named_ids(said, [relation.id for relation in state.relations if state.is_protected(relation)])


def _keeps(entry: RelationDraft, between: Pair, replaced: str, state: Standing) -> bool:
    """Whether the new relation still has the kind and the pair of the protected one."""
    earlier = next(relation for relation in state.relations if relation.id == replaced)
    return entry.kind is earlier.kind and between == earlier.between


def _relation(request: CatalystRequest, number: int, entry: RelationDraft, fault: str, **named: object) -> Complaint:
    what = complaint(request.language, fault, **named)
    told = complaint(request.language, "relation", between="-".join(entry.between), text=entry.text.strip(), what=what)
    return Complaint(text=told, reason=fault, fields=("relations",), entry=number)
