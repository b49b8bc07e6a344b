"""Counts the expected findings that a run contains, without a model (docs/evaluation.md). This module has no side effects."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from pydantic import Field

from tongyao.evals.cases import Case, ExpectedTranslation, Link
from tongyao.protocol.documents.plan_page import body_units
from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.ids import ALIAS, all_pairs, speaker_of
from tongyao.protocol.model.observation import NoteKind, Observation
from tongyao.protocol.model.plan import Plan, speakers
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.audit import audit, ended_by_itself
from tongyao.protocol.rules.standing import not_examined, rounds_of, standing

SAME = 0.6
"""Two items of one person count as repeated if the Jaccard similarity of their terms is at least this."""


class LinkFound(Value):
    """One expected link. `round`: the first observation that states it with evidence of both sides; 0 if none does."""

    id: str
    kind: str
    between: tuple[str, ...]
    by_round: int
    round: int = 0
    named_round: int = Field(default=0, description="First observation with the right kind, with any evidence.")

    @property
    def in_time(self) -> bool:
        return 0 < self.round <= self.by_round


class Measures(Value):
    """Measures of one run against its case. A ratio is None if there was nothing to count."""

    case: str
    engine: str
    people: int
    links: tuple[LinkFound, ...]
    relations: int = Field(description="Pairs with a valid relation that does not rest on inference alone.")
    inferred: int = Field(description="Pairs whose valid relations all rest on inference.")
    unexpected: int = Field(
        description="Pairs of `relations` for which the case expects nothing. Not all of them are wrong."
    )
    false_relations: tuple[str, ...] = Field(description="Traps of kind `false_relation` into which the run fell.")
    walked_in: tuple[str, ...] = Field(
        default=(),
        description="Expected offsets whose two sides the plan joins without stating that they collide.",
    )
    roles: int = Field(default=0, description="Contributors with a part in the plan.")
    contributors: int = 0
    translations: tuple[str, ...] = Field(
        description="Expected translations that were found, with a word of each side."
    )
    translations_expected: int
    translations_made: int
    coverage: float | None = Field(description="Share of all pairs of contributors that were examined.")
    traceable: float | None = Field(description="Share of the plan's claims that have a source.")
    doubtful: int
    plan_units: int = Field(default=0, description="Words or Chinese characters of the plan's body.")
    delta: float | None = Field(description="Share of items of later rounds that repeat no earlier item.")
    struck: int
    guards: dict[str, int]
    properties: dict[int, str] = Field(description="The audit's result for each property.")
    grade: str
    rounds: int
    converged: bool
    calls: int = 0
    tokens: int = 0
    fresh: dict[int, int] = Field(
        default_factory=dict,
        description="Round → prompt tokens that were not read from a cache. Round 0: calls outside the rounds.",
    )
    cost: Decimal = Decimal(0)

    def by_round(self) -> dict[int, int]:
        """Round → number of expected links found in that round."""
        rounds = sorted(link.round for link in self.links if link.round)
        return {number: rounds.count(number) for number in dict.fromkeys(rounds)}

    def found(self, *kinds: str) -> tuple[int, int]:
        """Return the number of found links of these kinds (none given: all kinds), and the number expected."""
        chosen = [link for link in self.links if not kinds or link.kind in kinds]
        return sum(link.round > 0 for link in chosen), len(chosen)


def measure(
    case: Case,
    record: Record,
    names: Mapping[str, str],
    *,
    engine: str,
    guards: Sequence[Mapping[str, int]] = (),
    calls: int = 0,
    tokens: int = 0,
    fresh: Mapping[int, int] | None = None,
    cost: Decimal = Decimal(0),
) -> Measures:
    """Measure a run. `names`: alias → id in the case. The demander of the case is `P00`."""
    aliases = {name: alias for alias, name in names.items()} | {"demander": DEMANDER}
    state = standing(rounds_of(record.projections, record.observations))
    shown = {item.id: _plain("\n".join((item.text, *item.quotes))) for item in record.items()}
    of_pairs = [relation for relation in state.relations if relation.of_participants]
    related = {relation.between for relation in of_pairs if not state.rests_on_inference(relation)}
    expected = {_pair(aliases, link.between) for link in case.expected.links if len(link.between) == 2}
    plan = record.plans[0] if record.plans else Plan()
    claims, contributors = plan.claims(), record.contributors()
    made = [note for seen in record.observations for note in seen.notes if note.kind is NoteKind.TRANSLATION]
    pairs = all_pairs(contributors)
    later = _repeated_later(record)
    totals: dict[str, int] = {}
    for counts in guards:
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    return Measures(
        case=case.id,
        engine=engine,
        people=len(case.profiles),
        links=tuple(_found(link, record, aliases, shown) for link in case.expected.links),
        relations=len(related),
        inferred=len({relation.between for relation in of_pairs} - related),
        unexpected=len(related - expected),
        false_relations=tuple(
            trap.id
            for trap in case.expected.traps
            if trap.kind == "false_relation" and len(trap.between) == 2 and _pair(aliases, trap.between) in related
        ),
        walked_in=tuple(
            link.id
            for link in case.expected.links
            if link.kind == "offsetting" and len(link.between) == 2 and _walked_in(plan, _pair(aliases, link.between))
        ),
        roles=sum(plan.has_part(alias) for alias in contributors),
        contributors=len(contributors),
        translations=tuple(
            wanted.id for wanted in case.expected.translations if _is_translated(wanted, record.observations, aliases)
        ),
        translations_expected=len(case.expected.translations),
        translations_made=len(made),
        coverage=_share(len(pairs) - len(not_examined(state, contributors)), len(pairs)),
        traceable=_share(sum(claim.supported for claim in claims), len(claims)),
        doubtful=sum(bool(claim.doubt) for claim in claims),
        plan_units=body_units(plan) if record.plans else 0,
        delta=_share(sum(not repeated for repeated in later), len(later)),
        struck=sum(said.struck for said in record.projections) + sum(seen.struck for seen in record.observations),
        guards=dict(sorted((name, count) for name, count in totals.items() if count)),
        properties={found.number: found.result.value for found in audit(record, guards=guards)},
        grade=record.tension.grade.value if record.tension else "",
        rounds=record.observations[-1].round if record.observations else 0,
        converged=ended_by_itself(record),
        calls=calls,
        tokens=tokens,
        fresh=dict(fresh or {}),
        cost=cost,
    )


def _repeated_later(record: Record) -> list[bool]:
    """Return for every item after a person's first turn whether it repeats an earlier item of this person."""
    before: dict[str, list[frozenset[str]]] = {}
    repeated: list[bool] = []
    for said in sorted(record.projections, key=lambda said: said.round):
        mine = before.setdefault(said.alias, [])
        fresh = [terms(item.text) for item in said.items]
        if mine:
            repeated += [any(alike(words, other) for other in mine) for words in fresh]
        mine += fresh
    return repeated


def _found(link: Link, record: Record, aliases: Mapping[str, str], shown: Mapping[str, str]) -> LinkFound:
    """Find two rounds: the first that states the link, and the first that states it with a term of each side in its sources."""
    named = first = 0
    sides = [
        (aliases.get(who, ""), wanted) for who, wanted in zip(link.between, (link.a_terms, link.b_terms), strict=False)
    ]
    for seen in record.observations:
        for sources in _matching(link, seen, aliases):
            named = named or seen.round
            if not first and all(_shows(alias, sources, wanted, shown) for alias, wanted in sides):
                first = seen.round
    return LinkFound(
        id=link.id, kind=link.kind, between=link.between, by_round=link.by_round, round=first, named_round=named
    )


def _matching(link: Link, seen: Observation, aliases: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The sources of everything in `seen` that has the link's kind and is between its people."""
    if any(name not in aliases for name in link.between):
        return []
    who = {aliases[name] for name in link.between}
    if link.kind == "contribution":
        return [
            relation.sources for relation in seen.relations if set(filter(ALIAS.fullmatch, relation.between)) == who
        ]
    if link.kind == "third_party_value":
        notes = (note for note in seen.notes if note.kind is NoteKind.THIRD_PARTY)
        return [note.sources for note in notes if who <= {*note.about, *speakers(note.sources)}]
    return [
        relation.sources
        for relation in seen.relations
        if set(relation.between) == who and relation.kind.value == link.kind
    ]


def _shows(alias: str, sources: Sequence[str], wanted: Sequence[str], shown: Mapping[str, str]) -> bool:
    """Whether an item of `alias` among `sources` contains any of the terms. If no term is wanted, any item counts."""
    mine = [shown.get(source, "") for source in sources if speaker_of(source) == alias]
    return bool(mine) and (not wanted or any(_plain(term) in text for term in wanted for text in mine))


def _is_translated(wanted: ExpectedTranslation, seen: Sequence[Observation], aliases: Mapping[str, str]) -> bool:
    """Whether a translation rests on items of both people and its text contains a term of each."""
    both = {aliases.get(name, "") for name in wanted.between}
    notes = (note for each in seen for note in each.notes if note.kind is NoteKind.TRANSLATION)
    return any(
        both <= {*note.about, *speakers(note.sources)}
        and _any(wanted.a_terms, note.text)
        and _any(wanted.b_terms, note.text)
        for note in notes
    )


def _walked_in(plan: Plan, names: tuple[str, ...]) -> bool:
    """Whether the plan joins the two sides of an expected offset, and has both in no offset and no residual."""

    def both(sources: Collection[str]) -> bool:
        lines = {DEMANDER} if any(source.startswith("T/") for source in sources) else set()
        return set(names) <= speakers(sources) | lines

    joined = [claim.sources for claim in (*plan.possible, *(claim for role in plan.roles for claim in role.conditions))]
    joined += [task.sources for task in plan.tasks]
    told = [claim.sources for claim in plan.offsets] + [residual.sources for residual in plan.residuals]
    return any(map(both, joined)) and not any(map(both, told))


def _any(wanted: Sequence[str], text: str) -> bool:
    return any(_plain(term) in _plain(text) for term in wanted)


def _pair(aliases: Mapping[str, str], between: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(aliases.get(name, name) for name in between))


def alike(words: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts have nearly the same terms: at least `SAME` of all their terms are in both (Jaccard)."""
    return bool(words | other) and len(words & other) / len(words | other) >= SAME


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def evidence_overlap(
    first: Record, names: Mapping[str, str], other: Record, other_names: Mapping[str, str], *, rounds: int | None = None
) -> float | None:
    """Overlap of the evidence of two runs of one case, 0 to 1 (docs/evaluation.md §5).

    For people in both runs: terms of passages quoted in both runs ÷ terms of passages quoted in either (Jaccard). Only
    the first `rounds` count (None: all). None if nothing was quoted. `names`, `other_names`: alias → id in the case,
    per run.
    """
    one, two = _quoted_terms(first, names, rounds), _quoted_terms(other, other_names, rounds)
    both = one.keys() & two.keys()
    shared = sum(len(one[who] & two[who]) for who in both)
    either = sum(len(one[who] | two[who]) for who in both)
    return shared / either if either else None


def _quoted_terms(record: Record, names: Mapping[str, str], rounds: int | None) -> dict[str, frozenset[str]]:
    """Return the terms of every quoted passage, by person."""
    found: dict[str, frozenset[str]] = {}
    for said in record.projections:
        if rounds is None or said.round <= rounds:
            who = names.get(said.alias, said.alias)
            quoted = terms("\n".join(quote for item in said.items for quote in item.quotes))
            found[who] = found.get(who, frozenset()) | quoted
    return found
