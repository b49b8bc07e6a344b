"""The few sentences of its own that the extractive engine has. They point; none of them advises anybody."""

from __future__ import annotations

import re
from typing import Final, Literal

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

PHRASE: Final = 12
"""Units of the few words by which a person or a task is known again."""

SHORT: Final = 3
"""A phrase of fewer units says nothing of anybody."""

_SELF: Final = re.compile(
    r"^(?:(?:and|but|so|also)\s+)?(?:I|we)(?:'d|'ll| can| could| would| will)?(?: also| happily| gladly)?"
    r"(?: (?:offer to|offer|give|provide|bring along|know how to))?\s+(?=\S)|^can (?:offer )?"
    r"|^(?:我们?)?(?:还|也|都)?(?:能|可以|会|愿意)(?:提供|拿出|出|给)?|^我们?(?:有|还有)?",
    re.IGNORECASE,
)

_CLAUSE_ENDS: Final = re.compile(r"(?<=[,;:.，；：。！？、])")

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
    """`text` within `limit` units, on one line, with a mark where it was cut."""
    line = " ".join(text.split())
    return line if units(line) <= limit else cut(line, limit) + "…"


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
    """A few words of `text`, without the "I can" before them, cut where a clause ends."""
    line = " ".join(text.split())
    rest = _SELF.sub("", line, count=1)
    line = rest if units(rest) >= SHORT else line
    words = ""
    for clause in _CLAUSE_ENDS.split(line):
        if words and units(words + clause) > PHRASE:
            break
        words += clause
    short = cut(words, PHRASE)
    whole = short.strip() == line
    short = short.rstrip(" ,;:.，；：。、!！")
    return short if whole else short + "…"
