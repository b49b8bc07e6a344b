"""The words with which code labels what it renders for a model, in the language of the request.

English labels are the keys. Closed words that an answer must hold (`complementary`, `overlooked`) are English in the answer
in both languages; the Chinese prompts give each with its label.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tongyao.protocol.model.requests import Language

_CHINESE: Final = {
    "capability": "能力",
    "direction": "方向",
    "boundary": "边界",
    "fact": "事实",
    "inferred": "推断",
    "inferred from": "推断自",
    "answers": "回应",
    "takes back": "收回",
    "repeated": "重复",
    "steps": "步骤",
    "verdict": "收敛判断",
    "complementary": "互补",
    "aligned": "同向",
    "offsetting": "对冲",
    "none_found": "未发现关系",
    "not_examined": "未检查",
    "also": "另有",
    "dissolves": "消解",
    "helps": "有助",
    "collides": "冲突",
    "worsens": "加重",
    "translation": "翻译",
    "gap": "缺口",
    "overlooked": "没人注意到",
    "absent": "在场没有",
    "ignored": "被忽略",
    "framework": "框架",
    "third_party_value": "对第三方的价值",
    "contributors": "发过言的人",
    "pairs to examine": "要检查的配对",
    "carried": "沿用的配对",
    "parts that no item is aimed at": "还没有条目对着的部分",
    "open framework": "开着的框架",
    "taken back": "已收回的条目",
    "not taken over": "没有采用",
    "this round": "本轮",
    "declined": "已拒绝的人",
    "rounds": "各轮",
    "said before": "先前的编号",
    "about": "缘起",
    "panorama": "全景",
    "role": "角色",
    "contributions": "贡献",
    "benefits": "得到",
    "costs": "付出",
    "dependencies": "依赖",
    "task": "任务",
    "agreed": "双方都说过",
    "for whoever brought this to decide": "由提出这件事的人来定",
    "a question to them": "向他提的问题",
    "offered by one side": "只有一方提出",
    "offered by nobody": "没有人提出过",
    "after": "之前要做完",
    "when": "时间",
    "order": "次序",
    "offset": "对冲",
    "residual": "残余",
    "open": "未决",
    "unsupported": "没有出处",
    "concluded": "推论",
    "speak only of": "只说这些",
    "never disclose": "绝不透露",
    "the person adds": "本人补充",
}


def line(text: str) -> str:
    """`text` on one line: an id counts only at the start of a line, and no claim may begin one."""
    return " ".join(bare for part in text.splitlines() if (bare := part.strip()))


def with_sources(text: str, sources: Iterable[str]) -> str:
    """`text` as one line, with the ids of its sources behind it."""
    named = ", ".join(sources)
    return f"{line(text)} [{named}]" if named else line(text)


def label(word: str, language: Language) -> str:
    """`word`, which is an English label, in `language`. Raises `KeyError` for a label that has no Chinese one."""
    return word if language == "en" else _CHINESE[word]


def round_figures(
    language: Language, *, number: int, items: int, quoted: int, first_links: int, counted_links: int
) -> str:
    """One line with the figures of an earlier round."""
    if language == "zh":
        return f"第 {number} 轮：{items} 个条目，{quoted} 个带新引文；首次说出 {first_links} 条联系，其中 {counted_links} 条是新消息"
    return (
        f"round {number}: {items} items, {quoted} with a new quote; links stated for the first time: {first_links}, "
        f"of them news: {counted_links}"
    )


def why_ended(language: Language, *, rounds: int, converged: bool, points: bool) -> str:
    """One sentence for whoever writes the plan. `points`: whether the request holds what was open then."""
    if language == "zh":
        where = "，当时未决的在 open_points 里" if points else ""
        why = "最后连续两轮没有要紧的新内容，或者没有人再有新的可说" if converged else f"没有收敛就停了{where}"
        return f"到第 {rounds} 轮为止：{why}"
    where = "; what was open then is in open_points" if points else ""
    stopped = f"they were stopped before they converged{where}"
    why = "the last two brought nothing that matters, or nobody had anything new to say" if converged else stopped
    return f"ended after round {rounds}: {why}"


def this_round(language: Language, *, items: int, quoted: int, re_aimed: int, which: Iterable[str]) -> str:
    """One line with the figures of the round that is observed. `which`: the ids of the quoted and re-aimed items, if not all are such."""
    ids = ", ".join(which)
    if language == "zh":
        told = f"本轮：{items} 个条目，{quoted} 个带新引文，另有 {re_aimed} 个在回应里把旧引文对准了新的部分"
        return f"{told}（{ids}）" if ids else told
    told = f"this round: {items} items, {quoted} with a new quote, {re_aimed} others that aim an old quote at a new part in an answer"
    return f"{told} ({ids})" if ids else told
