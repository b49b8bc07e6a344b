"""The parts of a plan that stand for themselves: what it is about, what is possible, each one's part, residual tensions."""

from __future__ import annotations

from typing import Final

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.cues import Cue, cues_in
from tongyao.llm.extractive.plan_record import Record, needs
from tongyao.llm.extractive.plan_text import PLAN
from tongyao.protocol.model.observation import Pair, Relation
from tongyao.protocol.model.plan import ClaimDraft, ResidualDraft, RoleDraft
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import PlannerRequest
from tongyao.protocol.model.tension import TENSION_UNITS

CLAIMS_EACH: Final = 3


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
    """The relations that were found, then which barriers somebody has something for."""
    words, claims = PLAN[record.language], list[ClaimDraft]()
    for one in record.dependencies():
        text = words["complementary"].format(
            needing=one.needing, offering=one.offering, need=record.said(one.need), offer=record.said(one.offer)
        )
        claims.append(ClaimDraft(text=text, sources=[*one.pair.sources, one.pair.id]))
    for pair in record.related(Relation.ALIGNED):
        said = [item for source in pair.sources[:2] if (item := record.item(source))]
        if len(said) == 2:
            a, b = (record.owner(item.id) for item in said)
            x, y = (record.said(item) for item in said)
            claims.append(
                ClaimDraft(text=words["aligned"].format(a=a, b=b, x=x, y=y), sources=[*pair.sources, pair.id])
            )
    for target, barrier in record.tension.targets().items():
        facing = [item for alias in record.aliases for item in record.offers(alias) if target in item.targets]
        if target.startswith("B") and facing:
            first = {record.owner(item.id): item for item in reversed(facing)}
            who = words["and"].join(f"{alias} {record.said_short(first[alias])}" for alias in sorted(first))
            text = words["faced"].format(b=wording.repeated(barrier, record.language, 16), who=who)
            claims.append(ClaimDraft(text=text, sources=[first[alias].id for alias in sorted(first)]))
    return claims


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
    """What somebody gives, what they are after, on which conditions, and whose share they wait for."""
    words = PLAN[record.language]
    waiting = {one.need.id: one for one in record.dependencies() if one.needing == alias}
    wishes = [
        item
        for item in record.items[alias]
        if item.dimension is not Dimension.BOUNDARY and (needs(item) or _wished(item))
    ]
    wishes.sort(key=lambda item: item.id not in waiting)
    benefits = []
    for item in wishes[:CLAIMS_EACH]:
        said = record.said(item)
        met = (
            words["met"].format(said=said, other=waiting[item.id].offering)
            if item.id in waiting
            else words["unmet"].format(said=said)
        )
        benefits.append(ClaimDraft(text=met, sources=[item.id]))
    limits = [
        item
        for item in record.of(alias, Dimension.BOUNDARY)
        if Cue.LIMIT in cues_in(wording.said_in(item)) and item not in wishes[:CLAIMS_EACH]
    ]
    return RoleDraft(
        alias=alias,
        role=record.phrase(alias),
        contributions=[
            ClaimDraft(text=record.said(item), sources=[item.id])
            for item in [*record.offers(alias), *record.belongings(alias)][:CLAIMS_EACH]
        ],
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


def _wished(item: Item) -> bool:
    return item.dimension is Dimension.DIRECTION and Cue.WISH in cues_in(wording.said_in(item))


def gaps(record: Record) -> list[ResidualDraft]:
    """One residual per barrier that nobody faces, each a tension of its own within the limit."""
    words = PLAN[record.language]
    found = []
    for target, named in record.uncovered():
        barrier = record.tension.targets()[target]
        found.append(
            _residual(
                record,
                title=words["residual"].format(said=wording.repeated(barrier, record.language, 20)),
                transition=words["remove"].format(said=wording.excerpt(barrier)),
                barrier=wording.excerpt(barrier, 60),
                sources=[f"T/{target}", *named],
            )
        )
    return found


def collisions(record: Record) -> list[ResidualDraft]:
    """One residual per offset."""
    words = PLAN[record.language]
    return [
        _residual(
            record,
            title=words["offset"].format(a=pair.a, b=pair.b),
            transition=words["hold_both"].format(both=words["and"].join(record.said_by(pair.sources[:2]))),
            barrier=_apart(record, pair),
            sources=[*pair.sources, pair.id],
        )
        for pair in record.related(Relation.OFFSETTING)
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
