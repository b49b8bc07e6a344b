"""Finds the words that a passage and a query share, without ordinary words, for display on a page. Pure."""

from __future__ import annotations

import re
from typing import Final

from tongyao.protocol.guards.ordinary_words import ORDINARY_ENGLISH
from tongyao.protocol.guards.support import ALIAS_OR_ID, CJK_RUN, COMMON_PAIRS, WORD, terms

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
    """Return the words of `text` whose terms `other` contains, each once, in their order, without ordinary words.

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
