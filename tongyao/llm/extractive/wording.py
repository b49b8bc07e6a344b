"""The few sentences of its own that the extractive engine has. They point; none of them advises anybody."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

import jieba

from tongyao.llm.extractive.cues import RECOMMENDING
from tongyao.llm.extractive.sentences import split
from tongyao.protocol.model.projection import Item
from tongyao.protocol.model.sizes import cut, language_of, units

Language = Literal["zh", "en"]

LABEL: Final = "extractive"

REMARK: Final[dict[Language, str]] = {
    "zh": "这里没有使用语言模型：句子由程序从材料里原样摘出，放在一起只因为字面相近。",
    "en": "Here no language model was used. A program picked these sentences word for word, "
    "and set side by side those that share words.",
}
NOTICE: Final[dict[Language, str]] = {language: f"> {text}" for language, text in REMARK.items()}
"""The remark as a line of Markdown."""

BEARING: Final[dict[Language, str]] = {
    "zh": "对着张力的 {target}「{tension}」，{reading}",
    "en": "beside {target} of the tension, “{tension}”, {reading}",
}

READING: Final[dict[str, dict[Language, str]]] = {
    "capability": {"zh": "碰得到它。", "en": "it touches that."},
    "exchange": {
        "zh": "这里缺的，那里可能拿得出来。",
        "en": "what is lacking here may be there.",
    },
    "direction": {
        "zh": "方向重叠，没有逐步对应。",
        "en": "the directions overlap; no step-by-step mapping is shown.",
    },
    "need": {
        "zh": "有东西对着它的人需要这个。",
        "en": "who has something for it needs this.",
    },
    "offer": {
        "zh": "有东西对着它的人还有这个。",
        "en": "who has something for it has this too.",
    },
    "limit": {
        "zh": "有东西对着它的人守着这个限制。",
        "en": "who has something for it keeps to this.",
    },
    "boundary": {
        "zh": "这是一个限制，两者可能不相容。",
        "en": "it is a limit; the two may not be compatible.",
    },
}

DIMENSIONS: Final[dict[str, dict[Language, str]]] = {
    "capability": {"zh": "能力", "en": "Capability"},
    "direction": {"zh": "方向", "en": "Direction"},
    "boundary": {"zh": "边界", "en": "Boundary"},
}

NOTHING_NEW: Final[dict[Language, str]] = {"zh": "我没有新的信息了。", "en": "I have nothing new."}

NO_RELATION: Final[dict[Language, str]] = {
    "zh": "人和人之间没有发现关系。这个引擎只比对字面；语言模型才读意思：由运行本服务的人设置 ANTHROPIC_API_KEY，或用 TONGYAO_ENGINE 另接引擎。",
    "en": "No relation between two people was found. This engine compares words; a model reads meaning: whoever runs this "
    "service sets ANTHROPIC_API_KEY, or TONGYAO_ENGINE for an engine of their own.",
}
"""Where nothing was found: that, and why."""

PHRASE: Final = 14
"""Units of the few words by which a person or a task is known again: they fit into one line of a table."""

SHORT: Final = 3
"""A phrase of fewer units says nothing of anybody."""

_SELF: Final = re.compile(
    r"^(?:(?:and|but|so|also),? )?(?:I|we) (?:can|could)(?: also| happily| gladly)?(?: (?:offer to|offer|give|provide|bring along))? (?=\S)"
    r"|^(?:(?:and|but|so|also),? )?(?:I|we) (?:also )?(?:offer to|offer|provide|know how to) (?=\S)|^can (?:offer )?"
    r"|^(?:and|but|so|also),? (?=\S)"
    r"|^(?:我们?)?(?:还|也|都)?(?:能|可以|会|愿意)(?:提供|拿出|出|给)?|^我们?(?:有|还有)?",
    re.IGNORECASE,
)

_SENTENCE_ENDS: Final = re.compile(r"[.!?][”’\"')]?(?= [A-Z“\"(])|[。！？][”’」』）]?")
_CLAUSE_ENDS: Final = re.compile(r"[,;:](?= )|[，；：、—]| (?=[–—-] )")
_PHRASE_BEGINS: Final = re.compile(
    r" (?=(?:so that|as soon as|and|but|or|because|since|so|when|while|if|unless|who|whom|which|that|where|whether|with|without|for|from|in|into|on|onto|"
    r"at|by|after|before|until|during|about|between|among|over|under|through|to) )",
    re.IGNORECASE,
)
"""A phrase of an English sentence ends before these words."""
_INCOMPLETE: Final = re.compile(
    r"(?:^|[\s,])(?:and|but|or|so|as|than|of|the|an?|my|our|your|his|her|their|its|this|that|these|those|to|for|from|in|on|at|by|with|not|no|very|is|are|was|were|be|has|have|had|"
    r"can|could|will|would|must|may|want|wants|need|needs|used|able|going|who|which|what|how|if|when|because)[,;:]?$",
    re.IGNORECASE,
)
"""What stands before such a boundary and leaves the phrase without its meaning."""

_ENDS: Final = " .。；;，,"
"""What ends a sentence and has no place at the end of a quotation inside another one."""

EXCERPT: Final = 40
"""Units of a quotation inside a sentence about two of them."""


def bearing(language: Language, *, target: str, tension: str, reading: str) -> str:
    """The part of the tension that a statement stands beside, and what can be said of the two by their words."""
    said = excerpt(tension).rstrip(_ENDS)
    return BEARING[language].format(target=target, tension=said, reading=READING[reading][language])


def said_in(item: Item) -> str:
    """What the speaker has, does, lacks or will not do: the premise of an item, or the whole claim where it has none."""
    return item.premise.strip() or item.claim.strip()


def excerpt(text: str, limit: int = EXCERPT) -> str:
    """`text` within `limit` units, on one line; a longer one ends where a sentence, a clause or a phrase ends, with a mark."""
    line = " ".join(text.split())
    return line if units(line) <= limit else beginning(line, limit).rstrip(" ,;:，；：、") + "…"


def beginning(line: str, limit: int) -> str:
    """The beginning of `line` within `limit` units: to the end of its last sentence, clause or phrase within them.

    The first of the three kinds that leaves at least half of the room used; where none does, the last phrase or word that fits.
    """
    room = cut(line, limit)
    if len(room) == len(line):
        return room
    whole = line[: len(room) + 12]  # so far, for what follows a boundary
    for kind in (_SENTENCE_ENDS, _CLAUSE_ENDS, _PHRASE_BEGINS):
        for end in reversed([found.end() for found in kind.finditer(whole) if found.end() <= len(room) + 1]):
            kept = line[:end].rstrip()
            if units(kept) * 2 < limit:
                break
            if not _INCOMPLETE.search(kept):
                return kept
    return _without_word_cut(line, room)


def _without_word_cut(line: str, room: str) -> str:
    """`room`, a beginning of `line`, without the half of a Chinese word at its end, and without words that leave it incomplete."""
    if language_of(room) == "zh":
        end = 0
        for word in jieba.cut(line[: len(room) + 8]):
            if end + len(word) > len(room):
                break
            end += len(word)
        return line[:end] or room
    while (found := _INCOMPLETE.search(room)) and found.start() > len(room) // 2:
        room = room[: found.start()].rstrip()
    return room


def sentences_within(text: str, limit: int) -> str:
    """The first sentences of `text` that stay whole within `limit` units; where already the first is longer, its beginning."""
    kept = ""
    for sentence in split(text):
        if units(kept + sentence.text) > limit:
            break
        kept = f"{kept} {sentence.text}".strip() if language_of(sentence.text) == "en" else kept + sentence.text
    return kept or excerpt(text, limit)


def repeatable(text: str) -> bool:
    """Whether the catalyst may repeat `text`: not when it recommends something, for quoting it would pass
    that on."""
    return not RECOMMENDING.search(text)


def repeated(text: str, language: Language, limit: int = EXCERPT) -> str:
    """A quotation in a plan, which may pass on whatever somebody said: only the catalyst recommends nothing."""
    words = excerpt(text, limit).rstrip(_ENDS)
    return f"「{words}」" if language == "zh" else f"“{words}”"


def quoted(text: str, language: Language, limit: int = EXCERPT) -> str:
    """A quotation, or an ellipsis in quotation marks where the words may not be repeated; the sources still
    lead there."""
    return repeated(text if repeatable(text) else "……", language, limit)


def phrase(text: str) -> str:
    """`text` without the "I can" before it: whole where it is short, else to the end of a clause or phrase, with a mark."""
    line = " ".join(text.split())
    rest = _SELF.sub("", line, count=1)
    line = rest if units(rest) >= SHORT else line
    if units(line) <= PHRASE:
        return line.rstrip(" ,;:.，；：。、!！")
    return excerpt(line, PHRASE)


def listed(words: Sequence[str], language: Language) -> str:
    """Words as quotations in a row."""
    if language == "zh":
        return "、".join(f"“{word}”" for word in words)
    told = [f"“{word}”" for word in words]
    return "".join(told) if len(told) < 2 else f"{', '.join(told[:-1])} and {told[-1]}"
