"""Complaints about an answer, in the language of its request."""

from __future__ import annotations

from typing import Final, Literal

from tongyao.protocol.model.requests import Language

Fault = Literal[
    "item",
    "empty_text",
    "no_quote",
    "quote_not_found",
    "disclosed",
    "address",
    "missing_pair",
    "relation",
    "note",
    "between",
    "one_sided",
    "protected",
    "protected_ended",
    "sentence",
    "recommendation",
    "private_talk",
    "judgement",
    "too_long",
    "too_many_barriers",
    "no_transition",
    "line_quote_not_found",
    "line_without_quote",
    "claim_without_source",
    "residual_too_long",
    "plan_too_long",
    "unreadable",
]

_WORDS: Final[dict[Fault, tuple[str, str]]] = {
    "item": ("The item “{text}”: {what}", "条目「{text}」：{what}"),
    "empty_text": ("its text is empty.", "text 是空的。"),
    "no_quote": (
        "it has no quote. Copy at least one passage on which the fact rests into `quotes`, or leave the item out.",
        "它没有引文。把事实所依据的原话至少一段抄进 quotes；没有依据就去掉这一条。",
    ),
    "quote_not_found": (
        "this quote does not stand in the source: “{quote}”. Copy the words as they stand there.",
        "原文里没有这段引文：「{quote}」。照原文逐字抄。",
    ),
    "disclosed": (
        "it discloses what this person does not let you speak of. Leave it out, without mentioning it.",
        "它透露了这个人不许你说的东西。去掉它，不要提到它。",
    ),
    "address": (
        "“{words}” tells where this person can be found. Say the fact without a street address or a house number.",
        "「{words}」会让人找到这个人。说事实，不写街道地址和门牌号。",
    ),
    "missing_pair": (
        "The pair {a}-{b} stands neither in `relations` nor in `none`.",
        "配对 {a}-{b} 既不在 relations 里，也不在 none 里。",
    ),
    "relation": ("The relation of {between}, “{text}”: {what}", "{between} 的关系「{text}」：{what}"),
    "note": ("The note “{text}”: {what}", "说明「{text}」：{what}"),
    "between": (
        "`between` names two different people of {people}, or one of them and a line of the tension ({lines}).",
        "between 填 {people} 中两个不同的人，或者其中一个人和张力的一行（{lines}）。",
    ),
    "one_sided": (
        "its `sources` name no item of {aliases} that holds.",
        "sources 里没有 {aliases} 仍然有效的条目。",
    ),
    "protected": (
        "it replaces {id}. That collision rests on a boundary that somebody stated, and none of the two has said anything "
        "since that is not inferred: it stands. State only what holds besides it.",
        "它取代了 {id}。那个对冲依据有人说过的边界，此后两人都没有说出不是推断的新内容，所以它仍然有效。只写它之外还成立的。",
    ),
    "protected_ended": (
        "{id} cannot end: that collision rests on a boundary that somebody stated, and none of the two has said anything "
        "since that is not inferred. Leave it out of `ended`.",
        "{id} 不能结束：那个对冲依据有人说过的边界，此后两人都没有说出不是推断的新内容。把它从 ended 里去掉。",
    ),
    "sentence": (
        "The words “{words}” in the sentence “{sentence}” {what} If they mean nothing of the kind, say the same without these words.",
        "句子「{sentence}」里的「{words}」{what}如果没有这个意思，就不用这几个字，把原意说出来。",
    ),
    "recommendation": ("read like a recommendation. Say only what is visible.", "像是推荐。只说看得见的。"),
    "private_talk": (
        "read like a proposal that some speak without the others. What is seen is seen by all.",
        "像是提议一些人避开其他人说话。看见的东西所有人都看见。",
    ),
    "judgement": (
        "read like a judgement of a person or a contribution. Say what stands between people.",
        "像是评价人或贡献。说人与人之间有什么。",
    ),
    "too_long": (
        "The tension has {units} words, at most {limit} are allowed. A word is what stands between two spaces and has a letter or a "
        "digit, and each Chinese character counts as one. By part: {parts}.",
        "张力有 {units} 字，最多 {limit} 字（每个汉字算一字；外文和数字，连写的一串算一字）。各部分：{parts}。",
    ),
    "too_many_barriers": (
        "There are {count} barriers, at most {limit}. Join those that are one.",
        "有 {count} 条阻碍，最多 {limit} 条。其实是同一个的合起来。",
    ),
    "no_transition": ("The transition is empty. Say what should change.", "transition 是空的。写出要变的是什么。"),
    "line_quote_not_found": (
        "The quote “{quote}” of {line} stands neither in the intent nor in the profile. Copy the words as they stand there.",
        "{line} 的引文「{quote}」在意图和档案里都找不到。照原文逐字抄。",
    ),
    "line_without_quote": (
        "{line} has no quote. Put into `quotes` what it rests on, word for word, or leave the line out if it rests on nothing.",
        "{line} 没有引文。把它所依据的原话逐字放进 quotes；没有依据就把这一行去掉。",
    ),
    "claim_without_source": (
        "The claim “{claim}” has no source that exists. Cite what says it, or leave it out.",
        "「{claim}」没有存在的出处。引说了它的编号，或者去掉。",
    ),
    "residual_too_long": (
        "The residual “{title}” has {units} words, at most {limit} are allowed. Shorten the wording; keep figures, dates, places and conditions.",
        "残余「{title}」有 {units} 字，最多 {limit} 字。把话说短，数目、日期、地点、条件留下。",
    ),
    "plan_too_long": (
        "As it is laid out, the plan has {units} words without sources, at most {limit} are allowed. Join claims that say the same, then leave "
        "out the claims that change nothing for anybody. Dates and conditions of people stay.",
        "排出来的方案不算出处有 {units} 字，最多 {limit} 字。先合并说同一件事的，再去掉对谁都没有影响的。各人的日期和条件留下。",
    ),
    "unreadable": (
        "The whole answer: it could not be read as the wanted JSON structure: {error}",
        "整个回答：无法按要求的 JSON 形状读出：{error}",
    ),
}


def complaint(language: Language, fault: Fault, **named: object) -> str:
    """The complaint in `language`, with what it names filled in. Raises `KeyError` where something is not given."""
    english, chinese = _WORDS[fault]
    return (chinese if language == "zh" else english).format(**named)
