"""What an answer is sent back for, in the language of its request."""

from __future__ import annotations

from typing import Final, Literal

from tongyao.protocol.model.requests import Language

Fault = Literal[
    "item",
    "empty_claim",
    "disclosed",
    "no_quote",
    "quote_not_found",
    "nothing_new",
    "missing_pair",
    "pair",
    "one_sided",
    "boundary_held",
    "no_lack_and_means",
    "no_condition_and_cancels",
    "no_steps",
    "second_relation",
    "same_kind",
    "same_matter",
    "kept",
    "second_kept",
    "gap_kept_absent",
    "framework_not_taken",
    "sentence",
    "recommendation",
    "private_talk",
    "judgement",
    "too_long",
    "too_many_barriers",
    "no_transition",
    "line_quote_not_found",
    "line_without_quote",
    "unreadable",
]

_WORDS: Final[dict[Fault, tuple[str, str]]] = {
    "item": ("The item “{claim}”: {what}", "条目「{claim}」：{what}"),
    "empty_claim": ("its claim is empty.", "claim 是空的。"),
    "disclosed": (
        "it discloses what this person does not let you speak of. Leave it out, without mentioning it.",
        "它透露了这个人不许你说的东西。去掉它，不要提到它。",
    ),
    "no_quote": (
        "a premise that is not inferred needs a quote. Quote it word for word, or set `inferred` and say in `starts_from` or "
        "`quotes` what it is read out of.",
        "不是推断的前提要有引文。逐字引出来；或者把 inferred 设为 true，在 starts_from 或 quotes 里说明从哪里读出来。",
    ),
    "quote_not_found": (
        "this quote does not stand in the source: “{quote}”. Copy the words as they stand there.",
        "原文里没有这段引文：「{quote}」。照原文逐字抄。",
    ),
    "nothing_new": (
        "it says nothing new. Quote what this person has not quoted before, or put in `answers` the id of what it answers of the "
        "last observation; otherwise leave it out.",
        "它没有新内容。引一段这个人以前没有引过的原文，或者在 answers 里填上一份观察中它所回应的编号；否则去掉。",
    ),
    "missing_pair": ("The pair {a}-{b} is missing.", "缺少配对 {a}-{b}。"),
    "pair": ("The pair {a}-{b}: {what}", "配对 {a}-{b}：{what}"),
    "one_sided": ("its sources name no item of {aliases}.", "sources 里没有 {aliases} 的条目。"),
    "boundary_held": (
        "it was stated as {relation} on a boundary with a quote. It keeps this relation, unless you cite an item said since then, "
        "with a new quote.",
        "它原来是 {relation}，依据一条带引文的边界。除非引用此后说出、带新引文的条目，否则保持原来的关系。",
    ),
    "no_lack_and_means": (
        "`complementary` needs ids of items that say what one side lacks in `lack`, and ids of the other side's items that meet it "
        "in `means`.",
        "complementary 要在 lack 里填一方说自己缺什么的条目编号，在 means 里填另一方补得上它的条目编号。",
    ),
    "no_condition_and_cancels": (
        "`offsetting` needs ids of the items that set one side's condition in `condition`, and ids of the other side's items that "
        "it cancels in `cancels`.",
        "offsetting 要在 condition 里填一方提出条件的条目编号，在 cancels 里填另一方被它抵消的条目编号。",
    ),
    "no_steps": (
        "`aligned` needs in `steps` either two entries that rest on four different items, two of {a} and two of {b}, or one entry with a "
        "`direction` item of {a} and one of {b}. A common topic, place or date is no relation, nor is a likeness in one point.",
        "aligned 的 steps 要么填两项，用到四个不同的条目：{a} 的两个，{b} 的两个；要么填一项，是 {a} 和 {b} 的“方向”条目各一个。"
        "话题、地点或日期相同不算关系，只有一处相像也不算。",
    ),
    "second_relation": ("its second relation, in `also`: {what}", "它在 also 里的第二个关系：{what}"),
    "same_kind": (
        "it is of the kind of the first. Leave `also` empty and say both matters in the text of the first.",
        "它和第一个是同一种。also 留空，两件事都写进第一个的文字。",
    ),
    "same_matter": (
        "its slots hold, on one side, no item that the first relation does not hold: it is the same matter. Leave `also` empty.",
        "有一方在它的栏位里没有第一个关系之外的条目：说的是同一件事。also 留空。",
    ),
    "kept": (
        "it stands as stated in round {round}. The new statement cites no item said since then.",
        "仍按第 {round} 轮的陈述。新的陈述没有引用此后说出的条目。",
    ),
    "second_kept": (
        "its second relation stands as stated in round {round}. What `also` said of it cites no item said since then.",
        "第二个关系仍按第 {round} 轮的陈述。also 里写的没有引用此后说出的条目。",
    ),
    "gap_kept_absent": (
        "The gap on {target} that repeats {earlier} stays absent: its sources hold no fact said since then.",
        "{target} 上沿用 {earlier} 的缺口仍是 absent：它的 sources 里没有此后说出的事实。",
    ),
    "framework_not_taken": (
        "A new framework was not opened. One is open at a time, and a new one rests on quoted items of at least two participants "
        "on which no earlier one rested.",
        "有一个新的框架没有打开。同时只有一个开着。新的要依据至少两个参与者带引文、以前的框架没有用过的条目。",
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
    "unreadable": (
        "The whole answer: it could not be read as the wanted JSON structure: {error}",
        "整个回答：无法按要求的 JSON 形状读出：{error}",
    ),
}


def complaint(language: Language, fault: Fault, **named: object) -> str:
    """The complaint in `language`, with what it names filled in. Raises `KeyError` where something is not given."""
    english, chinese = _WORDS[fault]
    return (chinese if language == "zh" else english).format(**named)
