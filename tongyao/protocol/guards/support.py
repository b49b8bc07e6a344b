"""Whether a cited text can bear the claim that cites it, as far as code can tell (docs/protocol.md §7.3). Pure.

Code cannot judge meaning. It notices two things that are wrong more often than not: a claim that shares no term at all
with what it cites, and a number in the claim that stands in none of the cited texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tongyao.protocol.guards.spelled_numbers import spelled_numbers
from tongyao.protocol.identity.marks import MARKED
from tongyao.protocol.model.requests import Language

CJK_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
WORD = re.compile(r"[a-z][a-z'’-]{2,}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
ALIAS_OR_ID = re.compile(r"(?<![A-Za-z0-9])(?:(?:task|plan|residual)/\d+|P\d{2}|R\d+|B\d+|T\d+)(?![A-Za-z0-9])")

_FUNCTION_WORDS: Final = frozenset(
    "the and for with that this from into their they have has are was were will can its not but who what when which "
    "than then them there these those our your his her she you about over under between after before also each".split()
)
COMMON_PAIRS: Final = frozenset(
    "可以 一个 这个 那个 他们 我们 没有 因为 所以 如果 已经 需要 能够 进行 以及 或者 并且 其中 对于 通过 提供 参与".split()
)
_WHY: Final[Mapping[Language, tuple[str, str]]] = {
    "en": ("the number {number} stands in none of the cited items", "shares no term with the cited items"),
    "zh": ("数目 {number} 在引用的条目里都没有", "和引用的条目没有一个共同的词"),
}


def doubt(claim: str, cited: Sequence[str], language: Language = "en") -> str:
    """Why code doubts that `cited` says `claim`, in `language`; empty when it does not. Aliases and ids are not counted as terms,
    nor the number of a mark in the place of a name.
    """
    absent_number, no_term = _WHY[language]
    sources = "\n".join(cited)
    numbers = _digits(MARKED.sub(" ", ALIAS_OR_ID.sub(" ", claim))) - _digits(sources) - spelled_numbers(sources)
    if numbers:
        return absent_number.format(number=sorted(numbers)[0])
    wanted = terms(claim)
    if len(wanted) >= 3 and not wanted & terms(sources):
        return no_term
    return ""


def _digits(text: str) -> set[str]:
    """Numbers in digits; `2,800` is `2800`."""
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def terms(text: str) -> frozenset[str]:
    """Content terms: stemmed-by-prefix Latin words, and pairs of neighbouring CJK characters."""
    lowered = ALIAS_OR_ID.sub(" ", text).casefold()
    words = {word[:6] for word in WORD.findall(lowered) if word not in _FUNCTION_WORDS}
    pairs = {run[at : at + 2] for run in CJK_RUN.findall(lowered) for at in range(len(run) - 1)}
    return frozenset(words | (pairs - COMMON_PAIRS))
