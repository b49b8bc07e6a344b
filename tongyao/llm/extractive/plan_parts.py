"""The parts of a plan that stand for themselves: what it is about, what is possible, each one's part, residual tensions."""

from __future__ import annotations

from typing import Final

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.cues import Cue, cues_in, names_something, offers_now
from tongyao.llm.extractive.plan_record import Record, needs
from tongyao.llm.extractive.plan_text import PLAN
from tongyao.protocol.model.observation import Pair, Relation
from tongyao.protocol.model.plan import ClaimDraft, ResidualDraft, RoleDraft
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import PlannerRequest
from tongyao.protocol.model.tension import TENSION_UNITS

CLAIMS_EACH: Final = 3

EACH_LINE: Final = 3
"""People named beside a line of the tension."""


def about(record: Record) -> list[ClaimDraft]:
    """The tension, part by part, whole: everything else leans on it."""
    words = PLAN[record.language]
    return [
        ClaimDraft(
            text=words[target[0]].format(said=wording.repeated(text, record.language, TENSION_UNITS)),
            sources=[f"T/{target}"],
        )
        for target, text in record.tension.targets().items()
    ]


def possible(record: Record) -> list[ClaimDraft]:
    """What touches the lines of the tension, then the relations that do; at the end, in short, what two have with each other alone."""
    words, say = PLAN[record.language], _Teller(record)
    claims = [claim for target in _barriers_first(record) if (claim := _beside(record, target, say))]
    for one in record.dependencies:
        shared = record.common(one.need, one.offer)
        claims.append(
            ClaimDraft(
                text=words["complementary" if shared else "place"].format(
                    needing=one.needing,
                    offering=one.offering,
                    need=say.whole_once(one.need),
                    offer=say.whole_once(one.offer),
                    words=wording.listed(shared, record.language),
                ),
                sources=[*one.pair.sources, one.pair.id],
            )
        )
    for pair in record.concerning(Relation.ALIGNED):
        said = [item for source in pair.sources[:2] if (item := record.item(source))]
        if len(said) == 2 and (shared := record.common(said[0], said[1])):
            a, b = (record.owner(item.id) for item in said)
            text = words["aligned"].format(
                a=a,
                b=b,
                x=say.whole_once(said[0]),
                y=say.whole_once(said[1]),
                words=wording.listed(shared, record.language),
            )
            claims.append(ClaimDraft(text=text, sources=[*pair.sources, pair.id]))
    if not claims:
        claims.append(ClaimDraft(text=words["nothing"], sources=["T/T"]))
    return [*claims, *_in_short(record, "besides", record.beside(Relation.COMPLEMENTARY, Relation.ALIGNED))]


class _Teller:
    """Quotes a statement whole where the plan first says it, and in a few words after that."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._told: set[str] = set()

    def whole_once(self, item: Item) -> str:
        if item.id in self._told:
            return self._record.said_short(item)
        self._told.add(item.id)
        return self._record.said(item)


def _barriers_first(record: Record) -> list[str]:
    return sorted(record.tension.targets(), key=lambda target: (target[0] != "B", target != "T"))


def _beside(record: Record, target: str, say: _Teller) -> ClaimDraft | None:
    """Who said something in the words of a line of the tension: of the exchange what they need, else what they give."""
    words = PLAN[record.language]
    near: list[tuple[int, str, Item, list[str]]] = []
    for alias in record.aliases:
        own = filter(needs, record.items[alias]) if target == "E" else record.gives(alias)
        found = [
            (len(shared), item, shared) for item in own if (shared := record.touched(item).get(target)) is not None
        ]
        if found:
            number, item, shared = max(found, key=lambda one: one[0])
            near.append((number, alias, item, shared))
    if not near:
        return None
    near = sorted(near, key=lambda one: (-one[0], one[1]))[:EACH_LINE]
    who = words["then"].join(
        words["shares" if shared else "has_place"].format(
            alias=alias, words=wording.listed(shared, record.language), said=say.whole_once(item)
        )
        for _, alias, item, shared in near
    )
    line = wording.repeated(record.tension.targets()[target], record.language, 24)
    text = words["beside_exchange" if target == "E" else "beside"].format(line=line, who=who)
    return ClaimDraft(text=text, sources=[*(item.id for _, _, item, _ in near), f"T/{target}"])


def _in_short(record: Record, name: str, pairs: list[Pair]) -> list[ClaimDraft]:
    """One sentence that names pairs of people, and no more of them; none without pairs."""
    if not pairs:
        return []
    words = PLAN[record.language]
    who = words["then"].join(words["two"].format(a=pair.a, b=pair.b) for pair in pairs)
    sources = [source for pair in pairs for source in (*pair.sources, pair.id)]
    return [ClaimDraft(text=words[name].format(pairs=who), sources=list(dict.fromkeys(sources)))]


def against(record: Record) -> list[ClaimDraft]:
    """Offsets that concern the tension; then, in short, the others."""
    return [
        *(
            ClaimDraft(text=pair.text, sources=[*pair.sources, pair.id])
            for pair in record.concerning(Relation.OFFSETTING)
        ),
        *_in_short(record, "besides_against", record.beside(Relation.OFFSETTING)),
    ]


def of_children(request: PlannerRequest) -> list[ClaimDraft]:
    """What each finished child process came to: the first claim of its plan."""
    claims = []
    for child in request.children:
        first = next(iter(child.plan.panorama), None)
        if first is not None:
            claims.append(
                ClaimDraft(
                    text=PLAN[request.language]["child"].format(title=child.title, text=first.text),
                    sources=[
                        source if source.startswith(child.process) else f"{child.process}/{source}"
                        for source in first.sources
                    ],
                )
            )
    return claims


def role(record: Record, alias: str) -> RoleDraft:
    """What somebody gives, what they are after, on which conditions, and whose share they wait for.

    Who has nothing that touches the tension has no part, and is not asked for any: only the words by which they are known again.
    """
    words = PLAN[record.language]
    if not record.takes_part(alias):
        return RoleDraft(alias=alias, role=record.phrase(alias))
    own = [one for one in record.dependencies if one.needing == alias]
    # Of two who have something for one need, the one who says more of its words.
    waiting = {one.need.id: one for one in sorted(own, key=lambda one: len(record.common(one.need, one.offer)))}
    bonded = record.bonded(alias)
    given = [item for item in record.gives(alias) if record.touched(item) or item in bonded or _offered(item)]
    wishes = [
        item
        for item in record.items[alias]
        if item.dimension is not Dimension.BOUNDARY and (needs(item) or _wished(item))
    ]
    wishes.sort(key=lambda item: (item.id not in waiting, not record.touched(item)))
    benefits = []
    for item in wishes[:CLAIMS_EACH]:
        said, one = record.said(item), waiting.get(item.id)
        met = words["unmet"].format(said=said)
        if one is not None:
            shared = record.common(one.need, one.offer)
            listed = wording.listed(shared, record.language)
            met = words["met" if shared else "met_by_place"].format(said=said, other=one.offering, words=listed)
        benefits.append(ClaimDraft(text=met, sources=[item.id, *([one.offer.id] if one is not None else [])]))
    limits = [
        item
        for item in record.of(alias, Dimension.BOUNDARY)
        if Cue.LIMIT in cues_in(wording.said_in(item)) and item not in wishes[:CLAIMS_EACH]
    ]
    return RoleDraft(
        alias=alias,
        role=record.phrase(alias),
        contributions=[ClaimDraft(text=record.said(item), sources=[item.id]) for item in given[:CLAIMS_EACH]],
        benefits=benefits,
        costs=[ClaimDraft(text=record.said(item), sources=[item.id]) for item in limits[:CLAIMS_EACH]],
        dependencies=[
            ClaimDraft(
                text=words["waits"].format(other=one.offering, offer=record.said_short(one.offer)),
                sources=[one.offer.id, one.pair.id],
            )
            for one in waiting.values()
        ],
    )


def _offered(item: Item) -> bool:
    said = wording.said_in(item)
    return offers_now(said) or names_something(said)


def _wished(item: Item) -> bool:
    return item.dimension is Dimension.DIRECTION and Cue.WISH in cues_in(wording.said_in(item))


def gaps(record: Record) -> list[ResidualDraft]:
    """One residual per barrier that nothing offered touches, each a tension of its own within the limit."""
    words = PLAN[record.language]
    found = []
    for target, named in record.uncovered():
        barrier = record.tension.targets()[target]
        found.append(
            _residual(
                record,
                title=words["not_offered" if record.spoken_of(target) else "not_spoken_of"].format(
                    said=wording.repeated(barrier, record.language, 24)
                ),
                transition=words["wanted"].format(said=wording.repeated(barrier, record.language)),
                barrier=wording.excerpt(barrier, 60),
                sources=[f"T/{target}", *named],
            )
        )
    return found


def collisions(record: Record) -> list[ResidualDraft]:
    """One residual per offset that concerns the tension."""
    words = PLAN[record.language]
    return [
        _residual(
            record,
            title=words["offset"].format(a=pair.a, b=pair.b),
            transition=words["hold_both"].format(both=words["both"].join(record.said_by(pair.sources[:2]))),
            barrier=_apart(record, pair),
            sources=[*pair.sources, pair.id],
        )
        for pair in record.concerning(Relation.OFFSETTING)
    ]


def _apart(record: Record, pair: Pair) -> str:
    """The two statements that may not both hold, each short enough to be read whole."""
    said = [item for source in pair.sources[:2] if (item := record.item(source))]
    if len(said) < 2:
        return wording.excerpt(pair.text, 60)
    (a, x), (b, y) = ((record.owner(item.id), record.said(item, 18)) for item in said)
    return PLAN[record.language]["apart"].format(a=a, x=x, b=b, y=y)


def _residual(record: Record, *, title: str, transition: str, barrier: str, sources: list[str]) -> ResidualDraft:
    tension = record.tension
    return ResidualDraft(
        title=title,
        transition=transition,
        initial_state="" if "I" not in tension.targets() else wording.sentences_within(tension.initial_state, 90),
        barriers=[barrier],
        exchange="" if "E" not in tension.targets() else wording.sentences_within(tension.exchange, 60),
        sources=sources,
    )
