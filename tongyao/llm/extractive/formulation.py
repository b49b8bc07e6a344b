"""A raw intent and a profile's own sentences, sorted into T, I, B and E; blank where there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tongyao.llm.extractive.cues import WISH_AT_HEART, Cue, is_label, is_unwanted, names_something, weight
from tongyao.llm.extractive.likeness import Likeness
from tongyao.llm.extractive.names_in_text import names_in_text
from tongyao.llm.extractive.sentences import Sentence, single, split
from tongyao.protocol.model.intent_parts import Lens, lens_over
from tongyao.protocol.model.requests import FormulationRequest, Material
from tongyao.protocol.model.sizes import cut, language_of, units
from tongyao.protocol.model.tension import TENSION_UNITS, LineQuoteDraft, NameDraft, TensionDraft

ROOM: Final = {"T": 75, "B": 90, "E": 60, "I": 75}
"""Units of each lens, together 300, less than `TENSION_UNITS` allows. The order is that of choosing: T first, as the
intent is about it."""

MOST_READ: Final = 200_000
"""Characters of a material that are read, from its beginning: five seconds of work, far above retrieval."""

TOLD: Final = 8
"""Units from which a sentence of the intent without a cue of its own tells how things stand; a figure counts as two."""

BARRIERS: Final = 5
_SAID: Final = 100.0
"""The score of what its author put under a line that names the lens: nothing else goes before it."""

LEAST: Final = 2.0
"""A sentence enters a lens when it says so itself, or stands under a heading that does and bears on the
intent."""


@dataclass(frozen=True)
class _Candidate:
    order: int
    sentence: Sentence
    of_intent: bool
    bearing: float
    at_heart: bool = False
    asked: Lens | None = None

    @property
    def in_the_way(self) -> bool:
        """Whether it stands under a heading of obstacles."""
        return Cue.OBSTACLE in self.sentence.cues_above

    def score(self, lens: str) -> float:
        if self.asked is not None:  # its author says where it belongs
            return _SAID if lens == self.asked else 0.0
        text, heading = self.sentence.text, self.sentence.heading
        shown = weight(_CUE[lens], text, heading)
        if lens == "-":
            lens = "B"
        if lens == "T":
            shown += 3.0 * self.at_heart
        elif lens == "I":
            if is_label(text) or weight(Cue.WISH, text, heading) > shown:
                return 0.0
            shown += weight(Cue.LIMIT, text, "") * bool(weight(Cue.STATE, "", heading))
        elif lens == "B" and is_unwanted(text):
            return 0.0  # what the demander does not want stands in nobody's way
        elif lens == "B":
            # Under "what stands in the way" a sentence is an obstacle only if it also says what is lacking.
            shown += 1.0 * (self.in_the_way and Cue.LACK in self.sentence.cues)
            shown -= weight(Cue.OFFER, text, "") * (not weight(Cue.LACK, text, "")) + 1.5 * bool(
                weight(Cue.LIMIT, "", heading)
            )
            shown -= 1.5 * bool(weight(Cue.STATE, "", heading))
        elif lens == "E":
            offered = weight(Cue.OFFER, text, "") > 0
            # Under "what we have" a thing is offered by being named.
            shown += 0.5 * (Cue.OFFER in self.sentence.cues_above and names_something(text))
            shown -= weight(Cue.NEED, text, heading) + weight(Cue.LIMIT, "" if offered else text, heading)
        # What comes first among offers is what their owner thinks of first; elsewhere the intent decides.
        nearness = 0.0 if lens == "E" else 2.0 * self.bearing
        return shown + 1.0 * self.of_intent + nearness if shown >= LEAST else 0.0


_WIDE_END: Final = re.compile(r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]$")

_CUE: Final = {"T": Cue.WISH, "I": Cue.STATE, "B": Cue.OBSTACLE, "E": Cue.OFFER, "-": Cue.LACK}
"""By which cue a lens is filled. `-`: barriers where nobody names an obstacle; what is lacking stands in the way then."""


def sentences_of(material: Material | None) -> list[Sentence]:
    """The sentences of at most `MOST_READ` characters of what may be looked at, placed in the whole text."""
    found: list[Sentence] = []
    left = MOST_READ
    for piece in material.pieces if material else ():
        found += split(piece.text[:left], offset=piece.start)
        left -= min(left, len(piece.text))
    return found


def formulate(request: FormulationRequest) -> TensionDraft:
    """At most 300 units in all (`ROOM`). Without any wish, the intent's beginning is the transition."""
    intent, profile = split(request.intent), sentences_of(request.material)
    if not intent and request.intent.strip():
        intent = [single(request.intent)]
    everything = (*intent, *profile)
    texts = [sentence.text for sentence in everything]
    bearing = Likeness(texts).between(texts, [sentence.text for sentence in intent]).max(axis=1, initial=0.0)
    heart = _hearts(everything)
    pool = [
        _Candidate(
            order=order,
            sentence=sentence,
            of_intent=order < len(intent),
            bearing=float(bearing[order]) if order >= len(intent) else 0.0,
            at_heart=order in heart,
            asked=lens_over(sentence.heading) if order < len(intent) else None,
        )
        for order, sentence in enumerate(everything)
    ]
    chosen: dict[str, list[str]] = {}
    for lens, room in ROOM.items():
        # Where somebody says what is behind their wish, that is the need, and the thing they asked for is
        # not.
        open_to = [one for one in pool if one.at_heart] if lens == "T" and heart else pool
        if any(one.asked == lens for one in pool):
            open_to = [one for one in pool if one.asked == lens or (one.of_intent and one.asked is None)]
        elif lens == "B" and any(one.in_the_way and one.score("B") for one in pool):
            # Whoever lists what stands in the way has said where it stands: what else they tell is no barrier.
            open_to = [one for one in pool if one.of_intent or one.in_the_way]
        picked = _pick(open_to, lens, room, most=BARRIERS if lens == "B" else len(pool))
        if lens == "B" and not picked:
            picked = _pick(open_to, "-", room, most=BARRIERS)
        if lens == "T" and not picked and intent:
            picked = [replace(pool[0], sentence=replace(intent[0], text=cut(intent[0].text, room)))]
        taken = {candidate.order for candidate in picked}
        pool = [candidate for candidate in pool if candidate.order not in taken]
        chosen[lens] = [candidate.sentence.text for candidate in picked]
    barriers = [cut(text, ROOM["B"]) for text in chosen["B"]]
    # What the intent tells besides its wish, its obstacles and its offers is how things stand; then what the demander does not want.
    left = ROOM["I"] - sum(units(text) for text in chosen["I"])
    for candidate in sorted(pool, key=lambda one: not one.of_intent):
        text = candidate.sentence.text
        told = weight(Cue.STATE, text, "") + units(text) >= TOLD if candidate.of_intent else is_unwanted(text)
        if told and candidate.asked is None and units(text) <= left:
            chosen["I"].append(text)
            left -= units(text)
    return TensionDraft(
        transition=_joined(chosen["T"]),
        initial_state=_joined(chosen["I"]),
        barriers=barriers,
        exchange=_joined(chosen["E"]),
        names=[NameDraft(name=one.name, kind=one.kind) for one in names_in_text("\n\n".join(texts))],
        quotes=[
            LineQuoteDraft(line=f"B{number}" if lens == "B" else lens, quote=text)
            for lens, texts in chosen.items()
            for number, text in enumerate(barriers if lens == "B" else texts, 1)
        ],
    )


def _hearts(sentences: Sequence[Sentence]) -> set[int]:
    """Sentences that say what is behind the wish, each with the one after it, which mostly explains it."""
    hearts = {order for order, one in enumerate(sentences) if WISH_AT_HEART.search(one.text)}
    following = {
        order + 1
        for order in hearts
        if order + 1 < len(sentences)
        and sentences[order + 1].heading == sentences[order].heading
        and sentences[order + 1].start > sentences[order].start
    }
    return hearts | following


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
        picked = [replace(best, sentence=replace(best.sentence, text=cut(best.sentence.text, room)))]
    return sorted(picked, key=lambda candidate: candidate.order)


def _joined(texts: list[str]) -> str:
    """Sentences in a row; between two Chinese ones no space."""
    line = ""
    for text in texts:
        space = " " if line and not (_WIDE_END.search(line) and language_of(text) == "zh") else ""
        line += space + text
    return line


assert sum(ROOM.values()) <= TENSION_UNITS
