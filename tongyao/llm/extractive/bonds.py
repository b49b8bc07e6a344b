"""What is between two participants, from the words of their statements: the strongest relation, or none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tongyao.llm.extractive.axes import hours_apart, opposed
from tongyao.llm.extractive.hearing import MEETS_NEED, Hearing, Voice
from tongyao.protocol.model.observation import Relation
from tongyao.protocol.model.requests import Language

COLLIDES: Final[dict[Language, float]] = {"en": 2.0, "zh": 1.0}
"""The same from which a limit is about what somebody else offers, needs or wants: more than one word."""

SAME_THING: Final = 0.5
"""So much of `MEETS_NEED` makes two statements with hours far apart speak of the same thing."""

ELSEWHERE: Final = 0.5
"""What a word counts that meets a need in another statement than the one that meets it best."""

BY_RULE: Final = 2.0
"""Score of an offset that an axis or the hours show: it outweighs the match that hides it."""

NEEDS: Final = 2
"""So many needs of one side are named that the other side meets."""

ANSWERS: Final = 2
"""So many statements are named with the need that they answer."""


@dataclass(frozen=True)
class Bond:
    """A relation with the two statements that show it best, and further statements that bear it out."""

    relation: Relation
    score: float
    left: Voice
    right: Voice
    about: str = ""
    further: tuple[Voice, ...] = ()

    def sources(self) -> list[str]:
        return [voice.item.id for voice in (self.left, self.right, *self.further)]

    def of(self, alias: str) -> list[str]:
        """The ids of the statements of one of the two."""
        return [voice.item.id for voice in (self.left, self.right, *self.further) if voice.alias == alias]


def bond_between(hearing: Hearing, a: str, b: str) -> Bond | None:
    """The strongest relation between two participants, or None."""
    found = [*_met_needs(hearing, a, b), *_met_needs(hearing, b, a)]
    for left in hearing.of(a):
        for right in hearing.of(b):
            bond = _offset(hearing, left, right) or _aligned(hearing, left, right)
            if bond is not None:
                found.append(bond)
    return max(found, key=lambda bond: (bond.score, bond.left.item.id, bond.right.item.id), default=None)


def _met_needs(hearing: Hearing, needing: str, giving: str) -> list[Bond]:
    """What `needing` needs and `giving` speaks of without needing or ruling it out, as one bond at most."""
    met = sorted(
        (bond for need in hearing.of(needing) if need.needs and (bond := _met(hearing, need, giving))),
        key=lambda bond: (-bond.score, bond.left.item.id),
    )
    if not met:
        return []
    further = [voice for bond in met[1:NEEDS] for voice in (bond.left, bond.right, *bond.further)]
    known = {met[0].left.item.id, met[0].right.item.id}
    voices = {voice.item.id: voice for voice in (*met[0].further, *further) if voice.item.id not in known}
    return [replace(met[0], further=tuple(voices.values()))]


def _met(hearing: Hearing, need: Voice, giving: str) -> Bond | None:
    """How much of the words of a need the statements of `giving` have, which are no needs or limits themselves."""
    answers = [voice for voice in hearing.of(giving) if voice.answers]
    ranked = sorted(answers, key=lambda voice: -hearing.bearing(need, voice))
    if not ranked:
        return None
    met = hearing.met(need, ranked[0])
    score, further = hearing.bearing(need, ranked[0]), list[Voice]()
    for voice in ranked[1:]:
        more = hearing.met(need, voice) - met
        if gained := hearing.weigh(more):
            score, met = score + ELSEWHERE * gained, met | more
            further.append(voice)
    if score < MEETS_NEED[hearing.language]:
        return None
    score /= MEETS_NEED[hearing.language]
    return Bond(Relation.COMPLEMENTARY, score, need, ranked[0], further=tuple(further[: ANSWERS - 1]))


def _offset(hearing: Hearing, left: Voice, right: Voice) -> Bond | None:
    """Two statements about the same thing that may not both hold: poles of an axis, hours far apart, a limit."""
    if (left.limits or right.limits) and (axis := opposed(left.said, right.said)):
        score = BY_RULE + hearing.alike(left, right)
        return Bond(Relation.OFFSETTING, score, left, right, f"{axis.zh}\n{axis.en}")
    at_stake = all(voice.limits or voice.needs or voice.wishes for voice in (left, right))
    weight = hearing.weigh(hearing.shared(left, right))
    if at_stake and hours_apart(left.said, right.said) and weight >= SAME_THING * MEETS_NEED[hearing.language]:
        return Bond(Relation.OFFSETTING, BY_RULE + hearing.alike(left, right), left, right, "钟点\nthe hour")
    if left.limits == right.limits:
        return None
    other = right if left.limits else left
    if other.sought and weight >= COLLIDES[hearing.language]:
        return Bond(Relation.OFFSETTING, 0.8 * weight / MEETS_NEED[hearing.language], left, right)
    return None


def _aligned(hearing: Hearing, left: Voice, right: Voice) -> Bond | None:
    if not (left.wishes and right.wishes) or left.needs or right.needs:
        return None
    weight = hearing.weigh(hearing.shared(left, right))
    if weight < MEETS_NEED[hearing.language]:
        return None
    return Bond(Relation.ALIGNED, 0.8 * weight / MEETS_NEED[hearing.language], left, right)
