"""A raw intent and a profile's own sentences, sorted into T, I, B and E; blank where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tongyao.llm.extractive.cues import WISH_AT_HEART, Cue, is_label, weight
from tongyao.llm.extractive.likeness import Likeness
from tongyao.llm.extractive.sentences import Sentence, split
from tongyao.protocol.requests import FormulationRequest, Material
from tongyao.protocol.sizes import cut, units
from tongyao.protocol.tension import TENSION_UNITS, TensionDraft

ROOM: Final = {"T": 65, "B": 85, "E": 65, "I": 85}
"""Units of each lens, together exactly `TENSION_UNITS`. The order is that of choosing: T first, as the intent is about it."""

BARRIERS: Final = 4
LEAST: Final = 2.0
"""A sentence enters a lens when it says so itself, or stands under a heading that does and bears on the intent."""


@dataclass(frozen=True)
class _Candidate:
    order: int
    sentence: Sentence
    of_intent: bool
    bearing: float

    def score(self, lens: str) -> float:
        text, heading = self.sentence.text, self.sentence.heading
        shown = weight(_CUE[lens], text, heading)
        if lens == "T":
            shown += 3.0 * bool(WISH_AT_HEART.search(text))
        elif lens == "I":
            if is_label(text) or weight(Cue.WISH, text, heading) > shown:
                return 0.0
            shown += weight(Cue.LIMIT, text, "") * bool(weight(Cue.STATE, "", heading))
        elif lens == "B":
            # Under "what stands in the way" a sentence is an obstacle only if it also says what is lacking.
            shown -= weight(Cue.OFFER, text, "") + 1.5 * bool(weight(Cue.LIMIT, "", heading))
        elif lens == "E":
            shown -= weight(Cue.NEED, text, heading) + weight(Cue.LIMIT, text, heading)
        # What comes first among offers is what their owner thinks of first; elsewhere the intent decides.
        nearness = (0.5 if lens == "E" else 2.0) * self.bearing
        return shown + 1.0 * self.of_intent + nearness if shown >= LEAST else 0.0


_CUE: Final = {"T": Cue.WISH, "I": Cue.STATE, "B": Cue.OBSTACLE, "E": Cue.OFFER}


def sentences_of(material: Material | None) -> list[Sentence]:
    """Every sentence of what may be looked at, with its place in the whole text."""
    if material is None:
        return []
    return [sentence for piece in material.pieces for sentence in split(piece.text, offset=piece.start)]


def formulate(request: FormulationRequest) -> TensionDraft:
    """At most `TENSION_UNITS` units in all. Without any wish, the intent's beginning is the transition."""
    intent, profile = split(request.intent), sentences_of(request.material)
    if not intent and request.intent.strip():
        intent = [Sentence(0, request.intent.strip())]
    texts = [sentence.text for sentence in (*intent, *profile)]
    likeness = Likeness(texts)
    bearing = likeness.between(texts, [sentence.text for sentence in intent]).max(axis=1, initial=0.0)
    pool = [
        _Candidate(
            order, sentence, order < len(intent), float(bearing[order]) if order >= len(intent) else 0.0
        )
        for order, sentence in enumerate((*intent, *profile))
    ]
    chosen: dict[str, list[str]] = {}
    for lens, room in ROOM.items():
        picked = _pick(pool, lens, room, most=BARRIERS if lens == "B" else len(pool))
        pool = [candidate for candidate in pool if candidate not in picked]
        chosen[lens] = [candidate.sentence.text for candidate in picked]
        if lens == "T" and not picked and intent:
            pool = [candidate for candidate in pool if candidate.order != 0]
            chosen[lens] = [cut(intent[0].text, room)]
    barriers = [cut(text, ROOM["B"]) for text in chosen["B"]]
    return TensionDraft(
        transition=_joined(chosen["T"]),
        initial_state=_joined(chosen["I"]),
        barriers=barriers,
        exchange=_joined(chosen["E"]),
    )


def _pick(pool: list[_Candidate], lens: str, room: int, *, most: int) -> list[_Candidate]:
    ranked = sorted(pool, key=lambda candidate: (-candidate.score(lens), candidate.order))
    picked: list[_Candidate] = []
    for candidate in ranked:
        if candidate.score(lens) <= 0 or len(picked) == most:
            break
        length = units(candidate.sentence.text)
        if length <= room:
            picked.append(candidate)
            room -= length
    if not picked and ranked and ranked[0].score(lens) > 0:
        best = ranked[0]  # longer than the room for it: its beginning, which is still its owner's own words
        shortened = Sentence(best.sentence.start, cut(best.sentence.text, room), best.sentence.heading)
        picked = [_Candidate(best.order, shortened, best.of_intent, best.bearing)]
    return sorted(picked, key=lambda candidate: candidate.order)


def _joined(texts: list[str]) -> str:
    return " ".join(texts)


assert sum(ROOM.values()) == TENSION_UNITS
