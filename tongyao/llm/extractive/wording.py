"""The few sentences of its own that the extractive engine has. They point; none of them advises anybody."""

from __future__ import annotations

import re
from typing import Final, Literal

from tongyao.llm.extractive.cues import RECOMMENDING
from tongyao.protocol.model.sizes import cut, units

Language = Literal["zh", "en"]

LABEL: Final = "extractive"

REMARK: Final[dict[Language, str]] = {
    "zh": "提取式引擎：没有使用语言模型，句子原样摘自材料，并排只凭字面。",
    "en": "Extractive engine: no language model was used. "
    "Sentences are picked verbatim and set side by side by their words.",
}
NOTICE: Final[dict[Language, str]] = {language: f"> {text}" for language, text in REMARK.items()}
"""The remark as a line of Markdown."""

_CLAIM: Final[dict[Language, str]] = {
    "zh": "材料中有「{said}」；张力（{target}）是「{tension}」。{reading}",
    "en": "The material has “{said}”; the tension ({target}) is “{tension}”. {reading}",
}
_SAID: Final = re.compile(r"^(?:材料中有「(.*?)」；张力（|The material has “(.*?)”; the tension \()", re.DOTALL)

READING: Final[dict[str, dict[Language, str]]] = {
    "capability": {"zh": "前者碰得到后者。", "en": "The first touches the second."},
    "exchange": {
        "zh": "前者缺的，后者可能拿得出来。",
        "en": "What the first lacks, the second may be able to give.",
    },
    "direction": {
        "zh": "方向重叠，没有逐步对应。",
        "en": "Directions overlap; no step-by-step mapping is shown.",
    },
    "need": {
        "zh": "有东西对着后者的人，需要前者。",
        "en": "Who has something for the second needs the first.",
    },
    "offer": {
        "zh": "有东西对着后者的人，还有前者。",
        "en": "Who has something for the second has the first too.",
    },
    "limit": {
        "zh": "有东西对着后者的人，守着前者。",
        "en": "Who has something for the second keeps to the first.",
    },
    "boundary": {
        "zh": "这是一个限制，两者可能不相容。",
        "en": "This is a limit; the two may not be compatible.",
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

EXCERPT: Final = 40
"""Units of a quotation inside a sentence about two of them."""


def claim(language: Language, *, said: str, target: str, tension: str, reading: str) -> str:
    """Quote and target side by side: the profile has X, the tension is Y."""
    return _CLAIM[language].format(
        said=said, target=target, tension=excerpt(tension), reading=READING[reading][language]
    )


def said_in(text: str) -> str:
    """What its speaker said in `text`: the quotation when `claim` made it, else all of it."""
    match = _SAID.match(text)
    return next(group for group in match.groups() if group is not None) if match else text.strip()


def excerpt(text: str, limit: int = EXCERPT) -> str:
    """`text` within `limit` units, on one line, with a mark where it was cut."""
    line = " ".join(text.split())
    return line if units(line) <= limit else cut(line, limit) + "…"


def repeatable(text: str) -> bool:
    """Whether the catalyst may repeat `text`: not when it recommends something, for quoting it would pass
    that on."""
    return not RECOMMENDING.search(text)


def repeated(text: str, language: Language, limit: int = EXCERPT) -> str:
    """A quotation in a plan, which may pass on whatever somebody said: only the catalyst recommends nothing."""
    words = excerpt(text, limit)
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
    whole = words.strip() == line
    words = cut(words, PHRASE).rstrip(" ,;:.，；：。、!！")
    return words if whole else words + "…"
