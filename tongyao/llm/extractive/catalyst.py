"""One round's observation from nothing but what was said: pairs, contributions, translations, gaps, ignored
limits.

It reads the words of items, whoever wrote them. It relates, and never says what anybody should do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.axes import hours_apart, opposed
from tongyao.llm.extractive.cues import Cue, cues_in
from tongyao.llm.extractive.likeness import Likeness
from tongyao.llm.extractive.observation_text import EFFECT, GAP, PAIR, TRANSLATION, observation_markdown
from tongyao.protocol.model.observation import (
    ContributionDraft,
    CorrespondenceDraft,
    Effect,
    GapDraft,
    GapKind,
    NoteDraft,
    Observation,
    ObservationDraft,
    PairDraft,
    Relation,
    TranslationDraft,
    Verdict,
    all_pairs,
)
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import CatalystRequest, Language

MEETS: Final = 0.1
"""Likeness from which two voices with `SHARED` words in common are taken to speak of the same thing."""

SHARED: Final = 2

MEETS_BY_ONE: Final = 0.4
"""The same where a single word is all they have in common."""

DIFFERENT_WORDS: Final = 0.05
"""Two items on one barrier less alike than this say it in different words."""

MOST: Final = 4
"""Of translations, and of ignored information, in one observation."""


@dataclass(frozen=True)
class Voice:
    """An item as the catalyst hears it."""

    alias: str
    item: Item
    round: int
    said: str
    cues: frozenset[Cue]

    @property
    def offers(self) -> bool:
        return self.item.dimension is Dimension.CAPABILITY and not self.needs

    @property
    def needs(self) -> bool:
        return Cue.NEED in self.cues

    @property
    def limits(self) -> bool:
        return self.item.dimension is Dimension.BOUNDARY

    @property
    def wishes(self) -> bool:
        return self.item.dimension is Dimension.DIRECTION


@dataclass(frozen=True)
class _Bond:
    relation: Relation
    score: float
    left: Voice
    right: Voice
    about: str = ""


class Hearing:
    """All voices of an exchange and how alike any two of them are."""

    def __init__(self, request: CatalystRequest) -> None:
        self.voices = [
            Voice(projection.alias, item, turn.round, said, cues_in(said))
            for turn in request.exchange
            for projection in turn.projections
            for item in projection.items
            if (said := wording.said_in(item.claim))
        ]
        texts = [voice.said for voice in self.voices]
        likeness = Likeness([*texts, *request.tension.targets().values()])
        self._alike, self._shared = likeness.between(texts, texts), likeness.shared(texts, texts)
        self._place = {voice.item.id: place for place, voice in enumerate(self.voices)}

    def of(self, alias: str) -> list[Voice]:
        return [voice for voice in self.voices if voice.alias == alias]

    def alike(self, a: Voice, b: Voice) -> float:
        return float(self._alike[self._place[a.item.id], self._place[b.item.id]])

    def meet(self, a: Voice, b: Voice) -> bool:
        """Whether two voices speak of the same thing: alike enough, and not by one word that anybody may
        use.
        """
        shared = self._shared[self._place[a.item.id], self._place[b.item.id]]
        return self.alike(a, b) >= (MEETS if shared >= SHARED else MEETS_BY_ONE)


def observe(request: CatalystRequest) -> ObservationDraft:
    """Every pair of the contributors (or just `only_pairs`), and what is new of the rest."""
    hearing = Hearing(request)
    wanted = request.only_pairs or all_pairs(request.contributors)
    bonds = {pair: _bond(hearing, *pair) for pair in wanted}
    pairs = [_pair(request.language, a, b, bond) for (a, b), bond in bonds.items()]
    if request.only_pairs:
        return ObservationDraft(pairs=pairs)
    before = [turn.observation for turn in request.exchange if turn.observation]
    contributions = _contributions(request.language, hearing, before)
    translations = _translations(request.language, hearing, bonds, before)
    gaps = _gaps(request, hearing)
    ignored = _ignored(request.language, hearing)
    fresh = _any_new(request, pairs, contributions, translations, before)
    draft = ObservationDraft(
        verdict=Verdict.MORE if fresh else Verdict.EXHAUSTED,
        pairs=pairs,
        contributions=contributions,
        translations=translations,
        gaps=gaps,
        ignored=ignored,
    )
    return draft.model_copy(update={"markdown": observation_markdown(request.language, draft)})


def _bond(hearing: Hearing, a: str, b: str) -> _Bond | None:
    """The strongest relation between two participants; an offset outweighs the match that hides it."""
    found: list[_Bond] = []
    for left in hearing.of(a):
        for right in hearing.of(b):
            alike = hearing.alike(left, right)
            limited = left.limits or right.limits
            if limited and (axis := opposed(left.said, right.said)):
                found.append(_Bond(Relation.OFFSETTING, 1.0 + alike, left, right, f"{axis.zh}\n{axis.en}"))
            elif hours_apart(left.said, right.said) and _wanting(left) and _wanting(right) and alike >= MEETS:
                found.append(_Bond(Relation.OFFSETTING, 1.0 + alike, left, right, "钟点\nthe hour"))
            elif not hearing.meet(left, right):
                continue
            elif left.limits != right.limits and not (left.needs or right.needs):
                found.append(_Bond(Relation.OFFSETTING, 0.8 * alike, left, right))
            elif (left.offers and right.needs) or (left.needs and right.offers):
                found.append(_Bond(Relation.COMPLEMENTARY, 1.2 * alike, left, right))
            elif left.wishes and right.wishes:
                found.append(_Bond(Relation.ALIGNED, alike, left, right))
    return max(found, key=lambda bond: (bond.score, bond.left.item.id, bond.right.item.id), default=None)


def _wanting(voice: Voice) -> bool:
    return voice.limits or voice.needs or voice.wishes


def _pair(language: Language, a: str, b: str, bond: _Bond | None) -> PairDraft:
    if bond is None:
        text = PAIR[Relation.NONE_FOUND][language].format(a=a, b=b)
        return PairDraft(a=a, b=b, relation=Relation.NONE_FOUND, text=text)
    x, y = wording.quoted(bond.left.said, language), wording.quoted(bond.right.said, language)
    about = (
        bond.about.split("\n")[language == "en"]
        if bond.about
        else {"zh": "同一件事", "en": "one and the same thing"}[language]
    )
    giving = bond.left.offers
    text = PAIR[bond.relation][language].format(
        a=a,
        b=b,
        x=x,
        y=y,
        about=about,
        offering=a if giving else b,
        offer=x if giving else y,
        needing=b if giving else a,
        need=y if giving else x,
    )
    left, right = bond.left.item.id, bond.right.item.id
    return PairDraft(a=a, b=b, relation=bond.relation, text=text, sources=[left, right]).model_copy(update=_form(bond))


def _form(bond: _Bond) -> dict[str, list[str] | list[CorrespondenceDraft]]:
    """The slots of a relation. An aligned one has a single correspondence, so that it counts as inferred."""
    left, right = bond.left.item.id, bond.right.item.id
    match bond.relation:
        case Relation.COMPLEMENTARY:
            return {"means": [left], "lack": [right]} if bond.left.offers else {"means": [right], "lack": [left]}
        case Relation.OFFSETTING:
            return (
                {"condition": [left], "cancels": [right]}
                if bond.left.limits
                else {"condition": [right], "cancels": [left]}
            )
        case _:
            return {"steps": [CorrespondenceDraft(a=left, b=right)]}


def _contributions(language: Language, hearing: Hearing, before: list[Observation]) -> list[ContributionDraft]:
    """Who touches what, each once: what an earlier observation has said is not said again."""
    known = {(one.alias, one.target, one.effect) for observation in before for one in observation.contributions}
    grouped: dict[tuple[str, str, Effect], list[Voice]] = {}
    for voice in hearing.voices:
        for target in voice.item.targets:
            grouped.setdefault((voice.alias, target, _effect(voice, target)), []).append(voice)
    return [
        ContributionDraft(
            alias=alias,
            target=target,
            effect=effect,
            text=EFFECT[effect][language].format(
                alias=alias, target=target, said=wording.quoted(voices[0].said, language)
            ),
            sources=[voice.item.id for voice in voices],
        )
        for (alias, target, effect), voices in sorted(grouped.items())
        if (alias, target, effect) not in known
    ]


def _effect(voice: Voice, target: str) -> Effect:
    if voice.limits:
        return Effect.WORSENS if target.startswith("B") else Effect.COLLIDES
    if voice.offers and Cue.OFFER in voice.cues and target == next(iter(voice.item.targets)) and target.startswith("B"):
        return Effect.DISSOLVES
    return Effect.HELPS


def _translations(
    language: Language,
    hearing: Hearing,
    bonds: dict[tuple[str, str], _Bond | None],
    before: list[Observation],
) -> list[TranslationDraft]:
    """Two who speak to one barrier in different words; first those between whom nothing else was found."""
    known = {frozenset((one.a, one.b)) for observation in before for one in observation.translations}
    found: list[tuple[float, TranslationDraft]] = []
    for (a, b), bond in bonds.items():
        if frozenset((a, b)) in known:
            continue
        both = [
            (shared, left, right)
            for left in hearing.of(a)
            for right in hearing.of(b)
            if not left.limits and not right.limits and hearing.alike(left, right) < DIFFERENT_WORDS
            for shared in left.item.targets[:1]
            if shared in right.item.targets[:1] and shared.startswith("B")
        ]
        if both:
            shared, left, right = both[0]
            text = TRANSLATION[language].format(
                a=a,
                b=b,
                x=wording.quoted(left.said, language),
                y=wording.quoted(right.said, language),
                shared=shared,
            )
            words = [wording.excerpt(voice.said) if wording.repeatable(voice.said) else "" for voice in (left, right)]
            found.append(
                (
                    float(bond is not None),
                    TranslationDraft(
                        a=a,
                        b=b,
                        a_words=words[0],
                        b_words=words[1],
                        text=text,
                        sources=[left.item.id, right.item.id],
                    ),
                )
            )
    return [draft for _, draft in sorted(found, key=lambda one: one[0])[:MOST]]


def _gaps(request: CatalystRequest, hearing: Hearing) -> list[GapDraft]:
    """Barriers that no capability faces: `overlooked` while anybody has named them at all, else `absent`."""
    gaps = []
    for target, text in request.tension.targets().items():
        facing = [voice for voice in hearing.voices if target in voice.item.targets]
        if target.startswith("B") and not any(voice.offers for voice in facing):
            kind = GapKind.OVERLOOKED if facing else GapKind.ABSENT
            said = wording.quoted(text, request.language)
            line = GAP[kind][request.language].format(target=target, said=said)
            gaps.append(GapDraft(kind=kind, target=target, text=line))
    return gaps


def _ignored(language: Language, hearing: Hearing) -> list[NoteDraft]:
    """Limits that nothing said by anybody else comes near; the newest first."""
    notes = []
    for voice in reversed(hearing.voices):
        others = [other for other in hearing.voices if other.alias != voice.alias]
        if voice.limits and not any(hearing.meet(voice, one) or opposed(voice.said, one.said) for one in others):
            said = wording.quoted(voice.said, language)
            text = {
                "zh": f"{voice.alias} 说{said}，没有人回应。",
                "en": f"{voice.alias} said {said}; nobody answered it.",
            }[language]
            notes.append(NoteDraft(text=text, about=[voice.alias], sources=[voice.item.id]))
    return notes[:MOST]


def _any_new(
    request: CatalystRequest,
    pairs: Iterable[PairDraft],
    contributions: list[ContributionDraft],
    translations: list[TranslationDraft],
    before: list[Observation],
) -> bool:
    if not any(projection.items for projection in request.exchange[-1].projections):
        return False
    known = {(one.a, one.b, one.relation) for observation in before for one in observation.pairs}
    return bool(
        contributions or translations or any(p.relation.related and (p.a, p.b, p.relation) not in known for p in pairs)
    )
