"""The words of an assembled plan, and the Markdown of a delivery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tongyao.protocol.model.requests import Language

PLAN: Final[Mapping[Language, Mapping[str, str]]] = {
    "zh": {
        "T": "想要的变化：{said}",
        "I": "现状：{said}",
        "B": "挡着的：{said}",
        "E": "可以换的：{said}",
        "complementary": "{needing} 说{need}；{offering} 说{offer}。两句话里都有{words}：后者有的，也许正是前者要的。",
        "place": "{needing} 说{need}；{offering} 说{offer}。前者要一处地方，后者有一处空着。",
        "aligned": "{a} 说{x}；{b} 说{y}。两句话里都有{words}：想的也许是同一件事。",
        "beside": "关于{line}：{who}。",
        "beside_exchange": "关于可以换的{line}：{who}。",
        "shares": "{alias} 的话里也有{words}：{said}",
        "has_place": "{alias} 有空着的地方：{said}",
        "then": "；",
        "nothing": "这里没有一句话和想要的变化、和挡着的事用到同样的词。要么该问别的人，要么换个说法：这个引擎只比对字面。可以做的：另选一些人，把想要的换句话再说一遍，或者接上语言模型来读。",
        "besides": "另外，这些人之间也许有彼此用得上的：{pairs}。他们的话和这里要的几乎没有同样的词。",
        "besides_against": "另外，这些人的条件也许合不到一起：{pairs}。他们的话和这里要的几乎没有同样的词。",
        "two": "{a} 与 {b}",
        "and": "、",
        "both": "，",
        "child": "子过程“{title}”的结果：{text}",
        "met": "{said}（{other} 的话里也有{words}）",
        "met_by_place": "{said}（{other} 有空着的地方）",
        "unmet": "{said}（想要；这里没有找到对应的提议）",
        "waits": "{other} 拿出{offer}",
        "give": "定下可以换的东西给谁：{said}",
        "decide": "定下来：另问一些人，还是把想要的换句话再说一遍。",
        "say_whether": "说明是否愿意为这件事拿出来：{said}",
        "mutual": "{a} 与 {b} 互相等着对方的一份，谁先谁后记录里没有说。",
        "not_spoken_of": "没有找到说到这一点的话：{said}",
        "not_offered": "这里没有找到对应的提议：{said}",
        "wanted": "找到对这一条有办法的人：{said}。",
        "offset": "{a} 与 {b} 说的条件也许合不到一起",
        "hold_both": "找到让两边都成的办法：{both}。",
        "apart": "{a} 说{x}，{b} 说{y}，按现在的说法难以并存。",
        "one_goes_on": "这份方案里有一处，两个人说的条件也许合不到一起。它写在“没有解开的”里，可以为它另开一个过程。",
        "all_go_on": "这份方案里有 {offsets} 处，两个人说的条件也许合不到一起。它们都写在“没有解开的”里，可以为每一处另开一个过程。",
        "some_go_on": "这份方案里有 {offsets} 处，两个人说的条件也许合不到一起，其中 {kept} 处写在“没有解开的”里。那里最多写 {most} 件，还没有提议的阻碍排在前面。",
        "not_taken_up": "{aliases} 提的修改没有写进这一版：不用语言模型的引擎不会改写方案。原话在答复里；已抹去的读不到。",
    },
    "en": {
        "T": "What is wanted: {said}",
        "I": "How things stand: {said}",
        "B": "In the way: {said}",
        "E": "Offered in return: {said}",
        "complementary": "{needing} says {need}. {offering} says {offer}. Both say {words}: what the second has may be what the first needs.",
        "place": "{needing} says {need}. {offering} says {offer}. The first looks for a place, the second has one that is free.",
        "aligned": "{a} says {x}. {b} says {y}. Both say {words}: they may want the same thing.",
        "beside": "On {line}: {who}.",
        "beside_exchange": "On what is offered in return, {line}: {who}.",
        "shares": "{alias} says {words} too, in {said}",
        "has_place": "{alias} has a place that is free: {said}",
        "then": "; ",
        "nothing": "Nothing that was said here shares words with what is wanted, or with what is in the way. Either other people have to be "
        "asked, or other words are needed: this engine only compares words. What can be done: choose other people, say in other words "
        "what is wanted, or have it read by a language model.",
        "besides": "Besides, these may have something for each other: {pairs}. Their sentences share hardly any words with what is wanted here.",
        "besides_against": "Besides, the conditions of these may not fit together: {pairs}. Their sentences share hardly any words with what is wanted here.",
        "two": "{a} and {b}",
        "and": ", ",
        "both": " and ",
        "child": "From the child process “{title}”: {text}",
        "met": "{said} ({other} says {words} too)",
        "met_by_place": "{said} ({other} has a place that is free)",
        "unmet": "{said} (wished for; no offer for it was found here)",
        "waits": "{other} gives this: {offer}",
        "give": "Decide who gets what is offered in return: {said}",
        "decide": "Decide: either other people are asked, or the wish is said in other words.",
        "say_whether": "Say whether you would give this here: {said}",
        "mutual": "{a} and {b} each wait for the other's share; the record does not say who is first.",
        "not_spoken_of": "Nothing was found on this: {said}",
        "not_offered": "No offer for this was found here: {said}",
        "wanted": "Find somebody who can help with this: {said}.",
        "offset": "The conditions of {a} and {b} may not fit together",
        "hold_both": "Find a way in which both hold: {both}.",
        "apart": "{a} says {x}, {b} says {y}: as they stand the two may not both hold.",
        "one_goes_on": "At one point in this plan, what two people say may not fit together. It stands under “What stayed open”, and a process of its "
        "own can be started for it.",
        "all_go_on": "At {offsets} points in this plan, what two people say may not fit together. They stand under “What stayed open”, and a process of "
        "its own can be started for each.",
        "some_go_on": "At {offsets} points in this plan, what two people say may not fit together. {kept} of them stand under “What stayed open”: at "
        "most {most} things stand there, and what is in the way without any offer comes first.",
        "not_taken_up": "What {aliases} proposed is not worked into this version: the engine without a model cannot rewrite a plan. "
        "What was proposed can be read with the answers, unless it was erased.",
    },
}
