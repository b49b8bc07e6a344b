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
    LACK = "lack"


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


_IN_SENTENCE: Final[dict[Cue, re.Pattern[str]]] = {
    Cue.OFFER: _any(
        r"(?:我|我们|也|都|还|就|帮着?|谁)(?:能|可以|会)(?!不)",
        r"(?:能|可以|会)(?:提供|拿出|出|教|帮|给|腾|借|送|负责|承担|全包|做|用|修|讲|写|放|收|拉|带|捎|来|管|问)",
        r"我们?(?:自己)?(?:出|掏|拿出)[^，。；：！？]{0,8}(?:块|元|万)",
        r"全包|提供|擅长|拿手|在行|教过|带过|做过|办成|顺路|手艺",
        r"空着|闲着|有空|没事做|用不上|用不完|多出来|剩(?:下|的|了)|堆(?:在|着)|白送|送(?:人|给)|不(?:要|收)钱|免费|便宜",
        r"都(?:行|能|会|可以|愿意)|愿意(?!出)|肯教|不怕",
        r"我们?(?:家|这边|这儿|这里|店|厂|院|社|队|班|组|校)?(?:里|上)?的?[^，。；：！？、不没想希盼要求怎谁]{1,12}(?:能|可以)(?!不)",
        r"(?<!没)(?<!没有)(?:空(?:位|座|房|屋|地|档)|余(?:量|地|力))",
        r"\b(?:I|we|you|they|he|she|anybody|anyone|somebody|someone|children|people)(?: also| still| both)? (?:can|could)\b",
        r"\b(?:my|our)(?: (?!(?:who|which|that|whoever|where|when|if|as|so|is|are|was|were) )[\w'’-]{1,30}){1,5} (?:can|could)(?: also| still| both| gladly| happily)? (?!not\b|be\b(?! (?:used|borrowed|had|lent|shared))|no\b|never\b|hardly\b)\w+",
        r"\bof us (?:can|could) (?!not\b)\w+|\b(?:you|they|anybody|anyone|everybody|everyone|people) (?:may\b(?! not| be\b)|are welcome)|\bwelcome to (?:use|borrow|have|take|come)\b",
        r"\b(?:I|we) (?:offer|also offer|give(?! up| in\b)|provide|supply|share|host|bring|teach|lend|know how|fix|repair|mend|make|build|bake|cook|grow|sew|drive|play|tune|train)\b",
        r"\b(?:I|we)(?:'d| would| will|'ll)(?: also| gladly| happily)? (?!like|love|need|want|rather|prefer|have\b|be\b|withdraw|refuse|quit|cancel)\w+",
        r"^\W*(?:can|could) (?!not|'t)\w+",
        r"\bcan (?:offer|give|provide|teach|lend|host|spare|seat|sleep|store|be (?:used|borrowed|had|lent|shared))\b",
        r"\b(?:happy|glad|willing|free) to\b",
        r"\bfor (?:free|nothing)\b|\bfree of charge\b",
        r"\b(?:spare|unused|left over|leftover|surplus|give away|giving away|get rid of|lying around|going begging)\b",
        r"\b(?:stands?|standing|sits?|sitting|stays?|lies|is|are) (?:there |mostly |always |often )?(?:empty|idle|unused|free(?! (?:of|from)\b))\b",
        r"(?<!no )(?<!little )(?<!any )\b(?:room|space|places?|seats?|beds?) (?:left|over|to spare)\b",
        r"\bdon't mind\b|\bno trouble\b",
        r"\b(?:has|have) to be (?:given|handed|eaten|used up)\b",
        r"\bI(?:'ve| have) (?:built|taught|run|led|trained|done|made|worked)\b",
        r"\bexperienced? in\b|\btrained (?:as|at|in)\b|\bused to (?!it\b|that\b)",
    ),
    Cue.NEED: _any(
        r"(?:在找|想找|要找|找(?:一|个|几|两|人|谁|地方|间)|寻找|寻求|征集|招(?:人|一|个|几)|收购)",
        r"(?<!不)需要(?!的是时间)|用得上",
        r"(?<!不)缺(?!口|点|乏经验|席)",
        r"没有?(?:\w{0,3})(?:车|地方|人手|人(?:管|教|来|会|帮|送|做|看)|工具|场地|房子|桌椅|书|钱|电脑|材料)",
        r"(?<![都只])(?:得|要)有人",
        r"没(?:有)?人(?:替|给|搬|运|拉|修|铣|缝|画|写|算|洗|种|养|看管|收拾)|没有?[^，。；：！？有没]{1,4}(?:愿意|肯|敢)",
        r"希望(?:有人|找到|能)|(?:还|就|正|只)(?:缺|差|少|愁)|(?:少|差)(?:个|一个|几个|两个)|能不能|有没有(?:人|谁|哪)|要是能|巴不得|盼(?:着|望)?",
        r"不知道(?:找谁|问谁|去哪|上哪|怎么|该)|不(?:会|懂)(?:弄|用|修|做|写|算|缝|画|上网|电脑|记账|拍)|没(?:处|地方)(?:放|去|找|卖|学)|没人(?:管|教|接|会|帮|要|做|看|带|送|学|买)",
        r"求(?:助|一)",
        r"谁(?:有|能|来|愿)(?![^，。；：！？]{0,4}[也都])",
        r"(?:(?<![都只])要|如果|假如)是?有(?:个|人|地方|谁)",
        r"想(?:问|要(?:一|个|几|些)|有(?:一|个|人)|换|买|学|请|租)|就愁|发愁|愁(?:没|的)|盼",
        r"\b(?:I|we|they|it|she|he)(?:'d| would)? (?:still |really |also |only )?(?:need|lack|require|want someone|miss(?= (?:an?|some|someone|somebody|having)\b))\b",
        r"(?<!can )(?<!could )\b(?:look|search|hop)(?:ing|s)? for (?!ward)",
        r"\bin search of\b|\bseeking\b|\bwanted\b|\b(?:I|we) could (?:do with|use)\b|\bin need of\b",
        r"^\W*(?:and|also|or) for (?:someone|somebody|anyone|a|an)\b",
        r"\bneeds? (?:a|an|to be|some|someone|somebody|our|my|their|help|more)\b",
        r"\b(?:somebody|someone|a second person)(?: (?!(?:has|needs|must|will|may|does|did|is)\b)[\w'’-]{1,30}){0,6} (?:has to|needs to|must)\b",
        r"\b(?:want|'d like|would like|'d love|would love|wish I had|wish we had|wish there was) (?!to (?:say|stress|be clear))",
        r"\b(?:can't|cannot|can not|couldn't|don't|never) (?:find|afford|get hold|get anyone)\b",
        r"\b(?:I|we)(?:'ve| have|'ve got| have got|'ve had| have had) no (?!idea|opinion|intention|wish|interest|objection|more\b|time for)",
        r"\b(?:there's|there is|there are) no (?:money|room|one|way|place|budget|teacher|bus|shop|help)\b",
        r"\b(?:don't|doesn't|do not|does not|haven't|hasn't) (?:have|got|own)\b(?! to\b)",
        r"\b(?:don't|do not|doesn't) know (?:how|what|who|where|anyone|anybody|a)\b|\b(?:hopeless|useless|no good|bad) (?:at|with)\b",
        r"\bI (?:can't|cannot|can not) (?:sew|cook|drive|read|write|sing|swim|type|spell|draw|lift|carry|reach|repair|fix|mend|build|use)\b",
        r"\b(?:if only|nobody|no one) (?:to|who|has|had|can|could|knows|wants)\b|\bwaiting for (?:someone|somebody|a)\b",
        r"\b(?:I'm|I am|we're|we are|what(?:'s| is)|still) missing\b|\bshort of\b|\brunning out of\b|\bran out of\b",
        r"\b(?:has|have) to be (?:brought|fetched|collected|carried|moved|done|found|paid)\b",
    ),
    Cue.LIMIT: _any(
        r"^我们?(?:也|都|从|可)?不(?!过|少|错|仅|但|同|久|知道|懂|会|怕|介意|用(?:谢|担心)|[要收]钱|够|足|太|是|在乎|认识|清楚|明白|敢|住|远|忙)",
        r"不(?:给(?!钱)|修|赊|做|接|收(?!钱)|替|让|进|会|能|教|懂|用|去|过夜|想|打算|愿|肯|外借|唱|播|点|服务|支持|提供|下乡|行|可以|许|准|得(?!不)|出|碰|签|卖|借|干|参与|拿|看(?!着)|要(?!钱|紧|是)|送|来|开|带)",
        r"没有(?:商量|办法)",
        r"没办法|没法|做不到|办不到|受不了|吃不消|来不了|走不开",
        r"必须|就得|得(?:先|按|在|要)",
        r"只(?:做|接|能|在|收|卖|要|有|开|教)",
        r"除非|否则|前提|不过(?!去)|但是|要提前",
        r"至少|最多|最少|不超过|不少于|以内|以前|之前|之后",
        r"拒绝|从不|绝不|从来不",
        r"规定|规矩|禁止",
        r"才(?:敢|能|肯|行)",
        r"要有",
        r"\b(?:won't|will not|wouldn't|can't|cannot|can not|don't|do not|never|refuse|must not|may not|no longer)\b(?! (?:know|mind|think|care|remember|have|own|find|afford|get hold)\b)",
        r"\bnot (?:on|in|at|before|after|during|if|for|allowed|able|willing|until|without|more|less)\b",
        r"\b(?:must|has to|have to)\b(?! be (?:brought|fetched|collected|carried|moved|done|found|paid|given|handed|eaten|used up)\b)",
        r"\bonly (?:if|where|to|in|on|at|when|after|before|from|between|for|with|until|as)\b|\bas long as\b|\bexcept\b",
        r"\bunless\b|\buntil\b",
        r"\bat (?:least|most|the latest)\b|\bno (?:more|less|later|earlier) than\b",
        r"\b(?:allowed|permitted)\b",
        r"\bforbids?|\bforbidden\b|\bprohibit\w*|\bagainst the rules\b",
        r"\bprovided (?:that|it|they)\b",
        r"\bno use to\b",
        r"(?:^|[,;]|\b(?:so|but|and|or|means|with)) no (?!one\b|idea\b|problem\b|trouble\b)\w+",
        r"\bwould have to\b",
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
        r"(?<!多了)没有人?(?!商量)|没人",
        r"卡(?:在|住)",
        r"难(?:在|以|处|点)",
        r"问题",
        r"失败|试过|退回|亏|垮|接通率|通过率低",
        r"隔着",
        r"不够|不足|不会|来不及|忙不过来|顾不(?:上|过来)|不方便|不放心|不肯|不愿|做不(?:下|到|好)|找不到|买不起|请不起",
        r"没(?:地方|处|有地方|有钱|时间|法)|浪费|白白|扔(?:了|掉|在)|可惜|头疼|麻烦|担心|就怕|怕(?:出|没|被)|愁|太(?:贵|少|多|远|慢|吵|乱|小)|贵|投诉|吵|乱",
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
        r"\btoo (?:few|little|slow|expensive|many|far|late|much|small|big|loud|old|heavy|busy)\b",
        r"\b(?:trouble|worr(?:y|ied|ies)|afraid|waste[ds]?|thrown away|hard to|difficult|expensive|complain\w*|nowhere)\b",
        r"\b(?:have|has|had|there is|there's|there are) no\b|\bdoesn't (?:work|fit)\b|\bisn't enough\b|\bgave up\b|\bno (?:money|room|time|place)\b",
    ),
    Cue.LACK: _any(
        r"(?<!多了)没|不(?!少|错|过|仅|但|同|久)|缺|少了|只(?:有|够|能|剩)|可是|但",
        r"\b(?:no|not|none|never|nothing|without|only|but|though|\w+n't)\b",
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
        r"能(?:做|给|提供|拿|帮|出)|(?<!不)可以(?:做|给|提供)?|会(?:做|的|什么)|有的|手上有",
        r"我会|擅长|本事|技能|优势|特长|资源|家底",
        r"做(?:成|过)|经验|成绩|作品",
        r"\b(?:offer\w*|give|can (?:do|help)|i can|we can|we have|i have|skills?|strengths?|experience|bring|abilities|good at|spare)\b",
    ),
    Cue.NEED: _any(
        r"找什么|在找|想找|寻找|需要|难处|缺什么|^缺|求",
        r"\b(?:needs?|look(?:ing)? for|seek\w*|wanted|wish ?list|could use|miss)\b",
    ),
    Cue.LIMIT: _any(
        r"不(?:会)?做|不碰|规矩|条件|限制|边界|底线|禁忌",
        r"不(?:能|行|可以|做)|注意|要求",
        r"\b(?:won't|can't|cannot|don't|limits?|conditions?|boundar\w+|terms|rules|not|never|no)\b",
    ),
    Cue.WISH: _any(r"想|目标|方向|下一步|愿望|追求", r"\b(?:want|goals?|after|aim|hopes?|next|direction|dream)\b"),
    Cue.OBSTACLE: _any(
        r"卡|难|试过|问题|困|阻|瓶颈",
        r"\b(?:stands? in the way|in our way|obstacles?|problems?|trouble|tried|stuck|barriers?|challenges?|difficult\w*|hard|missing|not working|worr\w+)\b",
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

REFUSING = _any(
    r"\b(?:I|we) (?:will not|won't|cannot|can't|can not) have\b",
    r"\b(?:I|we) (?:take|accept|do|give|lend|sell|open|work|let|allow) no (?!notice|part|more|longer|harm)\w+",
)
"""Limits of whoever speaks that look like a need ("I cannot have") or like nothing ("I take no")."""

ALLOWING = _any(r"\b(?:which|what|who)\b[^.;]{0,60}\b(?:and|or) (?:which|what|who) (?:may|can|must) not\b")
"""Who can tell what is allowed from what is not offers a judgement, and sets no limit."""

_HAVING = _any(
    r"^\W*(?:I|we)(?: also| still)? (?:have|own|hold|keep) (?!to\b|no\b|had\b|been\b|never\b|not\b)",
    r"^我们?(?:家|这儿|手里|手上)?(?:还|也)?有(?!人|时|点|些?(?:怕|担心))",
)
"""Whoever speaks says that something is theirs."""

_NAMING = _any(
    r"^(?!\W*an? (?:[\w'’-]{1,30} ){1,4}?[\w'’-]{0,30}[^su\W]s that\b)\W*(?:an?|some|several|\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b"
    r"(?! (?:[\w'’-]+ ){0,5}(?:is|are|was|were|has|had|have|can|could|will|would|must|may|does|did|costs?|needs?|comes?|goes|lasts?)\b| of (?:us|them|you|my|our|the)\b)"
    r"(?: [\w'’-]+){1,4}?(?:[,.;]|$| (?:of|that|which|with|from|in|for|where|on)\b)",
)
"""A thing or an amount of something, named without saying anything of it: an item of a list."""

RECOMMENDING = _any(
    r"建议|应该|应当|推荐(?!模型|系统|算法)|不妨|最好(?:是|能|先|去|和|跟|由)",
    r"\b(?:should|ought to|recommend\w*|suggest\w*|advis\w*|had better|let's)\b",
)
"""What the catalyst may not say (docs/protocol.md §5): it does not repeat a sentence that says it either."""

NOTHING_NEW = _any(
    r"^\W*(?:我)?(?:这边)?(?:暂时|目前)?(?:没有|没)(?:什么)?(?:新的?|别的|更多)?(?:信息|内容|补充|要说的|可说的)*了?\W*$",
    r"^\W*(?:I have )?(?:nothing|no)(?: more| new| else| further)?(?: information| to add| to say)*\W*$",
)

_CONDITION = _any(
    r"(?<!tell )(?<!know )(?<!ask )(?<!see )(?<!as )\b(?:if|unless|provided(?! (?:by|for|with)\b)|as long as|on condition that|in return for|in exchange for)\b[^,;:.!?]{0,160}",
    r"(?:如果|要是|只要|除非|假如)[^，。；：！？就]{0,40}",
)
"""What somebody makes their condition, or wants in return."""

_RULING_OUT = _any(
    r"^\W*(?:I|we) (?:also )?(?:will not|won't|cannot|can't|can not|do not|don't|never|refuse|must not|may not)\b",
    r"^我们?(?:也|都|从|可)?(?:不|绝不|从不|没法|没办法)",
)
"""Whoever begins so says what they do not do."""

_SUBORDINATE = _any(
    r"\b(?:because|since|although|though|that|which|who|whom|whose|where|while|so|or)\b[^,;:.!?]{0,160}",
    r"(?:因为|怕|免得)[^，。；：！？]{0,60}",
)
"""What only explains the main clause, or the thing that it names."""

_SPARE = re.compile(
    r"\b((?:have|has|own|owns|keep|keeps|got|there is|there's|there are) [^,;:.!?]{1,80}?) (?:that |which )?(?:nobody|no one)(?: else)? "
    r"(?:uses|needs|wants|lives in|sits in|sleeps in)\b(?! to\b)",
    re.IGNORECASE,
)
_SPARE_ZH = re.compile(r"(有[^，。；：！？没]{1,20})，?(?:一直|现在)?没有?人(?:用|住|坐|睡|穿|骑)(?![得不过])")
"""A thing that nobody uses is to spare: it lacks nothing, and nobody is missing."""
_FOR_FREE = re.compile(r"不(?:要|收|用)钱|don't mind", re.IGNORECASE)
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
_CLAUSE = re.compile(r"[,;:，；：。]|\s[–—-]\s|\bbut\b|可是|但是|不过")
_REFUSED = _any(
    r"不(?:能|会|肯|行|做|接|懂|愿|再|教|想|要(?!钱)|送(?!人))|没(?:有)?人|没有?[^，。；：！？有没]{1,4}(?:愿意|肯|敢)|没法|没办法|谁也",
    r"\b(?:nobody|no one|none|can't|cannot|couldn't|won't|wouldn't|don't|doesn't|didn't|not|never|neither)\b",
)


def cues_in(text: str) -> frozenset[Cue]:
    """What `text` shows. An offer is one in a clause of its own: "nobody can teach" offers nothing."""
    text = _SPARE_ZH.sub(r"\1空着", _SPARE.sub(r"\1 unused", text))
    found = {cue for cue, pattern in _IN_SENTENCE.items() if pattern.search(text)}
    if ALLOWING.search(text):
        return frozenset((found | {Cue.OFFER}) - {Cue.LIMIT})
    if REFUSING.search(text):
        found = (found | {Cue.LIMIT}) - {Cue.NEED}
    elif found & {Cue.LIMIT, Cue.NEED, Cue.WISH}:
        found -= _only_beside(found, text)
    if Cue.OFFER in found and not any(
        _IN_SENTENCE[Cue.OFFER].search(clause)
        and not _REFUSED.search(_FOR_FREE.sub("", clause))
        and not REFUSING.search(clause)
        for clause in _CLAUSE.split(without_conditions(text))
    ):
        found.discard(Cue.OFFER)
    return frozenset(found)


def _only_beside(found: set[Cue], text: str) -> set[Cue]:
    """Cues that stand in a subordinate clause alone: "I will not come, because people think that I want …" wants nothing.

    Looked at where the main clause rules something out, or says that its owner has something.
    """
    if _RULING_OUT.search(text):
        beside = {Cue.NEED, Cue.WISH}
    elif _HAVING.search(text):
        beside = {Cue.LIMIT}
    else:
        return set()
    main = _SUBORDINATE.sub(" ", text)
    return {cue for cue in beside & found if not _IN_SENTENCE[cue].search(main)}


def without_conditions(text: str) -> str:
    """`text` without what it makes a condition: "I come if the van is free" says nothing of a van that could be had."""
    return _CONDITION.sub(" ", text)


_HABIT = _any(
    r"\b(?:I|we)(?:'ve| have) (?:built|taught|run|led|trained|done|made|worked)\b|\bused to\b",
    r"\b(?:I|we) (?:teach|fix|repair|mend|make|build|bake|cook|grow|sew|drive|play|tune|train)\b",
    r"教过|带过|做过|办成|擅长|拿手|在行|手艺",
)
"""What somebody does or has done: it shows an ability, and offers nothing to anybody."""

_SEEKING = _any(
    r"(?:^\W*|[;:] ?)(?:and |but |so )?(?:I|we)(?:'m| am|'re| are)?(?: also| still| really)? (?:looking for|searching for|seeking|need|want|would like|'d like)\b",
    r"^我们?(?:还|也|正)?(?:在找|想找|要找|需要|缺)",
)
"""Whoever begins so says what they look for, also where somebody "who can …" is looked for."""


def offers_now(text: str) -> bool:
    """Whether a sentence offers something, and does not only tell what somebody does, has done or looks for."""
    found = _SEEKING.search(text)
    said = text[: found.start()] if found else text
    return Cue.OFFER in cues_in(said) and Cue.OFFER in cues_in(_HABIT.sub(" ", said))


def seeks(text: str) -> bool:
    """Whether a sentence says what somebody lacks, and offers nothing in the same breath."""
    cues = cues_in(text)
    if Cue.NEED not in cues or Cue.OFFER not in cues:
        return Cue.NEED in cues
    found = _SEEKING.search(text)
    return found is not None and Cue.OFFER not in cues_in(text[: found.start()])


_UNWANTED = _any(
    r"^\W*(?:I|we) (?:will not|won't|refuse|do not want|don't want|would not|wouldn't)\b",
    r"^我们?(?:也|都)?(?:不(?:想|要|愿|肯|打算|希望|许|准|搬|卖|借)|绝不|从不)",
)


def is_unwanted(text: str) -> bool:
    """Whether a sentence says what its owner does not want, and nothing that is lacking."""
    return bool(_UNWANTED.search(text)) and Cue.NEED not in cues_in(text)


def names_something(text: str) -> bool:
    """Whether a sentence names a thing, or says that its owner has it, and says nothing else of it that has a cue."""
    plain = not cues_in(text) & {Cue.NEED, Cue.LIMIT, Cue.WISH, Cue.OBSTACLE}
    return plain and bool(_HAVING.search(text) or _NAMING.search(text))


def cues_of_heading(heading: str) -> frozenset[Cue]:
    return frozenset(cue for cue, pattern in _IN_HEADING.items() if heading and pattern.search(heading))


def weight(cue: Cue, text: str, heading: str) -> float:
    """How strongly a sentence shows `cue`."""
    return strength(cue, cues_in(text), cues_of_heading(heading))


def strength(cue: Cue, own: frozenset[Cue], above: frozenset[Cue]) -> float:
    """2 when a sentence shows `cue` itself, 1.5 more when its heading does."""
    return 2.0 * (cue in own) + 1.5 * (cue in above)


def is_label(text: str) -> bool:
    """True for identity labels alone (age, trade, town): they say who somebody is, not where they stand."""
    rest = _LABEL.sub(" ", text)
    return len(_TERM.findall(rest)) < 5
