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
        "complementary": "{needing} 在找的，{offering} 那里有话说：{need}；{offer}。",
        "aligned": "{a} 和 {b} 想的是同一类事：{x}；{y}。",
        "faced": "对着{b}，有人拿得出东西：{who}。",
        "and": "、",
        "child": "子过程“{title}”的结果：{text}",
        "met": "{said}（{other} 说到了它）",
        "unmet": "{said}（想要，还没有人说能给）",
        "waits": "{other} 的{offer}",
        "give": "拿出可以换的：{said}",
        "mutual": "{a} 与 {b} 互相等着对方的一份，谁先谁后记录里没有说。",
        "residual": "没有人说拿什么来对付：{said}",
        "remove": "从没有人对着它，到它不再挡着：{said}",
        "offset": "{a} 与 {b} 的条件合不到一起",
        "hold_both": "从只能成一边，到两边都成：{both}",
        "apart": "{a} 说{x}，{b} 说{y}，按现在的说法难以并存。",
        "one_goes_on": "这份方案里的一处对冲作为残余张力留着，可以开一个新的过程。",
        "all_go_on": "这份方案里的 {offsets} 处对冲都作为残余张力留着，可以各开一个新的过程。",
        "some_go_on": "这份方案里的 {offsets} 处对冲里，{kept} 处作为残余张力留着：一份方案最多留 {most} 个，没有人对着的阻碍排在前面。",
        "not_taken_up": "{aliases} 提的修改没有写进这一版：不用语言模型的引擎不会改写方案。他们的原话在答复里。",
    },
    "en": {
        "T": "What is wanted: {said}",
        "I": "How things stand: {said}",
        "B": "In the way: {said}",
        "E": "Offered in return: {said}",
        "complementary": "{needing} says {need}, and {offering} speaks of it: {offer}.",
        "aligned": "{a} and {b} want what belongs together: {x}; {y}.",
        "faced": "Against {b} somebody has something: {who}.",
        "and": ", ",
        "child": "From the child process “{title}”: {text}",
        "met": "{said} ({other} speaks of it)",
        "unmet": "{said} (wished for; nobody has said that they give it)",
        "waits": "what {other} has: {offer}",
        "give": "Bring what was offered in return: {said}",
        "mutual": "{a} and {b} each wait for the other's share; the record does not say who is first.",
        "residual": "Nobody said what they have for this: {said}",
        "remove": "From nobody facing it to it no longer standing in the way: {said}",
        "offset": "The conditions of {a} and {b} do not fit together",
        "hold_both": "From one or the other to both: {both}",
        "apart": "{a} says {x}, {b} says {y}: as they stand the two may not both hold.",
        "one_goes_on": "The one offset in this plan stays as a residual tension; it can start a process of its own.",
        "all_go_on": "All {offsets} offsets in this plan stay as residual tensions; each can start a process of its own.",
        "some_go_on": "{kept} of the {offsets} offsets in this plan stay as residual tensions: a plan keeps at most {most}, and "
        "barriers that nobody faces come first.",
        "not_taken_up": "What {aliases} proposed is not worked into this version: the engine without a model cannot rewrite a plan. "
        "Their words stand with the answers.",
    },
}
