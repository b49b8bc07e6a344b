"""Checks whether cited texts can support a claim (docs/protocol.md §7.3). Pure.

It also removes ids from texts that people read. Code cannot judge meaning. It detects two frequent faults: a claim that
shares no term with the cited texts, and a number in the claim that occurs in none of the cited texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tongyao.protocol.guards.naming import named_ids
from tongyao.protocol.identity.marks import MARKED
from tongyao.protocol.model.ids import ANY_ID, round_of, speaker_of
from tongyao.protocol.model.plan import Claim, ClaimDraft
from tongyao.protocol.model.requests import Language
from tongyao.texts.catalogue import table

CJK_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
WORD = re.compile(r"[a-z][a-z'’-]{2,}")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_YEAR_OF_DATE = re.compile(rf"\b(?P<date>{_MONTH}\.?(?: \d{{1,2}})?,?) (?:19|20)\d\d\b|(?:19|20)\d\d ?年(?= ?\d)", re.I)
_ISO_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d-\d\d-0?(?P<day>\d{1,2})(?!\d)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
ALIAS_OR_ID = re.compile(r"(?<![A-Za-z0-9])(?:(?:task|plan|residual)/\d+|P\d{2}|R\d+|B\d+|T\d+)(?![A-Za-z0-9])")

_FUNCTION_WORDS: Final = frozenset(
    "the and for with that this from into their they have has are was were will can its not but who what when which "
    "than then them there these those our your his her she you about over under between after before also each".split()
)
COMMON_PAIRS: Final = frozenset(
    "可以 一个 这个 那个 他们 我们 没有 因为 所以 如果 已经 需要 能够 进行 以及 或者 并且 其中 对于 通过 提供 参与".split()
)
_WORDS: Final = table("protocol", "sources")


def doubt(claim: str, cited: Sequence[str], language: Language = "en") -> str:
    """Return the reason, in `language`, why code doubts that `cited` supports `claim`. Empty if there is no doubt.

    Only the day of a date is checked, because plans write whole dates and people seldom state the year. Aliases, ids
    and the numbers of marks are not counted as terms.
    """
    sources = "\n".join(cited)
    own = _ISO_DATE.sub(r"\g<day>", MARKED.sub(" ", ALIAS_OR_ID.sub(" ", claim)))
    own = _YEAR_OF_DATE.sub(r"\g<date> ", own)
    numbers = _digits(own) - _digits(sources) - spelled_numbers(sources)
    if numbers:
        return _WORDS[language]["absent_number"].format(number=sorted(numbers)[0])
    wanted = terms(claim)
    if len(wanted) >= 3 and not wanted & terms(sources):
        return _WORDS[language]["no_term"]
    return ""


def claim_of(
    draft: ClaimDraft,
    known: Mapping[str, str],
    language: Language,
    *,
    steps: Mapping[str, int] | None = None,
    compared: bool = True,
) -> Claim:
    """Return the claim in `draft`. Ids in its sentence become sources. Only ids in `known` (text by id) are kept.

    `steps`: as in `without_ids`. `compared`: whether the texts are in the language of the claim and can be compared.
    """
    text, found = without_ids(draft.text, language, steps)
    sources = named_ids([*draft.sources, *found], known)
    cited = [known[source] for source in sources]
    return Claim(
        text=text,
        sources=sources,
        supported=bool(sources),
        concluded=draft.concluded and bool(sources),
        doubt=doubt(text, cited, language) if sources and compared and all(cited) else "",
    )


def _digits(text: str) -> set[str]:
    """Return the numbers in digits, without thousands separators (`2,800` → `2800`)."""
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def terms(text: str) -> frozenset[str]:
    """Return the content terms: the first six letters of Latin words, and pairs of neighbouring CJK characters."""
    lowered = ALIAS_OR_ID.sub(" ", text).casefold()
    words = {word[:6] for word in WORD.findall(lowered) if word not in _FUNCTION_WORDS}
    pairs = {run[at : at + 2] for run in CJK_RUN.findall(lowered) for at in range(len(run) - 1)}
    return frozenset(words | (pairs - COMMON_PAIRS))


_SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUE: Final = {word: at for at, word in enumerate(_SMALL)} | {word: 20 + 10 * at for at, word in enumerate(_TENS)}
_SCALE: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_NUMBER_WORD: Final = "|".join((*_VALUE, *_SCALE, "dozen"))
_ENGLISH: Final = re.compile(rf"\b(?:{_NUMBER_WORD})(?:(?: and |[ -])(?:{_NUMBER_WORD})){{0,9}}\b", re.I)
_BETWEEN: Final = re.compile(r" and |[ -]")
_CHINESE: Final = re.compile(r"[零〇一二两三四五六七八九十百千万]{1,15}")
_DIGIT: Final = {sign: at for at, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_UNIT: Final = {"十": 10, "百": 100, "千": 1_000}


def spelled_numbers(text: str) -> frozenset[str]:
    """Return the whole numbers that a text writes in words (`two hundred and twelve`, `二百一十二`), in digits."""
    english = (_read(_BETWEEN.split(found.group().casefold())) for found in _ENGLISH.finditer(text))
    chinese = (_read_chinese(found.group()) for found in _CHINESE.finditer(text))
    return frozenset(str(word) for word in (*english, *chinese))


def _read(words: list[str]) -> int:
    total = current = 0
    for word in words:
        if word == "dozen":
            current = max(current, 1) * 12
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word in _SCALE:
            total, current = total + max(current, 1) * _SCALE[word], 0
        else:
            current += _VALUE[word]
    return total + current


def _read_chinese(signs: str) -> int:
    """Read a Chinese number such as 二百一十二. A sequence of digits, such as 二〇二六, is read digit by digit."""
    if len(signs) > 1 and all(sign in _DIGIT for sign in signs):
        return int("".join(str(_DIGIT[sign]) for sign in signs))
    total = section = digit = 0
    for sign in signs:
        if sign in _DIGIT:
            digit = _DIGIT[sign]
        elif sign == "万":
            total, section, digit = total + (section + digit or 1) * 10_000, 0, 0
        else:
            section, digit = section + (digit or 1) * _UNIT[sign], 0
    return total + section + digit


_OF_PROCESS: Final = r"(?:[\w-][\w.-]{0,79}/)?"
_ID: Final = rf"{_OF_PROCESS}{ANY_ID}"
_BRACKETED: Final = re.compile(
    rf"\s?[\[(（【⟨]\s{{0,3}}{_ID}(?:\s{{0,3}}[,，、;；]\s{{0,3}}{_ID}){{0,40}}\s{{0,3}}[\])）】⟩]"
)
_BARE: Final = re.compile(rf"(?<![\w/.-]){_ID}(?![\w/])")
_PART: Final = re.compile(r"(?<![A-Za-z0-9/])B(?P<number>\d)(?![A-Za-z0-9/])")
_TASK: Final = re.compile(r"(?<![A-Za-z0-9/])t\d{1,3}(?![A-Za-z0-9/])")
_IDS: Final = table("protocol", "ids")


def without_ids(text: str, language: Language, steps: Mapping[str, int] | None = None) -> tuple[str, tuple[str, ...]]:
    """Return `text` without ids, and the ids in brackets (its citations), in order. `steps`: task numbers by id.

    Ids in brackets are removed. An id within a sentence is no citation and is replaced by words (`what P02 said in
    round 1`), as are a barrier (`B2`: `obstacle 2`) and a task (`t3`: `step 3`). Aliases are kept.
    """
    cited = tuple(dict.fromkeys(id for bracket in _BRACKETED.findall(text) for id in _BARE.findall(bracket)))
    words = _IDS[language]

    def told(match: re.Match[str]) -> str:
        if not round_of(match[0]):
            lens = match[0].rsplit("/", 1)[1]
            return words[lens[0]].format(number=lens[1:])
        who = speaker_of(match[0])
        return words["item" if who else "catalyst"].format(who=who, round=round_of(match[0]))

    bare = _BARE.sub(told, _BRACKETED.sub("", text)) if "/" in text else text
    bare = _PART.sub(lambda match: words["B"].format(number=match["number"]), bare)
    if steps:
        bare = _TASK.sub(
            lambda match: words["step"].format(number=steps[match[0]]) if match[0] in steps else match[0], bare
        )
    return bare.strip(), cited
