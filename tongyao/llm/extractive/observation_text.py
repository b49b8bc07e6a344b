"""The words of an observation, and its Markdown."""

from __future__ import annotations

from typing import Final

from tongyao.llm.extractive import wording
from tongyao.protocol.model.observation import (
    ContributionDraft,
    Effect,
    GapDraft,
    GapKind,
    NoteDraft,
    ObservationDraft,
    PairDraft,
    Relation,
    Verdict,
)
from tongyao.protocol.model.requests import Language

PAIR: Final[dict[Relation, dict[Language, str]]] = {
    Relation.COMPLEMENTARY: {
        "zh": "{offering} 说{offer}，{needing} 说{need}：前者给的，可能正是后者缺的。",
        "en": "{offering} says {offer}, {needing} says {need}: what the first gives may be what the second lacks.",
    },
    Relation.ALIGNED: {
        "zh": "{a} 说{x}，{b} 说{y}：两个方向重叠。",
        "en": "{a} says {x}, {b} says {y}: the two directions overlap.",
    },
    Relation.OFFSETTING: {
        "zh": "{a} 说{x}，{b} 说{y}：{about}，两者按现在的说法难以并存。",
        "en": "{a} says {x}, {b} says {y}: {about}; as they stand the two may not both hold.",
    },
    Relation.NONE_FOUND: {"zh": "{a} 与 {b}：没有发现关系。", "en": "{a} and {b}: no relation found."},
}

_PART: Final[dict[str, dict[Language, str]]] = {
    "T": {"zh": "想要的变化（T）", "en": "the change (T)"},
    "I": {"zh": "现状（I）", "en": "the situation (I)"},
    "B": {"zh": "阻碍 {target}", "en": "barrier {target}"},
    "E": {"zh": "能给的（E）", "en": "what is given in return (E)"},
}

EFFECT: Final[dict[Effect, dict[Language, str]]] = {
    Effect.DISSOLVES: {
        "zh": "{alias} 对{target}：{said}，直接碰到它。",
        "en": "{alias} on {target}: {said} touches it directly.",
    },
    Effect.HELPS: {
        "zh": "{alias} 对{target}：{said}，碰得到一部分。",
        "en": "{alias} on {target}: {said} touches part of it.",
    },
    Effect.COLLIDES: {
        "zh": "{alias} 对{target}：{said}，是一个限制。",
        "en": "{alias} on {target}: {said} is a limit.",
    },
    Effect.WORSENS: {
        "zh": "{alias} 对{target}：{said}，这一处可能更难。",
        "en": "{alias} on {target}: {said} may make it harder.",
    },
}

SPEAKS_OF: Final[dict[Language, str]] = {
    "zh": "{alias} 对{target}：{said}，说到了它。",
    "en": "{alias} on {target}: {said} speaks of it.",
}
"""Of who names a barrier and offers nothing for it: `GAP` may say of the same barrier that no offer was found."""

MAY_HAVE: Final[dict[Language, str]] = {
    "zh": "{alias} 说{said}：需求方关于{target}说的，也许正是这个人要的。",
    "en": "{alias} says {said}: what the demander says of {target} may be what {alias} needs.",
}
"""Of a need that the demander's own words meet."""

GAP: Final[dict[GapKind, dict[Language, str]]] = {
    GapKind.OVERLOOKED: {
        "zh": "{target} {said}：有人提到，没有找到对应的提议。",
        "en": "{target} {said}: it was named, and no offer for it was found.",
    },
    GapKind.ABSENT: {
        "zh": "{target} {said}：在说过的话里没有找到对应的。",
        "en": "{target} {said}: nothing for it was found in what was said here.",
    },
}

IGNORED: Final[dict[Language, str]] = {
    "zh": "{alias} 说{said}，在别人的话里没有找到对应的。",
    "en": "{alias} said {said}; nothing for it was found in what others said.",
}
"""Comparing words misses much: these sentences say what was not found, and never that nobody has it or said it."""

_TITLES: Final[dict[str, dict[Language, str]]] = {
    "pairs": {"zh": "两两之间", "en": "Between participants"},
    "contributions": {"zh": "对张力的作用", "en": "Against the tension"},
    "gaps": {"zh": "缺口", "en": "Gaps"},
    "ignored": {"zh": "没有找到对应的需要", "en": "Needs for which nothing was found"},
}
_VERDICT: Final[dict[Verdict, dict[Language, str]]] = {
    Verdict.MORE: {"zh": "信息差还在。", "en": "The information gap is still open."},
    Verdict.EXHAUSTED: {"zh": "这一轮没有带来新的关系。", "en": "This round brought no new relation."},
}


def part_in_words(target: str, language: Language) -> str:
    """A part of the tension (`T`, `B2` …) with its word beside the letter."""
    return _PART[target[0]][language].format(target=target)


def observation_markdown(language: Language, draft: ObservationDraft) -> str:
    lines = [
        wording.NOTICE[language],
        "",
        f"**{_VERDICT[draft.verdict][language]}** (`{draft.verdict.value}`)",
    ]
    for name, titles in _TITLES.items():
        elements: list[PairDraft | ContributionDraft | GapDraft | NoteDraft] = getattr(draft, name)
        if elements:
            lines += [
                "",
                f"### {titles[language]}",
                "",
                *(f"- {element.text}{_sources(element)}" for element in elements),
            ]
    return "\n".join(lines)


def _sources(element: object) -> str:
    sources: list[str] = getattr(element, "sources", [])
    return f" ({', '.join(sources)})" if sources else ""
