"""Counts what a run found of what its case expects, without a model (docs/evaluation.md). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from pydantic import Field

from tongyao.evals.cases import Case, ExpectedTranslation, Link
from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.observation import Basis, Observation, Relation, all_pairs
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.projection import Item
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.audit import audit
from tongyao.protocol.rules.relations import changes, standing

SAME = 0.6
"""Two claims of one person with at least this Jaccard similarity of terms count as repeated."""


class LinkFound(Value):
    """One expected link. `round`: the first observation that states it with evidence of both sides; 0: none does."""

    id: str
    kind: str
    between: tuple[str, ...]
    by_round: int
    round: int = 0
    named_round: int = Field(default=0, description="First observation with the right kind, whatever the evidence.")

    @property
    def in_time(self) -> bool:
        return 0 < self.round <= self.by_round


class Measures(Value):
    """Measures of one run against its case. Ratios are None where there was nothing to count."""

    case: str
    engine: str
    people: int
    links: tuple[LinkFound, ...]
    relations: int = Field(description="Related pairs of the last observation whose form is filled with items.")
    inferred: int = Field(description="Related pairs of the last observation whose form is not.")
    changes: int = Field(description="How often a pair stated as related was stated otherwise later.")
    unexpected: int = Field(description="Of these, pairs of which the case expects nothing: not all of them wrong.")
    false_relations: tuple[str, ...] = Field(description="Traps of that kind that were fallen into.")
    unrelated: int = Field(default=0, description="Pairs of contributors of which the case expects no relation.")
    none_found: int = Field(default=0, description="Pairs that stand as `none_found` after the last round.")
    none_found_right: int = Field(default=0, description="Of these, pairs of which the case expects no relation.")
    walked_in: tuple[str, ...] = Field(
        default=(),
        description="Expected offsets whose two sides the plan joins without saying anywhere that they collide.",
    )
    roles: int = Field(default=0, description="Contributors whose part in the plan holds a claim.")
    contributors: int = 0
    translations: tuple[str, ...] = Field(description="Expected ones found, with a word of each side.")
    translations_expected: int
    translations_made: int
    own_words: float | None = Field(description="Share of translations made whose two wordings are the two people's.")
    coverage: float | None = Field(description="Pairs examined of all pairs, over all rounds.")
    traceable: float | None = Field(description="Claims of the plan with a source.")
    doubtful: int
    delta: float | None = Field(description="Share of items of later rounds that are not said before.")
    struck: int
    guards: dict[str, int]
    properties: dict[int, str] = Field(description="Of the 13 measured properties (and 14, 15): what the audit says.")
    grade: str
    rounds: int
    converged: bool
    calls: int = 0
    tokens: int = 0
    fresh: dict[int, int] = Field(
        default_factory=dict, description="Round → prompt tokens that no cache held. 0: what is outside the rounds."
    )
    cost: Decimal = Decimal(0)

    def by_round(self) -> dict[int, int]:
        """Round → how many of the expected links were found in it."""
        rounds = sorted(link.round for link in self.links if link.round)
        return {number: rounds.count(number) for number in dict.fromkeys(rounds)}

    def found(self, *kinds: str) -> tuple[int, int]:
        """How many links of these kinds (none: all) were found, and how many were there."""
        chosen = [link for link in self.links if not kinds or link.kind in kinds]
        return sum(link.round > 0 for link in chosen), len(chosen)


def measure(
    case: Case,
    record: Record,
    names: Mapping[str, str],
    texts: Mapping[str, str],
    *,
    engine: str,
    guards: Sequence[Mapping[str, int]] = (),
    calls: int = 0,
    tokens: int = 0,
    fresh: Mapping[int, int] | None = None,
    cost: Decimal = Decimal(0),
) -> Measures:
    """`names`: alias → id in the case; `texts`: alias → frozen profile, in which spans are looked up."""
    said = _Evidence(record, texts)
    aliases = {name: alias for alias, name in names.items()}
    last = record.observations[-1] if record.observations else None
    related = {(pair.a, pair.b) for pair in last.pairs if pair.relation.related} if last else set()
    inferred = {(pair.a, pair.b) for pair in last.pairs if pair.basis is Basis.INFERRED} & related if last else set()
    related -= inferred
    expected_pairs = {_pair(aliases, link.between) for link in case.expected.links if len(link.between) == 2}
    pairs = [pair for seen in record.observations for pair in seen.pairs]
    claims = [claim for plan in record.plans[:1] for claim in plan.claims()]
    unrelated = set(all_pairs(record.contributors())) - expected_pairs
    none_found = {
        names for names, pair in standing(record.observations).items() if pair.relation is Relation.NONE_FOUND
    }
    filled = [role.alias for plan in record.plans[:1] for role in plan.roles if role.claims()]
    made = [one for seen in record.observations for one in seen.translations]
    later = said.later()
    totals: dict[str, int] = {}
    for counts in guards:
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    return Measures(
        case=case.id,
        engine=engine,
        people=len(case.profiles),
        links=tuple(_found(link, record, aliases, said) for link in case.expected.links),
        relations=len(related),
        inferred=len(inferred),
        changes=changes(record.observations),
        unexpected=len(related - expected_pairs),
        false_relations=tuple(
            trap.id
            for trap in case.expected.traps
            if trap.kind == "false_relation" and len(trap.between) == 2 and _pair(aliases, trap.between) in related
        ),
        unrelated=len(unrelated),
        none_found=len(none_found),
        none_found_right=len(none_found & unrelated),
        walked_in=tuple(
            link.id
            for link in case.expected.links
            for plan in record.plans[:1]
            if link.kind == "offsetting" and len(link.between) == 2 and _walked_in(plan, _pair(aliases, link.between))
        ),
        roles=len(filled),
        contributors=len(record.contributors()),
        translations=tuple(one.id for one in case.expected.translations if _is_translated(one, record, aliases)),
        translations_expected=len(case.expected.translations),
        translations_made=len(made),
        own_words=_share(sum(said.words_of(t.a, t.a_words) and said.words_of(t.b, t.b_words) for t in made), len(made)),
        coverage=_share(sum(pair.relation is not Relation.NOT_EXAMINED for pair in pairs), _all_pairs(record)),
        traceable=_share(sum(claim.supported for claim in claims), len(claims)),
        doubtful=sum(bool(claim.doubt) for claim in claims),
        delta=_share(sum(not repeated for repeated in later), len(later)),
        struck=sum(one.struck for one in record.projections) + sum(one.struck for one in record.observations),
        guards=dict(sorted((name, count) for name, count in totals.items() if count)),
        properties={found.number: found.result.value for found in audit(record, guards=guards)},
        grade=record.tension.grade.value if record.tension else "",
        rounds=last.round if last else 0,
        converged=bool(record.plans) and not record.plans[0].open_points,
        calls=calls,
        tokens=tokens,
        fresh=dict(fresh or {}),
        cost=cost,
    )


class _Evidence:
    """Items by id, each with its claim and the passages it quotes, normalised."""

    def __init__(self, record: Record, texts: Mapping[str, str]) -> None:
        self._record = record
        self._shown = {
            item.id: _plain("\n".join((item.statement, *_quotes(item, texts.get(said.alias, "")))))
            for said in record.projections
            for item in said.items
        }

    def shows(self, alias: str, sources: Sequence[str], wanted: Sequence[str]) -> bool:
        """Whether an item of `alias` among `sources` contains any of the terms (any item, where no term is wanted)."""
        mine = [self._shown.get(source, "") for source in sources if source.split("/")[1:2] == [alias]]
        return bool(mine) and (not wanted or any(_plain(term) in text for term in wanted for text in mine))

    def words_of(self, alias: str, words: str) -> bool:
        return bool(words.strip()) and any(
            _plain(words) in text for source, text in self._shown.items() if source.split("/")[1] == alias
        )

    def later(self) -> list[bool]:
        """For every item after a person's first turn: whether it repeats an earlier one."""
        before: dict[str, list[frozenset[str]]] = {}
        repeated: list[bool] = []
        for said in sorted(self._record.projections, key=lambda one: one.round):
            mine = before.setdefault(said.alias, [])
            fresh = [terms(item.statement) for item in said.items]
            if mine:
                repeated += [any(_alike(one, other) for other in mine) for one in fresh]
            mine += fresh
        return repeated


def _found(link: Link, record: Record, aliases: Mapping[str, str], said: _Evidence) -> LinkFound:
    named = first = 0
    for seen in record.observations:
        for sources in _matching(link, seen, aliases):
            named = named or seen.round
            sides = zip(link.between, (link.a_terms, link.b_terms), strict=False)
            if not first and all(said.shows(aliases[who], sources, wanted) for who, wanted in sides):
                first = seen.round
    return LinkFound(
        id=link.id, kind=link.kind, between=link.between, by_round=link.by_round, round=first, named_round=named
    )


def _matching(link: Link, seen: Observation, aliases: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The sources of everything in `seen` that is of the link's kind and between its people."""
    if any(who not in aliases for who in link.between):
        return []
    who = {aliases[name] for name in link.between}
    if link.kind == "contribution":
        return [one.sources for one in seen.contributions if {one.alias} == who]
    if link.kind == "third_party_value":
        return [one.sources for one in seen.third_party_value if who <= set(one.about)]
    stated = (one for pair in seen.pairs if {pair.a, pair.b} == who for one in (pair, pair.second) if one is not None)
    return [one.sources for one in stated if one.relation.value == link.kind]


def _is_translated(wanted: ExpectedTranslation, record: Record, aliases: Mapping[str, str]) -> bool:
    """Whether an observation has a translation between the two people with a term of each."""
    a, b = (aliases.get(name, "") for name in wanted.between)
    for seen in record.observations:
        for one in seen.translations:
            if {one.a, one.b} == {a, b}:
                words = {one.a: _plain(one.a_words), one.b: _plain(one.b_words)}
                if _any(wanted.a_terms, words[a]) and _any(wanted.b_terms, words[b]):
                    return True
    return False


def _walked_in(plan: Plan, names: Collection[str]) -> bool:
    """Whether a claim of what is possible, or of a part, rests on both sides, and no collision or residual names both."""
    parts = [claim for role in plan.roles for claim in (*role.contributions, *role.benefits, *role.dependencies)]
    told = [claim.sources for claim in (*plan.offsets, *(one for role in plan.roles for one in role.costs))]
    told += [residual.sources for residual in plan.residuals]

    def both(sources: Iterable[str]) -> bool:
        return set(names) <= _owners(sources)

    joined = any(both(claim.sources) for claim in (*plan.panorama, *parts))
    return joined and not any(map(both, told))


def _owners(sources: Iterable[str]) -> set[str]:
    """Whose words these ids are; lines of the tension are the demander's, whom cases call `demander`."""
    parts = [source.split("/") for source in sources]
    return {"demander" if part[0] == "T" else part[1] for part in parts if len(part) > 1}


def _any(wanted: Sequence[str], text: str) -> bool:
    return any(_plain(term) in text for term in wanted)


def _quotes(item: Item, text: str) -> list[str]:
    return [text[span.start : span.end] for span in item.spans if span.source == "profile"]


def _pair(aliases: Mapping[str, str], between: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(aliases.get(name, name) for name in between))


def _all_pairs(record: Record) -> int:
    contributors: set[str] = set()
    count = 0
    for seen in record.observations:
        contributors |= {said.alias for said in record.projections if said.round <= seen.round and said.items}
        count += len(all_pairs(contributors))
    return count


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one | other) and len(one & other) / len(one | other) >= SAME


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def evidence_overlap(
    one: Record, names: Mapping[str, str], other: Record, other_names: Mapping[str, str], *, rounds: int | None = None
) -> float | None:
    """Overlap of the evidence of two runs of one case, 0 to 1 (docs/evaluation.md §5).

    Over the people who took part in both: characters of their profiles quoted in both runs ÷ quoted in either (Jaccard), in the
    first `rounds` (None: all). None when nothing was quoted. `names`, `other_names`: alias → id in the case, per run.
    """
    first, second = _quoted_positions(one, names, rounds), _quoted_positions(other, other_names, rounds)
    both = first.keys() & second.keys()
    shared = sum(len(first[who] & second[who]) for who in both)
    either = sum(len(first[who] | second[who]) for who in both)
    return shared / either if either else None


def _quoted_positions(record: Record, names: Mapping[str, str], rounds: int | None) -> dict[str, set[int]]:
    """By person: every character position of their profile that an item quotes."""
    found: dict[str, set[int]] = {}
    for said in record.projections:
        if rounds is None or said.round <= rounds:
            mine = found.setdefault(names.get(said.alias, said.alias), set())
            for item in said.items:
                for span in item.spans:
                    if span.source == "profile":
                        mine.update(range(span.start, span.end))
    return found
