"""The candidates, each once, with the reasons of every perspective that found them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tongyao.app.choosing.candidate_sentences import Reason as Span
from tongyao.protocol.guards.ordinary_words import ORDINARY_ENGLISH
from tongyao.protocol.guards.support import ALIAS_OR_ID, CJK_RUN, COMMON_PAIRS, WORD, terms
from tongyao.protocol.model.sizes import cut, language_of
from tongyao.records.process.seats import CandidateRow

PERSPECTIVES: Final = ("resonance", "complement", "interference")
_MOST_REASONS: Final = 3
"""Reasons that are shown for one perspective."""
_PART_UNITS: Final[Mapping[str, int]] = {"en": 10, "zh": 20}
"""Length of the beginning of a part that a reason repeats, in units (docs/protocol.md §9)."""
_WEAK: Final = 2
"""A person who shares at most this many words with the tension is called a weak match."""
_LEAST: Final = 2
"""Minimum number of people who are ticked. If fewer share a word with the tension, others are ticked too."""


@dataclass(frozen=True)
class FoundReason:
    """A `part` of the tension (T, B1, …) is similar to this `facet` of the person. `words`: the first words of the part.

    `quote`: the person's sentence; empty if it may not be read or an earlier reason shows it. `read`: whether the
    sentence may be read. `shared`: the words that sentence and part share, without ordinary words. `touches`: whether
    they share any word, including ordinary words.
    """

    part: str
    words: str
    facet: str
    quote: str
    read: bool
    shared: tuple[str, ...]
    touches: bool


@dataclass(frozen=True)
class Person:
    """A candidate. `sides`: the reasons by perspective, in the order of `PERSPECTIVES`, each possibly empty."""

    number: int
    id: str
    sides: Mapping[str, tuple[FoundReason, ...]]

    @property
    def open(self) -> bool:
        """Whether any sentence of the person may be read."""
        return any(reason.read for reason in self._reasons())

    @property
    def shared(self) -> tuple[str, ...]:
        """All words that the person's sentences share with the tension, without ordinary words."""
        return tuple(dict.fromkeys(word for reason in self._reasons() for word in reason.shared))

    @property
    def touches(self) -> bool:
        """Whether the person's sentences share any word with the tension, ordinary words included."""
        return any(reason.touches for reason in self._reasons())

    @property
    def weak(self) -> bool:
        """Whether the readable sentences share at most `_WEAK` words with the tension, without ordinary words."""
        return self.open and len(self.shared) <= _WEAK

    def _reasons(self) -> Iterator[FoundReason]:
        return (reason for reasons in self.sides.values() for reason in reasons)


def ticked(people: Sequence[Person], *, most: int, by_words: bool) -> list[str]:
    """Return the ids of the people who are ticked at first. `people`: the nearest first.

    `by_words`: the search compared words, not meanings. Then people whose sentences may be read and share no word with
    the tension come last, and are ticked only to reach `_LEAST` people. Ordinary words count, because without them
    fewer of the right people are ticked (docs/field.md).
    """
    nearest = [person.id for person in people]
    if not by_words:
        return nearest[:most]
    sharing = [person.id for person in people if person.touches or not person.open]
    left = [person for person in nearest if person not in sharing]
    return [*sharing, *left[: max(0, _LEAST - len(sharing))]][:most]


def people_found(found: Iterable[CandidateRow], parts: Mapping[str, str], quotes: Mapping[Span, str]) -> list[Person]:
    """Return each person once, in the order of their first row."""
    rows = list(found)
    people = []
    for number, person in enumerate(dict.fromkeys(row.profile_id for row in rows), 1):
        shown: set[str] = set()
        sides = {}
        for side in PERSPECTIVES:
            mine = [row for row in rows if (row.profile_id, row.perspective) == (person, side)]
            sides[side] = tuple(reason for row in mine for reason in _reasons(row, parts, quotes, shown))
        people.append(Person(number, person, sides))
    return people


def _reasons(
    row: CandidateRow, parts: Mapping[str, str], quotes: Mapping[Span, str], shown: set[str]
) -> Iterable[FoundReason]:
    """Yield the reasons of a row. `shown`: sentences of this person that the page already shows; new ones are added."""
    for reason in row.reasons[:_MOST_REASONS]:
        part = str(reason.get("part", ""))
        quote = quotes.get((row.profile_id, int(reason.get("start", 0)), int(reason.get("end", 0)), part), "")
        yield FoundReason(
            part=part,
            words=_begins(parts.get(part, "")),
            facet=str(reason.get("facet", "")),
            quote="" if quote in shown else quote,
            read=bool(quote),
            shared=telling_words_in_common(quote, parts.get(part, "")),
            touches=bool(terms(quote) & terms(parts.get(part, ""))),
        )
        shown.add(quote)


def _begins(text: str) -> str:
    short = cut(text, _PART_UNITS[language_of(text)]).rstrip(" ,.;:，、；：。")
    return short if len(short) >= len(text.rstrip(" ,.;:，、；：。")) else f"{short} …"


_ORDINARY_WORDS_ZH: Final = frozenset(
    """
    上午 下午 中午 早上 晚上 夜里 早晨 傍晚 白天 半天 整天 天天 每天 今天 明天 昨天 后天 那天 时候 时间 年轻 有人 没人 从前 以前 以后
    礼拜 星期 周末 周一 周二 周三 周四 周五 周六 周日 小时 分钟 钟头 半年 去年 今年 明年 一年 每年 一块 块钱 东西 地方 办法 事情 样子
    自己 别人 人家 大家 喜欢 愿意 想找 在找 可以 觉得 知道 晓得 需要 提供 最好 真的 其实 本来 一直 已经 差不多 多少 怎样 怎么 什么
    子 方 天 段 头 面 边 口 家 人 手 号 种 件 层 句 样 片 点 条 根 张 间 套 份 次 回 里 外 上 下 前 后 中 东 西 南 北 年 月 日 块 钱 费
    """.split()
)
_ORDINARY_CHINESE: Final = re.compile(
    "|".join(sorted(COMMON_PAIRS | {word for word in _ORDINARY_WORDS_ZH if len(word) == 2}))
)


def telling_words_in_common(text: str, other: str) -> tuple[str, ...]:
    """Return the words of `text` whose terms occur in `other`: each once, in their order, without ordinary words.

    For Chinese, the longest common stretches of characters are returned.
    """
    shared = terms(other)
    lowered = _ORDINARY_CHINESE.sub("  ", ALIAS_OR_ID.sub(" ", text).casefold())
    found: list[tuple[int, str]] = [
        (one.start(), one.group())
        for one in WORD.finditer(lowered)
        if one.group() not in ORDINARY_ENGLISH and one.group()[:6] in shared
    ]
    for run in CJK_RUN.finditer(lowered):
        begin = end = -1
        for at in range(run.start(), run.end() - 1):
            pair = lowered[at : at + 2]
            if pair not in shared:
                continue
            if at >= end:
                if begin >= 0:
                    found.append((begin, lowered[begin:end]))
                begin = at
            end = at + 2
        if begin >= 0:
            found.append((begin, lowered[begin:end]))
    return tuple(dict.fromkeys(word for _, word in sorted(found)))
