"""One round's observation from nothing but what was said: pairs, contributions, gaps, needs for which nothing was found.

It reads the words of items, whoever wrote them. It relates, and never says what anybody should do. It states no translations: that two people mean
the same in different words cannot be seen by comparing words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.bonds import Bond, bond_between
from tongyao.llm.extractive.cues import Cue
from tongyao.llm.extractive.hearing import Hearing, Voice
from tongyao.llm.extractive.observation_text import (
    EFFECT,
    GAP,
    IGNORED,
    MAY_HAVE,
    PAIR,
    SPEAKS_OF,
    observation_markdown,
    part_in_words,
)
from tongyao.protocol.model.observation import (
    ContributionDraft,
    Effect,
    GapDraft,
    GapKind,
    NoteDraft,
    Observation,
    ObservationDraft,
    PairDraft,
    Relation,
    Verdict,
    all_pairs,
)
from tongyao.protocol.model.requests import CatalystRequest, Language

OPEN_NEEDS: Final = 8
"""Of needs for which nothing was found: whoever has something for them says so in the next round."""


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
    gaps = _gaps(request, hearing)
    related = {source for bond in bonds.values() if bond for source in bond.sources()}
    ignored = _ignored(request.language, hearing, related)
    fresh = _any_new(request, pairs, contributions, before)
    draft = ObservationDraft(
        verdict=Verdict.MORE if fresh else Verdict.EXHAUSTED,
        pairs=pairs,
        contributions=contributions,
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


def _form(bond: Bond) -> dict[str, list[str]]:
    """The slots of a relation. Those of an aligned one stay empty, so that it counts as inferred."""
    left, right = bond.of(bond.left.alias), bond.of(bond.right.alias)
    match bond.relation:
        case Relation.COMPLEMENTARY:
            return {"lack": left, "means": right} if bond.left.needs else {"lack": right, "means": left}
        case Relation.OFFSETTING:
            return {"condition": left, "cancels": right} if bond.left.limits else {"condition": right, "cancels": left}
        case _:
            return {}


def _contributions(language: Language, hearing: Hearing, before: list[Observation]) -> list[ContributionDraft]:
    """Who touches what, each once: what an earlier observation has said is not said again.

    Somebody's need is no help against a barrier. It is told where the demander says something for it, or where it speaks of the wish.
    """
    known = {(one.alias, one.target, one.effect) for observation in before for one in observation.contributions}
    grouped: dict[tuple[str, str, Effect], list[Voice]] = {}
    for voice in hearing.voices:
        for target in _touched(hearing, voice):
            grouped.setdefault((voice.alias, target, _effect(voice, target)), []).append(voice)
    return [
        ContributionDraft(
            alias=alias,
            target=target,
            effect=effect,
            text=_effect_words(hearing, effect, target, voices[0])[language].format(
                alias=alias, target=part_in_words(target, language), said=wording.quoted(voices[0].said, language)
            ),
            sources=[voice.item.id for voice in voices],
        )
        for (alias, target, effect), voices in sorted(grouped.items())
        if (alias, target, effect) not in known
    ]


def _touched(hearing: Hearing, voice: Voice) -> tuple[str, ...]:
    """The parts of the tension that a statement is told beside: a need beside no barrier, and first beside what meets it."""
    if not voice.only_needs:
        return voice.item.targets
    met = hearing.met_by_demander(voice)
    return (met,) if met else tuple(target for target in voice.item.targets if not target.startswith("B"))


def _effect_words(hearing: Hearing, effect: Effect, target: str, voice: Voice) -> dict[Language, str]:
    if voice.only_needs and hearing.met_by_demander(voice) == target:
        return MAY_HAVE
    spoken_of = effect is Effect.HELPS and (voice.only_needs or (target.startswith("B") and not voice.offers))
    return SPEAKS_OF if spoken_of else EFFECT[effect]


def _effect(voice: Voice, target: str) -> Effect:
    if voice.limits:
        return Effect.WORSENS if target.startswith("B") else Effect.COLLIDES
    if voice.offers and Cue.OFFER in voice.cues and target == next(iter(voice.item.targets)) and target.startswith("B"):
        return Effect.DISSOLVES
    return Effect.HELPS


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


def _ignored(language: Language, hearing: Hearing, related: set[str]) -> list[NoteDraft]:
    """Needs that nobody's words meet, the demander's neither, and that no relation rests on; the newest first. A limit asks nothing."""
    needs = [
        voice
        for voice in reversed(hearing.voices)
        if voice.needs
        and voice.item.id not in related
        and not hearing.met_by_demander(voice)
        and not any(one.answers and hearing.meets(voice, one) for one in hearing.voices if one.alias != voice.alias)
    ]
    return [
        NoteDraft(
            text=IGNORED[language].format(alias=voice.alias, said=wording.quoted(voice.said, language)),
            about=[voice.alias],
            sources=[voice.item.id],
        )
        for voice in needs[:OPEN_NEEDS]
    ]


def _any_new(
    request: CatalystRequest,
    pairs: Iterable[PairDraft],
    contributions: list[ContributionDraft],
    before: list[Observation],
) -> bool:
    if not any(projection.items for projection in request.exchange[-1].projections):
        return False
    known = {(one.a, one.b, one.relation) for observation in before for one in observation.pairs}
    return bool(contributions) or any(p.relation.related and (p.a, p.b, p.relation) not in known for p in pairs)
