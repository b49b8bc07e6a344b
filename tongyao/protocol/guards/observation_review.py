"""The observation that an answer of the catalyst gives, as far as the exchange bears it out (docs/protocol.md §5). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from tongyao.protocol.documents.markdown import standing_markdown
from tongyao.protocol.guards.complaints import complaint
from tongyao.protocol.guards.coverage import PairStatements, earlier_observations, known_ids
from tongyao.protocol.guards.naming import named_alias, named_ids, named_targets
from tongyao.protocol.model.observation import (
    Basis,
    Contribution,
    Gap,
    GapDraft,
    GapKind,
    Note,
    NoteDraft,
    Observation,
    ObservationDraft,
    Translation,
    Verdict,
    round_of,
)
from tongyao.protocol.model.requests import CatalystRequest
from tongyao.protocol.rules.news import has_new_quote
from tongyao.protocol.rules.plans.absent import same_as
from tongyao.protocol.rules.relations import items_of, open_framework


def settle_observation(
    draft: ObservationDraft, request: CatalystRequest, *, struck: int = 0, guards: Counter[str] | None = None
) -> Observation:
    """The observation in `draft`: every pair once, in order; unknown aliases, targets and ids dropped; every new element with
    an id `R<round>/catalyst/<number>`.

    Pairs and the open framework stand from earlier rounds where the draft says nothing new of them. Before the verdict
    counts, it is `more`, whatever the draft says. `guards` counts what was not taken as it was said.
    """
    return _Settling(request, Counter() if guards is None else guards).observation(draft, struck)


class _Settling:
    def __init__(self, request: CatalystRequest, guards: Counter[str]) -> None:
        self._request = request
        self._guards = guards
        self._items = {item.id: item for item in items_of(request.exchange)}
        self._known = known_ids(request)
        self._people = set(request.contributors)
        self._targets = set(request.tension.target_names())
        self._earlier = earlier_observations(request)
        self._number = 0
        self._not_taken: list[str] = []

    def observation(self, draft: ObservationDraft, struck: int) -> Observation:
        request = self._request
        stated = PairStatements(request).settle(draft.pairs, self._guards, self._not_taken)
        pairs = tuple(pair if pair.id else pair.model_copy(update={"id": self._id()}) for pair in stated)
        return Observation(
            round=request.round,
            verdict=draft.verdict if request.verdict_counts else Verdict.MORE,
            pairs=pairs,
            contributions=self._contributions(draft),
            translations=self._translations(draft),
            gaps=tuple(gap for one in draft.gaps for gap in self._gap(one)),
            ignored=tuple(map(self._note, _said(draft.ignored))),
            frameworks=self._frameworks(_said(draft.frameworks)),
            third_party_value=tuple(map(self._note, _said(draft.third_party_value))),
            markdown="\n\n".join(filter(None, (draft.markdown, standing_markdown(request.language, pairs)))),
            struck=struck,
            not_taken=tuple(self._not_taken),
        )

    def _id(self) -> str:
        self._number += 1
        return f"R{self._request.round}/catalyst/{self._number}"

    def _sources(self, said: Sequence[str]) -> tuple[str, ...]:
        return named_ids(said, self._known)

    def _contributions(self, draft: ObservationDraft) -> tuple[Contribution, ...]:
        return tuple(
            Contribution(
                id=self._id(),
                alias=named_alias(one.alias),
                target=target,
                effect=one.effect,
                text=one.text,
                sources=(sources := self._sources(one.sources)),
                basis=self._basis(sources),
            )
            for one in draft.contributions
            if named_alias(one.alias) in self._people
            for target in named_targets([one.target], self._targets)
        )

    def _basis(self, sources: Collection[str]) -> Basis:
        """Stated where any cited item is a fact; what rests on inferences alone keeps its hedge."""
        facts = any(not self._items[source].inferred for source in sources if source in self._items)
        return Basis.STATED if facts else Basis.INFERRED

    def _translations(self, draft: ObservationDraft) -> tuple[Translation, ...]:
        return tuple(
            Translation(
                id=self._id(),
                a=named_alias(one.a),
                b=named_alias(one.b),
                a_words=one.a_words,
                b_words=one.b_words,
                text=one.text,
                sources=self._sources(one.sources),
            )
            for one in draft.translations
            if {named_alias(one.a), named_alias(one.b)} <= self._people and named_alias(one.a) != named_alias(one.b)
        )

    def _gap(self, draft: GapDraft) -> tuple[Gap, ...]:
        """The gap, or nothing where it names no part of the tension and says nothing."""
        target = next(iter(named_targets([draft.target], self._targets)), "")
        if not target and (draft.target.strip() or not draft.text.strip()):
            return ()
        sources = self._sources(draft.sources)
        again = same_as(target, draft.text, self._sources(draft.same_as), self._earlier)
        kind = draft.kind
        if kind is GapKind.OVERLOOKED and not self._may_be_overlooked(again, sources):
            self._guards["gaps_kept_absent"] += 1
            self._not_taken.append(
                complaint(self._request.language, "gap_kept_absent", target=target or "-", earlier=", ".join(again))
            )
            kind = GapKind.ABSENT
        return (Gap(id=self._id(), kind=kind, target=target, text=draft.text, same_as=again, sources=sources),)

    def _may_be_overlooked(self, again: Collection[str], sources: Sequence[str]) -> bool:
        """A gap that says again what was called absent is overlooked only by a fact: an item said since with a new quote, not an
        inference. `again`: ids of the earlier gaps."""
        absent = [
            seen.round for seen in self._earlier for gap in seen.gaps if gap.id in again and gap.kind is GapKind.ABSENT
        ]
        if not absent:
            return True
        old = [item for item in self._items.values() if round_of(item.id) <= absent[-1]]
        since = [self._items[one] for one in sources if one in self._items and round_of(one) > absent[-1]]
        return any(not item.inferred and has_new_quote(item, old) for item in since)

    def _frameworks(self, drafts: Sequence[NoteDraft]) -> tuple[Note, ...]:
        """At most one: the open one where it was answered in this round, else the first new one that may be named.

        A new one rests on quoted items of two participants, apart from those that an earlier framework rested on.
        """
        if (answered := open_framework(self._request.exchange)) is not None:
            self._refuse_frameworks(len(drafts))
            return (answered,)
        used = {source for seen in self._earlier for one in seen.frameworks for source in one.sources}
        for draft in drafts:
            quoted = [one for one in self._sources(draft.sources) if one in self._items and self._items[one].spans]
            if len({one.split("/")[1] for one in quoted if one not in used}) >= 2:
                self._refuse_frameworks(len(drafts) - 1)
                return (self._note(draft),)
        self._refuse_frameworks(len(drafts))
        return ()

    def _refuse_frameworks(self, count: int) -> None:
        self._guards["frameworks_refused"] += count
        if count:
            self._not_taken.append(complaint(self._request.language, "framework_not_taken"))

    def _note(self, draft: NoteDraft) -> Note:
        return Note(
            id=self._id(),
            text=draft.text,
            name=draft.name,
            about=tuple(alias for alias in map(named_alias, draft.about) if alias in self._people),
            sources=self._sources(draft.sources),
        )


def _said(drafts: Sequence[NoteDraft]) -> list[NoteDraft]:
    return [note for note in drafts if note.text.strip()]
