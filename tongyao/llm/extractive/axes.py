"""Conditions that contradict each other without sharing a word: who wants the data out, and who keeps it in.

An axis has two poles. Two sentences on opposite poles of one axis cannot both be had as they stand. The axes
are of the kind that any cooperation meets; they were not derived from any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class Axis:
    zh: str
    en: str
    one: re.Pattern[str]
    other: re.Pattern[str]

    def name(self, language: Literal["zh", "en"]) -> str:
        return self.zh if language == "zh" else self.en


def _axis(zh: str, en: str, one: Iterable[str], other: Iterable[str]) -> Axis:
    return Axis(zh, en, *(re.compile("|".join(pole), re.IGNORECASE) for pole in (one, other)))


AXES: Final = (
    _axis(
        "个人信息往外给还是留在里面",
        "whether personal data leaves or stays",
        (
            r"(?:上|要|会)传",
            r"传(?:到|给|至)",
            r"实名",
            r"数据归",
            r"共享数据",
            r"真实\w{0,4}数据",
            r"云平台",
            r"\bwith names\b(?! (?:struck|left|taken|crossed|removed))",
            r"\b(?:export|upload)(?:ed|s)?\b",
            r"\bour (?:servers|cloud)\b",
            r"\bname and address\b",
            r"\boverseas\b",
        ),
        (
            r"不(?:能|得|可)?(?:出|外传|外借|泄露|公开)",
            r"不点\w{0,4}名",
            r"不\w{0,4}保管",
            r"隐私",
            r"脱敏",
            r"保密",
            r"匿名",
            r"内网",
            r"\b(?:may|must|can) ?not leave\b",
            r"\bwon't (?:photograph|share|put my \w+' names)\b",
            r"\bwithout names\b",
            r"\banonym\w+",
            r"\bcodes in place of names\b",
            r"\bconfidential\b",
            r"\bbe recognised\b",
            r"\bstay in the\b",
            r"\blocked\b",
            r"\bon the premises\b",
        ),
    ),
    _axis(
        "独占还是并用",
        "exclusive or side by side",
        (
            r"独家",
            r"排他",
            r"不能同时",
            r"只能用我",
            r"\bexclusiv\w+",
            r"\bnobody else may\b",
            r"\bsole (?:right|supplier)\b",
        ),
        (
            r"开源",
            r"不签独家",
            r"谁都可以用",
            r"公开给",
            r"\bopen[- ]source\b",
            r"\bfree for anyone\b",
            r"\bnot exclusive\b",
        ),
    ),
    _axis(
        "隔着网做还是到场做",
        "from a distance or on the spot",
        (
            r"不下乡",
            r"不出差",
            r"(?:只|全)在?线上",
            r"走线上",
            r"只做远程",
            r"\bremote(?:ly)? only\b",
            r"\bonline only\b",
            r"\b(?:don't|do not|won't) travel\b",
        ),
        (
            r"到户",
            r"上门",
            r"面对面",
            r"(?:要|得|必须)(?:到|在)现场",
            r"\bin person\b",
            r"\bon[- ]site\b",
            r"\bface[- ]to[- ]face\b",
            r"\bdoor to door\b",
        ),
    ),
    _axis(
        "要联网的设备还是没有这种设备",
        "a connected device or none",
        (
            r"要有智能手机",
            r"(?:要|必须|得)(?:扫码|联网|装\w{0,4}(?:软件|应用))",
            r"\bneeds? a smartphone\b",
            r"\bmust (?:scan|be online)\b",
            r"\belectronic \w+ only\b",
        ),
        (
            r"老人机",
            r"不用智能手机",
            r"没有(?:信号|网络|智能手机)",
            r"\bno (?:signal|smartphone|internet|coverage)\b",
            r"\bwithout (?:a )?(?:phone|internet)\b",
        ),
    ),
    _axis(
        "按结果或按量收钱还是不接受这样的钱",
        "paid by the result or refusing such pay",
        (
            r"抽成|分成|提成|佣金",
            r"每\w{1,3}每(?:月|年|次)\w{0,3}元",
            r"\bsuccess fee\b",
            r"\bcommission\b",
            r"\bper cent of what\b",
            r"\bpaid by the\b",
        ),
        (
            r"不收\w{0,6}(?:钱|费)",
            r"不(?:分成|抽成)",
            r"\bwon't sign a contract that pays\b",
            r"\bno (?:success fee|commission)\b",
            r"\brefuse\w* (?:payment|money)\b",
        ),
    ),
    _axis(
        "纸上的还是电子的",
        "on paper or electronic",
        (r"纸质|手写|纸上的", r"\bpaper\b", r"\bhandwrit\w+", r"\bby hand\b"),
        (
            r"不(?:录入|收纸质)",
            r"只收电子",
            r"\bwon't digiti[sz]e\b",
            r"\bdo(?:n't| not) type\b",
            r"\belectronic history\b",
            r"\bonly electronic\b",
        ),
    ),
)

_CLOCK = re.compile(r"(?<!\d)([01]?\d|2[0-4])[:：]([0-5]\d)(?!\d)")


def opposed(a: str, b: str) -> Axis | None:
    """The first axis on whose opposite poles `a` and `b` stand, each on one pole only."""
    for axis in AXES:
        a_one, a_other = bool(axis.one.search(a)), bool(axis.other.search(a))
        b_one, b_other = bool(axis.one.search(b)), bool(axis.other.search(b))
        if a_one != a_other and b_one != b_other and a_one != b_one:
            return axis
    return None


def hours_apart(a: str, b: str) -> bool:
    """True when both name times of the day, and every time of one lies at least two hours off every time of
    the other."""
    times = [[int(hour) * 60 + int(minute) for hour, minute in _CLOCK.findall(text)] for text in (a, b)]
    return bool(times[0] and times[1]) and all(abs(x - y) >= 120 for x in times[0] for y in times[1])
