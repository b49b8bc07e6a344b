"""All pairs, each as it stands: stated in this round or carried from an earlier one (docs/protocol.md §5.3). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tongyao.protocol.guards.complaints import Fault, complaint
from tongyao.protocol.guards.forms import form_of, ids_of, missing_form, own_sides
from tongyao.protocol.guards.naming import named_alias, named_ids
from tongyao.protocol.model.observation import (
    Basis,
    Form,
    Observation,
    Pair,
    PairDraft,
    Relation,
    SecondRelation,
    SecondRelationDraft,
    all_pairs,
    round_of,
)
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import CatalystRequest
from tongyao.protocol.rules.news import has_new_quote
from tongyao.protocol.rules.relations import Names, items_of, rests_on_quoted_boundary, standing, to_examine


def missing_pairs(pairs: Sequence[PairDraft], wanted: Collection[Names]) -> tuple[Names, ...]:
    """The `wanted` pairs that `pairs` does not speak of, or says it did not examine."""
    seen = {ordered(pair.a, pair.b) for pair in pairs if pair.relation is not Relation.NOT_EXAMINED}
    return tuple(pair for pair in wanted if pair not in seen)


def known_ids(request: CatalystRequest) -> frozenset[str]:
    """Every id that an observation of this request's round may cite."""
    ids = [f"T/{name}" for name in request.tension.target_names()]
    ids += [item.id for item in items_of(request.exchange)]
    for seen in earlier_observations(request):
        ids += seen.texts()
    return frozenset(ids)


def earlier_observations(request: CatalystRequest) -> list[Observation]:
    """The observations of the rounds before the one that is to be observed, oldest first."""
    return [one.observation for one in request.exchange if one.observation is not None and one.round < request.round]


@dataclass(frozen=True)
class _Reading:
    """How a pair stands by a draft of it.

    `faults`: what is sent back, of its relation and of its second one. `kept`: what else was not taken over, and is only said.
    """

    pair: Pair
    fault: str = ""
    second: str = ""
    kept: str = ""


class PairStatements:
    """Reads the drafts of pairs against the ledger of a request."""

    def __init__(self, request: CatalystRequest) -> None:
        self.contributors = request.contributors
        self._language = request.language
        self.wanted = to_examine(request.exchange, request.contributors)
        self._items: dict[str, Item] = {item.id: item for item in items_of(request.exchange)}
        self._withdrawn = {back for item in self._items.values() for back in item.withdraws}
        self._known = known_ids(request)
        self._ledger = standing(earlier_observations(request))

    def faults(self, drafts: Sequence[PairDraft]) -> tuple[tuple[str, str, str], ...]:
        """Drafts that cannot stand as they are, as (a, b, what is wrong), for the pair's relation and for its second one."""
        found = ((names, self._read(draft)) for names, draft in self._first(drafts).items())
        return tuple((a, b, fault) for (a, b), read in found for fault in (read.fault, read.second) if fault)

    def settle(self, drafts: Sequence[PairDraft], guards: Counter[str], not_taken: list[str]) -> list[Pair]:
        """Every pair of the contributors, in order. New statements have an empty id.

        `guards` counts what was not taken over, and `not_taken` gets a sentence for each, in the language of the request.

        - A pair that no draft speaks of is carried, or `not_examined` where nothing was ever stated.
        - A statement that does not stand leaves the earlier one in place (see `_read`).
        """
        by_pair = self._first(drafts)
        pairs = []
        for a, b in all_pairs(self.contributors):
            draft, before = by_pair.get((a, b)), self._ledger.get((a, b))
            if draft is not None and draft.relation is not Relation.NOT_EXAMINED:
                read = self._read(draft)
                inferred = read.pair.basis is Basis.INFERRED
                guards["relations_refused"] += bool(read.fault) and not inferred
                guards["second_relations_refused"] += bool(read.second)
                guards["inferred_relations"] += inferred and not read.pair.id
                said = (read.fault, read.second, read.kept)
                not_taken += [complaint(self._language, "pair", a=a, b=b, what=what) for what in said if what]
                pairs.append(read.pair)
            elif before is not None:
                pairs.append(before.model_copy(update={"carried": True}))
            else:
                pairs.append(Pair(id="", a=a, b=b, relation=Relation.NOT_EXAMINED))
        return pairs

    def _first(self, drafts: Sequence[PairDraft]) -> dict[Names, PairDraft]:
        found: dict[Names, PairDraft] = {}
        for draft in drafts:
            names = ordered(draft.a, draft.b)
            if names[0] != names[1] and set(names) <= set(self.contributors):
                found.setdefault(names, draft)
        return found

    def _read(self, draft: PairDraft) -> _Reading:
        before = self._ledger.get(ordered(draft.a, draft.b))
        draft = _in_order(draft, before)
        pair, fault = self._relation(draft)
        kept = self._kept(draft, before) if before is not None and pair.id and not fault else ""
        if pair.carried:
            return _Reading(pair, fault, kept=kept)
        if not pair.relation.related:
            stood = before.second if before is not None else None
            if before is None or stood is None or not self._held(before, stood, pair.sources):
                return _Reading(pair, fault, kept=kept)
            held = complaint(self._language, "boundary_held", relation=stood.relation)
            return _Reading(before.model_copy(update={"carried": False}), held)
        stated = self._as_worded(draft, pair) if pair.id else pair
        read = self._second(draft.also, stated, before)
        if read.pair.second == pair.second and pair.id:
            return replace(read, pair=pair, fault=fault, kept=" ".join(filter(None, (kept, read.kept))))
        return replace(read, fault=fault)

    def _kept(self, draft: PairDraft, before: Pair) -> str:
        """What is said of a draft whose words were not taken over because it cites nothing new; empty where nothing is lost."""
        if not before.relation.related and draft.relation is before.relation:
            return ""
        if not draft.text.strip() or (draft.text.strip() == before.text.strip() and draft.relation is before.relation):
            return ""
        return complaint(self._language, "kept", round=before.stated_in)

    def _as_worded(self, draft: PairDraft, pair: Pair) -> Pair:
        """`pair`, which stands from an earlier round, as `draft` states it: with its own slots where they are whole."""
        form = form_of(draft, pair.a, pair.b, self._items)
        if draft.relation is not pair.relation or self._missing_form(draft.relation, form, pair.a, pair.b):
            return pair
        standing = (one for one in pair.sources if one not in self._withdrawn)
        sources = dict.fromkeys((*named_ids(draft.sources, self._known), *ids_of(form), *standing))
        changes = {"id": "", "text": draft.text.strip() or pair.text, "sources": tuple(sources), "form": form}
        return pair.model_copy(update={**changes, "basis": Basis.STATED})

    def _second(self, drafts: Sequence[SecondRelationDraft], pair: Pair, before: Pair | None) -> _Reading:
        """`pair` with its second relation by this draft, and what is wrong with the draft of it.

        - It is of another kind, has its form, and names for each side an item that no slot of the first relation holds.
        - One that stood is kept until another one, or that there is none (`none_found`), is stated on an item said since, or until
          what it rests on was taken back.
        """
        stood = before.second if before is not None else None
        if stood is not None and (stood.relation is pair.relation or not self._holds_still(stood, pair)):
            stood = None

        def with_second(second: SecondRelation | None) -> Pair:
            return pair if second == pair.second else pair.model_copy(update={"second": second, "id": ""})

        def refused(fault: Fault, **named: object) -> _Reading:
            told = complaint(self._language, fault, **named)
            return _Reading(with_second(stood), second=complaint(self._language, "second_relation", what=told))

        if not drafts:
            return _Reading(with_second(stood))
        draft = drafts[0]
        none = draft.relation is Relation.NONE_FOUND
        if none and stood is None:
            return _Reading(with_second(None))
        form = form_of(draft, pair.a, pair.b, self._items)
        sources = tuple(dict.fromkeys((*named_ids(draft.sources, self._known), *ids_of(form))))
        if stood is not None and before is not None:
            if not any(round_of(source) > before.stated_in for source in sources if source in self._items):
                same = draft.relation is stood.relation and draft.text.strip() in ("", stood.text.strip())
                kept = "" if same else complaint(self._language, "second_kept", round=before.stated_in)
                return _Reading(with_second(stood), kept=kept)
            if draft.relation is not stood.relation and self._held(before, stood, sources):
                return refused("boundary_held", relation=stood.relation)
        if none:
            return _Reading(with_second(None))
        if draft.relation is pair.relation or not draft.relation.related:
            return refused("same_kind")
        if missing := self._missing_form(draft.relation, form, pair.a, pair.b):
            return refused(missing, a=pair.a, b=pair.b)
        if not own_sides(form, pair.form, pair.a, pair.b):
            return refused("same_matter")
        return _Reading(
            with_second(SecondRelation(relation=draft.relation, text=draft.text, sources=sources, form=form))
        )

    def _holds_still(self, stood: SecondRelation, pair: Pair) -> bool:
        """Whether none of the items in its form was taken back."""
        return self._withdrawn.isdisjoint(ids_of(stood.form)) and pair.relation is not stood.relation

    def _relation(self, draft: PairDraft) -> tuple[Pair, str]:
        """How the pair stands by this draft, second relations aside, and what is wrong with the draft.

        - A relation stands as it was where neither side has a new item, and where it is stated again without anything new.
        - It is not relabelled on old words where it rests on a boundary with a quote.
        - A relation that cites no item of a side leaves the earlier one in place; without one it is `none_found`.
        - A relation without its form is `inferred`.
        """
        a, b = ordered(draft.a, draft.b)
        before = self._ledger.get((a, b))
        stood = before if before is not None and before.relation.related else None
        if stood is not None and (a, b) not in self.wanted:
            return stood.model_copy(update={"carried": True}), ""
        form = form_of(draft, a, b, self._items)
        sources = tuple(dict.fromkeys((*named_ids(draft.sources, self._known), *ids_of(form))))
        if before is not None and draft.relation is before.relation:
            if not self._adds(before, sources, self._missing_form(draft.relation, form, a, b)):
                return before.model_copy(update={"carried": False}), ""
            standing = (one for one in before.sources if one not in self._withdrawn)
            sources = tuple(dict.fromkeys((*sources, *standing)))
            form = before.form if self._missing_form(draft.relation, form, a, b) else form
        elif stood is not None and self._held(stood, stood, sources):
            kept = stood.model_copy(update={"carried": False})
            return kept, complaint(self._language, "boundary_held", relation=stood.relation)
        pair = Pair(id="", a=a, b=b, relation=draft.relation, text=draft.text, sources=sources, form=form)
        if not draft.relation.related:
            return pair, ""
        without = [alias for alias in (a, b) if not _of(alias, sources)]
        if without:
            none = pair.model_copy(update={"relation": Relation.NONE_FOUND})
            kept = stood.model_copy(update={"carried": False}) if stood is not None else none
            return kept, complaint(self._language, "one_sided", aliases=", ".join(without))
        if missing := self._missing_form(draft.relation, form, a, b):
            return pair.model_copy(update={"basis": Basis.INFERRED}), complaint(self._language, missing, a=a, b=b)
        return pair, ""

    def _missing_form(self, relation: Relation, form: Form, a: str, b: str) -> Fault | None:
        directions = {one for one in ids_of(form) if self._items[one].dimension is Dimension.DIRECTION}
        return missing_form(relation, form, a, b, directions)

    def _adds(self, before: Pair, sources: Sequence[str], missing: Fault | None) -> bool:
        """Whether a statement with the same relation says more than the one that stands: a later item, or the form."""
        later = any(round_of(source) > before.stated_in for source in sources if source in self._items)
        return before.relation.related and (later or (before.basis is Basis.INFERRED and not missing))

    def _held(self, stood: Pair, relation: Pair | SecondRelation, sources: Sequence[str]) -> bool:
        """Whether `relation`, of the statement `stood`, rests on a quoted boundary that was not taken back, and `sources` holds
        no item said since with a new quote."""
        if not rests_on_quoted_boundary(relation, self._items) or self._withdrawn & set(relation.sources):
            return False
        old = [item for item in self._items.values() if round_of(item.id) <= stood.stated_in]
        since = [self._items[one] for one in sources if one in self._items and round_of(one) > stood.stated_in]
        return not any(has_new_quote(item, old) for item in since)


def _in_order(draft: PairDraft, before: Pair | None) -> PairDraft:
    """`draft` with its two relations exchanged where its second one is the first that stands."""
    if before is None or not before.relation.related or draft.relation is before.relation or not draft.relation.related:
        return draft
    second = next((one for one in draft.also if one.relation is before.relation), None)
    if second is None:
        return draft
    first = SecondRelationDraft.model_validate(draft.model_dump(include=set(SecondRelationDraft.model_fields)))
    return draft.model_copy(
        update={**{name: getattr(second, name) for name in SecondRelationDraft.model_fields}, "also": [first]}
    )


def ordered(a: str, b: str) -> Names:
    """The pair that `a` and `b` name, the lower alias first."""
    first, second = sorted((named_alias(a), named_alias(b)))
    return first, second


def _of(alias: str, sources: Sequence[str]) -> bool:
    return any(source.split("/")[1:2] == [alias] for source in sources)
