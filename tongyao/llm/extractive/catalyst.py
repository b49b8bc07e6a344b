"""One round's observation from nothing but what was said: pairs, contributions, translations, gaps, ignored
limits.

It reads the words of items, whoever wrote them. It relates, and never says what anybody should do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.axes import opposed
from tongyao.llm.extractive.bonds import Bond, bond_between
from tongyao.llm.extractive.cues import Cue
from tongyao.llm.extractive.hearing import Hearing, Voice
from tongyao.llm.extractive.observation_text import (
    EFFECT,
    GAP,
    IGNORED,
    PAIR,
    SPEAKS_OF,
    TRANSLATION,
    observation_markdown,
)
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
from tongyao.protocol.model.requests import CatalystRequest, Language

DIFFERENT_WORDS: Final = 0.05
"""Two items on one barrier less alike than this say it in different words."""

MOST: Final = 4
"""Of translations, and of limits that nobody answered, in one observation."""

OPEN_NEEDS: Final = 8
"""Of needs that nobody answered: whoever has something for them says so in the next round."""


def observe(request: CatalystRequest) -> ObservationDraft:
    """Every pair of the contributors (or just `only_pairs`), and what is new of the rest."""
    hearing = Hearing(request)
    wanted = request.only_pairs or all_pairs(request.contributors)
    bonds = {pair: bond_between(hearing, *pair) for pair in wanted}
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


def _pair(language: Language, a: str, b: str, bond: Bond | None) -> PairDraft:
    if bond is None:
        text = PAIR[Relation.NONE_FOUND][language].format(a=a, b=b)
        return PairDraft(a=a, b=b, relation=Relation.NONE_FOUND, text=text)
    left, right = wording.quoted(bond.left.said, language), wording.quoted(bond.right.said, language)
    x, y = (left, right) if bond.left.alias == a else (right, left)
    about = (
        bond.about.split("\n")[language == "en"]
        if bond.about
        else {"zh": "同一件事", "en": "one and the same thing"}[language]
    )
    text = PAIR[bond.relation][language].format(
        a=a,
        b=b,
        x=x,
        y=y,
        about=about,
        needing=bond.left.alias,  # a need that is met stands on the left, whichever of the two has it
        need=left,
        offering=bond.right.alias,
        offer=right,
    )
    draft = PairDraft(a=a, b=b, relation=bond.relation, text=text, sources=bond.sources())
    return draft.model_copy(update=_form(bond))


def _form(bond: Bond) -> dict[str, list[str] | list[CorrespondenceDraft]]:
    """The slots of a relation. An aligned one has a single correspondence, so that it counts as inferred."""
    left, right = bond.of(bond.left.alias), bond.of(bond.right.alias)
    match bond.relation:
        case Relation.COMPLEMENTARY:
            return {"lack": left, "means": right} if bond.left.needs else {"lack": right, "means": left}
        case Relation.OFFSETTING:
            return {"condition": left, "cancels": right} if bond.left.limits else {"condition": right, "cancels": left}
        case _:
            return {"steps": [CorrespondenceDraft(a=left[0], b=right[0])]}


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
            text=_effect_words(effect, target, voices)[language].format(
                alias=alias, target=target, said=wording.quoted(voices[0].said, language)
            ),
            sources=[voice.item.id for voice in voices],
        )
        for (alias, target, effect), voices in sorted(grouped.items())
        if (alias, target, effect) not in known
    ]


def _effect_words(effect: Effect, target: str, voices: list[Voice]) -> dict[Language, str]:
    offered = any(voice.offers for voice in voices)
    return SPEAKS_OF if effect is Effect.HELPS and target.startswith("B") and not offered else EFFECT[effect]


def _effect(voice: Voice, target: str) -> Effect:
    if voice.limits:
        return Effect.WORSENS if target.startswith("B") else Effect.COLLIDES
    if voice.offers and Cue.OFFER in voice.cues and target == next(iter(voice.item.targets)) and target.startswith("B"):
        return Effect.DISSOLVES
    return Effect.HELPS


def _translations(
    language: Language,
    hearing: Hearing,
    bonds: dict[tuple[str, str], Bond | None],
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
    """Needs that nobody's words meet, then limits that nothing said by anybody else comes near; the newest first."""
    needs, limits = list[Voice](), list[Voice]()
    for voice in reversed(hearing.voices):
        others = [other for other in hearing.voices if other.alias != voice.alias]
        if voice.needs and not any(one.answers and hearing.meets(voice, one) for one in others):
            needs.append(voice)
        elif voice.limits and not any(hearing.meet(voice, one) or opposed(voice.said, one.said) for one in others):
            limits.append(voice)
    return [
        NoteDraft(
            text=IGNORED[language].format(alias=voice.alias, said=wording.quoted(voice.said, language)),
            about=[voice.alias],
            sources=[voice.item.id],
        )
        for voice in (*needs[:OPEN_NEEDS], *limits[:MOST])
    ]


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
