"""By which words a sentence shows what it is: an offer, a need, a limit, a wish, an obstacle; zh and en
together.

Lists of ordinary words, not of anybody's subject: nothing here knows what a process is about.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final


class Cue(StrEnum):
    OFFER = "offer"
    NEED = "need"
    LIMIT = "limit"
    WISH = "wish"
    OBSTACLE = "obstacle"
    STATE = "state"


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


_IN_SENTENCE: Final[dict[Cue, re.Pattern[str]]] = {
    Cue.OFFER: _any(
        r"我们?(?:能|可以|会(?!不会)|还可以|也可以|擅长|熟悉)",
        r"(?:能|可以)(?:提供|拿出|出|教|帮|给|腾|借|负责|承担|全包|做到)",
        r"全包",
        r"提供",
        r"擅长",
        r"拿手",
        r"教过",
        r"带过",
        r"做过",
        r"办成",
        r"\b(?:I|we) (?:can|could|offer|also offer|bring|teach|lend|know how)\b",
        r"\bcan (?:offer|give|provide|teach|lend)\b",
        r"\bhappy to\b",
        r"\bI(?:'ve| have) (?:built|taught|run|led|trained)\b",
        r"\bexperienced? in\b",
    ),
    Cue.NEED: _any(
        r"(?:在找|想找|要找|寻找|寻求|征集)",
        r"需要(?!的是时间)",
        r"缺(?:少|的|一|人|钱)",
        r"还缺|就缺",
        r"(?:得|要)有人",
        r"希望(?:有人|找到)",
        r"求(?:助|一)",
        r"谁(?:有|能|来|愿)",
        r"\b(?:I|we) (?:still )?(?:need|lack|want someone|require)\b",
        r"\blooking for\b",
        r"\bin search of\b",
        r"\bseeking\b",
        r"\bneeds? (?:a|an|to be|someone|somebody)\b",
        r"\bwant (?:a|an|someone|somebody)\b",
        r"\bmissing\b",
    ),
    Cue.LIMIT: _any(
        r"不(?:做|接|收|替|让|进|会|能|教|懂|用|去|过夜|想|打算|愿|外借|唱|播|点|服务|支持|提供|下乡|行|可以|许|准|得|出|碰|签|卖|借|干|参与)",
        r"没有(?:商量|办法)",
        r"没办法|做不到|办不到",
        r"必须",
        r"只(?:做|接|能|在|收|卖)",
        r"除非|否则|前提",
        r"至少|最多|不超过|不少于",
        r"拒绝|从不|绝不|从来不",
        r"规定",
        r"才(?:敢|能|肯|行)",
        r"要有",
        r"\b(?:won't|will not|can't|cannot|can not|don't|do not|never|refuse|must not|may not|no longer)\b",
        r"\bmust\b",
        r"\bonly if\b",
        r"\bunless\b",
        r"\bat (?:least|most)\b",
        r"\bnot (?:allowed|able|willing)\b",
        r"\bforbids?\b",
        r"\bprovided that\b",
        r"\bno use to\b",
        r"\bwould have to\b",
        r"\bnot before\b",
    ),
    Cue.WISH: _any(
        r"(?<!没)(?<!不)想(?:要|把|让|做|在|知道|跟|和|给|用|找)",
        r"希望",
        r"打算",
        r"真正",
        r"目标",
        r"计划",
        r"最好",
        r"其实",
        r"\b(?:I|we) (?:want|hope|plan|aim|would like|wish)\b",
        r"\bwhat (?:I|we) want\b",
        r"\bmy (?:goal|aim)\b",
        r"\bhop(?:e|ing) to\b",
        r"\bI(?:'m| am) after\b",
    ),
    Cue.OBSTACLE: _any(
        r"缺(?:少|的|一|人|钱)|还缺|就缺",
        r"不知道|不清楚|看不懂|分不清|记混|记不住|听不懂|讲不通",
        r"没有人?(?!商量)|没人",
        r"卡(?:在|住)",
        r"难(?:在|以|处|点)",
        r"问题",
        r"失败|试过|退回|亏|垮|接通率|通过率低",
        r"隔着",
        r"不够|不足|不会|来不及",
        r"\b(?:cannot|can't|could not|couldn't)\b",
        r"\bnobody\b|\bno one\b|\bnone of\b",
        r"\btried\b",
        r"\bfail(?:ed|s|ure)?\b",
        r"\bstuck\b",
        r"\black(?:s|ing)?\b",
        r"\bdon't know\b|\bdo not know\b",
        r"\bproblem\b",
        r"\bwithout (?:a|any)\b",
        r"\bnot enough\b",
        r"\blos[et]s?\b",
        r"\bstruggl",
        r"\btoo (?:few|little|slow|expensive|many)\b",
    ),
    Cue.STATE: _any(
        r"[0-9０-９]",
        r"[一二三四五六七八九十百千万两]{1,8}(?:个|名|位|家|年|月|天|元|岁|吨|亩|次|村|人|块|套|间|小时|公里)",
        r"现在|目前|如今|已经|每(?:天|月|年|周)",
        r"规定|批",
        r"\b(?:currently|now|since|already|every|each|last|this)\b",
        r"\bwe (?:have|run|are)\b",
        r"\bI (?:have|run|am|keep)\b",
    ),
}

_IN_HEADING: Final[dict[Cue, re.Pattern[str]]] = {
    Cue.OFFER: _any(
        r"能(?:做|给|提供|拿|帮)|可以(?:做|给|提供)",
        r"我会|擅长|本事|技能|优势|特长|资源|家底",
        r"做(?:成|过)|经验|成绩|作品",
        r"\b(?:offer|give|can do|skills?|strengths?|experience|bring|abilities)\b",
    ),
    Cue.NEED: _any(r"找什么|在找|寻找|需要|难处|缺什么", r"\b(?:needs?|looking for|seek|wanted)\b"),
    Cue.LIMIT: _any(
        r"不(?:会)?做|不碰|规矩|条件|限制|边界|底线|禁忌",
        r"\b(?:won't|limits?|conditions?|boundar|terms|rules|not do|never)\b",
    ),
    Cue.WISH: _any(r"想|目标|方向|下一步|愿望|追求", r"\b(?:want|goals?|after|aim|hopes?|next|direction|dream)\b"),
    Cue.OBSTACLE: _any(
        r"卡|难|试过|问题|困|阻|瓶颈",
        r"\b(?:stands? in the way|obstacles?|problems?|tried|stuck|barriers?|challenges?|difficult)\b",
    ),
    Cue.STATE: _any(
        r"情形|情况|现状|处境|背景|现在",
        r"\b(?:where (?:we|I) stand|situation|current|today|background|status)\b",
    ),
}

WISH_AT_HEART = _any(
    r"真正想|其实(?:我)?(?:是)?想|想要的是",
    r"\bwhat (?:I|we) (?:really |actually )?want is\b",
    r"\breally want\b",
    r"\bwhen I am honest\b",
)
"""Where a person says what is behind the thing they asked for: the need and not the demand."""

RECOMMENDING = _any(
    r"建议|应该|应当|推荐(?!模型|系统|算法)|不妨|最好(?:是|能|先|去|和|跟|由)",
    r"\b(?:should|ought to|recommend\w*|suggest\w*|advis\w*|had better|let's)\b",
)
"""What the catalyst may not say (docs/protocol.md §5): it does not repeat a sentence that says it either."""

NOTHING_NEW = _any(
    r"^\W*(?:我)?(?:这边)?(?:暂时|目前)?(?:没有|没)(?:什么)?(?:新的?|别的|更多)?(?:信息|内容|补充|要说的|可说的)*了?\W*$",
    r"^\W*(?:I have )?(?:nothing|no)(?: more| new| else| further)?(?: information| to add| to say)*\W*$",
)

_LABEL = _any(
    r"[0-9一二三四五六七八九十]{1,4}\s{0,3}岁",
    r"男|女|已婚|未婚|单身|本科|硕士|博士|大专|毕业",
    r"[EI][NS][FT][JP]",
    r"[白双巨狮处天射摩水金]\w座",
    r"产品经理|工程师|程序员|设计师|创业者|学生|教师|老师|医生|律师|经理|顾问|自由职业者?|投资人|总监|运营|作家|斜杠青年",
    r"北京|上海|深圳|广州|杭州|成都|坐标|人在|现居|来自|职业|姓名|年龄|城市|性别|星座|学历",
    r"\b(?:aged?|years? old|male|female|married|single|graduate|engineer|designer|manager|founder|student"
    r"|teacher|lawyer|doctor|consultant"
    r"|developer|entrepreneur|investor|director|based in|lives? in|from|job|title|name|city|degree)\b",
    r"(?-i:\b[A-Z][a-z]+\b)",
    r"[0-9]+",
    r"\b(?:I|am|I'm|a|an|the|and|in|of|is|my)\b",
    r"我是|我叫|一名|一个|是|我|的|在",
)


_TERM: Final = re.compile(r"[\u3400-\u9fff]|[A-Za-z]{2,}")


def cues_in(text: str) -> frozenset[Cue]:
    return frozenset(cue for cue, pattern in _IN_SENTENCE.items() if pattern.search(text))


def cues_of_heading(heading: str) -> frozenset[Cue]:
    return frozenset(cue for cue, pattern in _IN_HEADING.items() if heading and pattern.search(heading))


def weight(cue: Cue, text: str, heading: str) -> float:
    """How strongly a sentence shows `cue`: 2 when it says so itself, 1.5 more when its heading does."""
    return 2.0 * (cue in cues_in(text)) + 1.5 * (cue in cues_of_heading(heading))


def is_label(text: str) -> bool:
    """True for identity labels alone (age, trade, town): they say who somebody is, not where they stand."""
    rest = _LABEL.sub(" ", text)
    return len(_TERM.findall(rest)) < 5
