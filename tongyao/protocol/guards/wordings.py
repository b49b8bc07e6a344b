"""How recommendations, private talks and judgements are worded, in English and Chinese (docs/guards.md). Pure.

Written from the `dev` half of the labelled sentences beside the tests and from the list of forbidden wordings in the
catalyst's prompt. Every gap in a pattern is bounded, so that no text makes matching slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from tongyao.protocol.guards import grammar_en, grammar_zh, people_en, people_zh, wordings_en, wordings_zh


class AnyOf:
    """Any of the patterns, of the languages that a text is in: half of them need not be tried on most texts.

    Compiled when first used: together they take a second that only an observation needs.
    """

    def __init__(self, *, english: Iterable[str], chinese: Iterable[str]) -> None:
        self._sources = tuple("|".join(f"(?:{part})" for part in parts) for parts in (english, chinese))

    @cached_property
    def _english(self) -> re.Pattern[str]:
        return re.compile(self._sources[0], re.IGNORECASE)

    @cached_property
    def _chinese(self) -> re.Pattern[str]:
        return re.compile(self._sources[1], re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        found = self._english.search(text) if _ENGLISH.search(text) else None
        return found or (self._chinese.search(text) if _CHINESE.search(text) else None)


_ENGLISH: Final = re.compile(r"[A-Za-z]{2}|1[:-]1")
"""What no English pattern matches without; an alias has one letter."""
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")

ALIAS: Final = r"(?<![A-Za-z0-9])P\d{2}(?!\d)"
_P: Final = r"(?<![A-Za-z0-9/])P\d{2}(?![\d/])"
"""An alias that is not part of an item id."""

_GROUP: Final = (
    rf"(?:{_P}(?:,? (?:and|or|&) {_P}|, {_P}){{1,8}}|they|both|(?:the|these|those) (?:two|three|four|others|group|team|pair|parties)|"
    r"everyone|everybody|all(?: of them)?|we|the two of them|the participants)"
)
_SOMEONE: Final = rf"(?:{_GROUP}|{_P})"
_ADVERB: Final = (
    r"(?:\s+(?:also|now|then|first|simply|just|directly|together|soon|perhaps|really|all|both|jointly|not))?"
)
_TOGETHER: Final = (
    r"(?:talk|speak|meet|discuss|negotiate|agree|decide|collaborate|cooperate|co-operate|partner|pair|team|join|combine|merge|"
    r"pool|coordinate|contact|connect|reach out|get together|sit down|work (?:together|with|out)|share|exchange|compare|"
    r"form|set up|draw up|write down|split|settle)"
)
_COMMIT: Final = (
    rf"(?:{_TOGETHER}|sign|accept|commit|promise|offer|take over|take on|lead|hire|pay|begin|start|act as|serve as|"
    r"become|run|host|lend|be the one|consider|give up|hand over|take the lead|try|use|adopt|explore)"
)

REPORTS_EN: Final = re.compile(
    rf"(?P<who>{_P}|(?:both|two|all|none|each) of them|nobody|no one)(?:['’]s \w+)?(?:\s+(?:has|have|had|also|only|now|once|already|"
    r"themselves|themself|in turn))*\s+"
    r"(?:sa(?:id|ys)|states?|stated|wr(?:ote|ites|itten)|mention(?:s|ed)|quot(?:es|ed)|report(?:s|ed)|not(?:es|ed)|"
    r"suggest(?:s|ed)?|propos(?:es|ed)|recommend(?:s|ed)?|ask(?:s|ed)?|want(?:s|ed)?(?! too (?:much|little))|look(?:s|ed|ing)? for|seek(?:s|ing)?|assum(?:es|ed)|"
    r"expect(?:s|ed)?|call(?:s|ed)|describ(?:es|ed)|claim(?:s|ed)?|believ(?:es|ed)|think(?:s)?|thought|hop(?:es|ed)|"
    r"add(?:s|ed)|insist(?:s|ed)?|fe(?:els|lt)|fear(?:s|ed)|regret(?:s|ted)|wish(?:es|ed)|finds|argu(?:es|ed)|warn(?:s|ed)|complain(?:s|ed)|explain(?:s|ed)|"
    r"admit(?:s|ted)|promis(?:es|ed)|agre(?:es|ed) (?:that|to)|intend(?:s|ed)?|prefer(?:s|red)?|would (?:like|rather|prefer)|urg(?:es|ed)|advis(?:es|ed)|(?:is|was) (?:told|asked|required|obliged|bound)|"
    r"has been (?:told|asked)|"
    r"(?:lacks?|lacked|needs?|needed|waits? for|is (?:missing|short of|waiting for))(?= (?:some|any)(?:one|body)\b| people\b| a person\b)|"
    r"ha(?:s|ve) (?:no one|nobody))\b(?P<said>[^,;.!?\n]{0,200})",
    re.IGNORECASE,
)
"""An alias, a verb of saying, wanting or lacking, and what was said, to the end of the clause. Whom somebody lacks is told, not
advised, whatever that person is to do."""

REPORTS_ZH: Final = re.compile(
    r"(?P<who>(?<![A-Za-z0-9/])P\d{2}(?![\d/])|没有人|无人|两人|双方)(?:在[^，。；]{1,14}[里中])?(?:自己|自|也|曾|都|又|还|没有|只|原先)*"
    r"(?:说|写|述|称|提到|提出|表示|建议|认为|觉得|希望|打算|要找|在找|要求|引|问|假定|愿意|声明|主张|补充|想|谈到|指出|"
    r"缺(?![乏心德])|还差|等着|在等|(?:要|需要|需|得|须|必须)(?:先|等|另)?有(?:个|一个|别)?人|指望)"
    r"(?P<said>[^，；。！？\n]{0,120})"
)

WISHES_ZH: Final = re.compile(
    r"(?P<who>(?<![A-Za-z0-9/])P\d{2}(?![\d/])[^。；！？\n]{0,30}(?:(?<![不只重主需必将])要(?!是|紧|么|不)|想|求|盼|愿意|说(?!明))[^。；！？\n]{0,30}[，、])"
    r"(?P<said>最好(?!先|由|让|把|找|和|与|一起|马上|尽)[^，。；！？\n]{0,40})"
)
"""What an alias wants, and in a further clause how they would like it best: told, not advised."""

QUOTED: Final = re.compile(r"“[^“”\n]{0,400}”|「[^「」\n]{0,400}」|『[^『』\n]{0,400}』|\"[^\"\n]{0,400}\"")

_START: Final = r"(?:^|(?<=[:：])|(?<=—)|(?<=, then)|(?<=, and))[\s>*#•\-–—\d.)\]]*"

RECOMMENDS: Final = AnyOf(english=(
    *wordings_en.RECOMMENDS,
    *grammar_en.RECOMMENDS,
    # modals of duty: "who should pay" asks, it does not advise.
    r"(?<!who )(?<!whether )(?<!what )(?<!which )\b(?:should|ought to|had better|'d better|would do well to|would be well advised)\b(?! be (?:read|understood) as)",
    rf"{_GROUP}\s+(?:must|need to|have to|has to|needs to|may wish to){_ADVERB}\s+{_TOGETHER}",
    rf"{_P}\s+(?:must|needs to|has to){_ADVERB}\s+(?:talk|speak|contact|connect|reach out|collaborate|partner|team|join forces|coordinate|"
    rf"consult|agree|sign|accept|commit|decide|promise|involve)\b(?! of)",
    rf"{_SOMEONE}\s+(?:might|may) (?:want|wish|like) to\b",
    rf"(?<!before )(?<!until )(?<!once )(?<!when ){_GROUP}\s+(?:could|can|might){_ADVERB}\s+{_COMMIT}\b(?![^.;\n]{{0,40}}\bonly\b)",
    rf"{_P}\s+(?:could|might){_ADVERB}\s+{_COMMIT}\b(?![^.;\n]{{0,60}}, (?:if|provided|as long as)\b)",  # "P02 can lend two" tells what somebody has said they have
    rf"{_P}\s+can{_ADVERB}\s+(?:talk|speak|meet|discuss|negotiate|collaborate|cooperate|partner|team|join|contact|connect|reach out|lead|"
    r"take the lead|act as|serve as|become|coordinate)\b(?![^.;\n]{0,40}\bonly\b)",
    # advice as a noun or an adjective
    r"\b(?:I|we)(?:'d|’d| would| do| can| strongly)*\s+(?:recommend|suggest|propose|advise|encourage|urge|advocate|favou?r|like to see)\b",
    r"\b(?:my|our) (?:suggestion|recommendation|advice|proposal)\b",
    r"\b(?:it|this|that) (?:would|might|may|could|will) (?:be|prove) (?:\w+ ){0,2}(?:best|better|worth|worthwhile|wise|wiser|good|useful|helpful|sensible|"
    r"advisable|beneficial|ideal|productive|fruitful)\b",
    r"\b(?:is|are|seems?) (?:\w+ ){0,2}(?:advisable|recommended|recommendable|desirable|worth (?:pursuing|trying|exploring|considering|testing))\b",
    r"\bworth (?:their while|pursuing|trying|exploring|considering|testing|a try)\b",
    r"\b(?:the )?(?:best|wisest|safest|simplest|right|most sensible) (?:course|way forward|way to|thing to do|option|move|choice|approach|plan|solution) (?:is|would|will|here|for|of|to)\b",
    r"\b(?:first|next|only|obvious) thing to do\b|\b(?:obvious |logical |natural |a good |the )next steps?\b|\baction items?\b|\bway forward\b",
    r"\b(?:makes?|would make) (?:\w+ )?sense (?:for|to|that)\b",
    r"\b(?:it is|it's|it’s) (?:high |about )?time (?:for|to|that)\b",
    r"\bwhy (?:not|don't|doesn't)\b|\bif I were\b|\bhow about\b|\bhopefully\b|\blet's\b|\blet’s\b",
    r"\b(?:natural|obvious|ideal|right|perfect|logical) (?:person|one|choice|candidate|lead|leader|coordinator|partner|match)\b",
    r"\b(?:recommendations?|suggestions?|advice|next steps?|to-?dos?)\s*[:：]",
    r"\bneed(?:s)? to be (?:brought|put|merged|combined|joined|connected|introduced)\b",
    # orders and requests
    rf"{_START}(?:please\b|let (?:{_P}|them|us|both|the\b)|consider\b|start (?:with|by|from)\b|begin (?:with|by)\b|bring (?:{_P}|the|both|them)|"
    rf"ask {_P}|have {_P}|make sure|ensure|try\b|combine (?:{_P}|the|both)|pair (?:{_P}|the|up)|introduce (?:{_P}|the|them)|"
    rf"invite {_P}|put (?:{_P}|the two|them)|connect (?:{_P}|the|them)|{_P} to\b)",
    rf"{_START}(?:could|can|would|will)\s+{_SOMEONE}\s[^?\n]{{1,160}}\?",
), chinese=(
    *wordings_zh.RECOMMENDS,
    *grammar_zh.RECOMMENDS,
    r"(?:^|[，。；：:、\s（(]|我们?|因此|所以|故|这里|特此)(?:建议|推荐|提议)(?!是|的|书|人)",
    r"(?<!谁)(?<!人)(?<!本)(?<!原)(?<!本来)(?<!原来)(?<!当初)(?<!照理)(?<!按理)(?<!应不)(?:(?:应该|应当)(?!是(?!由|把|让)|能|会|够|有(?!人|个)|已|没|足够|来得及|差不多|不止|不到|正|仍)|理应|理当|(?<![喊叫唤])不应|务必|不妨(?!碍)|何不|何妨|倒不如|不如(?=先|把|让|由|请|去|找|跟|给|直接|干脆|就|一起|从|用|换|改|学|趁|早|问|试|自己|统一|交|留|放|两|大家|合|各|轮))(?![^，。；\n]{0,3}(?:谁|哪|什么|怎么|多少|几[个时天]))",
    r"P\d{2}(?:就|还|也)?该(?!得|还|拿|付|人|处|季|笔|批|项|校|店|村|厂)|应(?:尽快|先|立即|把|与|由|让|找)",
    r"最好(?:先|不要|别|能|由|让|把|在|去|和|与|尽|一起|马上)",
    r"(?:^|[，。；：:、\s])(?:请|烦请|让|但愿|(?<![，；、])(?:希望|期待))\s?(?:P\d{2}|大家|各位|双方|两人|他们|她们|两位)",
    r"(?:大家|双方|两人|两位|他们|彼此|各方|三方|P\d{2}[和与、]\s?P\d{2})(?:都)?(?:需要|有必要|必须|得|要)(?!的)[^，。；\n]{0,6}"
    r"(?:坐|谈|聊|联系|联手|沟通|商|约|见面|合作|合并|一起|先(?!拿|有|得到|办|交)|共同|协|说清|讲清|写下|签|定下|统一|对齐|碰头|配合|答应|决定|接受|承诺|分工|互相|达成|成立)(?!，这件事才)",
    r"有必要(?:坐|谈|聊|联系|沟通|合|一起|先|尽)|值得(?:马上|一起|去|尝试|试|推进|考虑|一试)",
    r"(?:P\d{2}|大家|双方|两人|两位|他们)(?:完全|不妨(?!碍)|也|就|还|或许|大概)?可以(?:考虑|一起|联手|组成|合作|合并|尝试|试试|找\s?P|跟\s?P|与\s?P|和\s?P|共同|担任|牵头|负责)",
    r"(?:完全|还|就|也)可以(?:先|考虑|一起|联手|组成|合作|合并|尝试|试试|共同|担任|牵头|负责|找\s?P|跟\s?P|与\s?P|和\s?P)",
    r"(?:^|[，。；：:、\s])(?:可以)?(?:先从|首先要|首先应|眼下要做|当务之急|下一步(?:是|要|该|应|就|：)|行动方案|行动项)",
    r"(?:(?:建议|最好|可以|那就|不如|应)由|让)\s?P\d{2}[^，。；\n]{0,8}(?:负责|牵头|来|保管|担任|统筹|合作|协调|联手|搭伙|带头|主持)",
    r"P\d{2}(?:来|去)?[^，。；\n]{0,6}(?:担任|充当|当|做)[^，。；\n]{0,6}(?:协调|牵头|负责|联络|主持|组长|召集)[^，。；\n]{0,2}",
    r"(?:最|更)(?:稳妥|合适|好|佳|明智|可行|理想)的?(?:做法|办法|选择|方案|路径|安排|人选|顺序)",
    r"(?:能不能|能否|可否|可不可以)[^。；\n]{0,60}[？?]|如果我是|换作我",
    r"(?:尽快|立即|赶紧)(?:碰头|见面|联系|合作|达成|开始|对接|谈|签)|再好不过|再合适不过",
))  # fmt: skip

ALONE: Final = AnyOf(english=(
    *wordings_en.ALONE,
    *people_en.ALONE,
    r"\bprivate(?:ly)? (?:conversation|talk|call|chat|meeting|word|channel|exchange)\b|\bin private\b|\btalk privately\b|\bspeak privately\b",
    r"\b(?:one[- ]to[- ]one|one[- ]on[- ]one|1[:-]1|tête-à-tête|bilateral(?:ly)?|behind closed doors)\b",
    r"\btak(?:e|ing) (?:this|it|that|the matter|their talk) offline\b|\b(?:separate|side|direct) (?:call|meeting|conversation|talk|discussion|channel) "
    r"(?:between|with|of|is|for|would|may)\b|\bin a separate (?:call|meeting|conversation)\b",
    r"\bwithout the (?:others|other|rest|group)\b|\b(?:settled?|sort(?:ed)?|discuss(?:ed)?|talk|agree|resolve) [^.;\n]{0,40}(?:between|among|amongst) themselves\b",
    r"\bgo aside\b|\bstep aside together\b|\bexchange (?:phone )?(?:numbers|contacts|contact details|addresses)\b",
), chinese=(
    *wordings_zh.ALONE,
    *people_zh.ALONE,
    r"私聊|私谈|避开(?:其他人|别人|大家|众人)|绕过(?:其他人|别人|大家|众人)|一对一|另开(?:一个)?(?:小会|小群|群)",
    r"单独(?:沟通|谈|聊|对话|对接|见|商量|联系|约|碰)|(?:加|换)(?:个|一下)?微信|直接对接|两个人先谈",
))  # fmt: skip

TALKED: Final = AnyOf(english=people_en.TALKED, chinese=people_zh.TALKED)
"""Talks that took place, services and wishes in the wordings of `ALONE`: told, not proposed."""

_PRAISE: Final = (
    r"(?:strong(?:est)?|weak(?:est)?|excellent|outstanding|impressive|brilliant|exceptional|remarkable|talented|gifted|superb|mediocre|"
    r"poor|disappointing|vague|evasive|self-serving|arrogant|naive|shallow|lazy|careless|unreliable|reliable|trustworthy|untrustworthy|"
    r"honest|dishonest|sincere|hard-working|diligent|competent|incompetent|unqualified|overqualified|professional|unprofessional|"
    r"capable|incapable|unsuitable|unsuited|valuable|worthless|useless|superficial|generous|modest|admirable|inexperienced|skilled|"
    r"skilful|suitable|promising|thin|convincing|unconvincing|credible|inadequate|insufficiently \w+)"
)
_WORK: Final = (
    r"(?:contribution|offer|answer|projection|proposal|reply|input|statement|idea|plan|work|experience|profile|"
    r"skills?|attitude|commitment)"
)
_SUBJECT: Final = rf"(?:{_P}(?:['’]s (?:\w+ )?{_WORK})?)"

JUDGES: Final = AnyOf(english=(
    *wordings_en.JUDGES,
    *people_en.JUDGES,
    rf"{_SUBJECT}\s+(?:is|are|was|seems?|looks?|appears?|sounds?|remains?)(?: to be)?\s+(?:(?!only|one|not examined)\w+\s+){{0,3}}{_PRAISE}\b",
    rf"{_P}[^.;\n]{{0,50}}\b(?:the |a |an )?(?:strongest|weakest|best|better|worst|ideal|poor|good|perfect|great|bad|excellent|outstanding|impressive|"
    rf"most (?:valuable|useful|competent|suitable|important|promising)|least (?:valuable|useful|competent|suitable|important)|rare|real) "
    rf"(?:candidates?|choices?|fit|match|talents?|people|person|organi[sz]ers?|leaders?|partners?|participants?|answers?|contributions?|offers?|members?|asset|expert|speaker)\b",
    rf"\b(?:impressive|excellent|weak|poor|brilliant|disappointing|strong|mediocre|remarkable|outstanding)\s+{_WORK}\s+(?:from|by|of)\s+{_P}",
    rf"{_P}[^.;\n]{{0,60}}\b(?:more|less|better|worse) (?:\w+ )?(?:competent|capable|reliable|serious|experienced|professional|qualified|suited|valuable|useful|trust\w*|credible)\b",
    rf"{_P}\s+(?:has|have|shows?|brings?)\s+(?:\w+\s+)?(?:too )?(?:little|no real|hardly any|limited|insufficient|poor) (?:experience|skill|skills|knowledge|understanding|judgement|judgment|grasp)\b",
    rf"{_P}[^.;\n]{{0,40}}\b(?:lacks? (?:commitment|seriousness|experience|skill|depth|credibility|competence)|lack of (?:commitment|seriousness|experience|skill|depth|will|competence)|"
    rf"overestimates?|underestimates?|exaggerates?|overstates?|(?:does not|doesn't) (?:look|seem|sound) (?:serious|honest|ready|committed)|"
    rf"(?:is|are) (?:not|hardly|barely) (?:\w+ )?(?:qualified|competent|suited|ready|up to|serious|reliable|capable|good enough)|"
    rf"deserves?|brings? the (?:least|most)|contributes? the (?:least|most)|outperforms?|stands out|excels?)\b",
    r"\b(?:team|group|collaboration|partnership|project|plan|pair|combination|they|this)\s+(?:will|is (?:bound|sure|likely|certain) to)\s+"
    r"(?:certainly |surely |definitely |probably )?(?:succeed|fail|work(?: out)?\b(?! (?:on|in|at|with))|flourish|collapse|thrive)",
), chinese=(
    *wordings_zh.JUDGES,
    *people_zh.JUDGES,
    r"P\d{2}[^。；\n“「]{0,14}(?:最强|最弱|最合适|最适合|最优秀|最专业|最有价值|最靠谱|最差|(?:价值|水平|贡献|分量|可信度)最低|最认真|首屈一指)",
    r"P\d{2}比P?[^。；，\n]{1,8}(?:更(?:专业|可靠|认真|优秀|靠谱|懂|合适|适合|值得|强|差)|强(?=得|多|很)|差(?=劲|远|得|多了)|专业|可靠|认真|优秀|值得)",
    r"P\d{2}[^。；\n“「]{0,18}(?:出色|优秀(?!学|奖|生|作|员|的学)|杰出|难得的|(?<![个位名口])人才(?!市场)|很棒|厉害|高明|平庸|不靠谱|靠谱|不可靠|诚恳|诚实|踏实|勤恳|懒散|专业水准|独到|可圈可点|"
    r"难以胜任|无法胜任|不胜任|能胜任|不够格|没有资格|不具备资格|资格不够|薄弱|空洞|印象深刻|含糊|自夸|夸大|高估|低估|自负|敷衍|"
    r"不够(?:认真|专业|成熟|诚恳|坦率|深入)|责任心|诚意不足|缺乏(?:经验|诚意|责任|能力|深度)|经验(?:太|过|不)(?:少|浅|足)|不配)",
    r"P\d{2}(?:不适合|不合适)(?:这个|本|我们|这样的)(?:小组|团队|合作|项目|组合)|P\d{2}[^。；\n“「]{0,10}(?:能力|水平|水准|素质|表现|贡献)(?:还|都|也)?(?:很|较|太|最|非常|明显|比较|相当|略)?(?:强|弱|高|低|差|好|一般|突出|薄弱|不足)",
    r"(?:团队|小组|组合|合作|项目|这几个人|他们|这个方案)[^。；，\n]{0,6}(?:一定|必定|必将|肯定|注定|必然|很可能)[^。；，\n]{0,3}(?:成功|失败|能成|做成|成事|垮)",
))  # fmt: skip

NEUTRAL: Final = AnyOf(english=wordings_en.NEUTRAL, chinese=wordings_zh.NEUTRAL)
"""Frames in which a wording tells what somebody else said, asked or is bound to: it is remarked on, and not struck."""

MAY_RECOMMEND: Final = AnyOf(english=wordings_en.MAY_RECOMMEND, chinese=wordings_zh.MAY_RECOMMEND)
TOLD: Final = AnyOf(english=wordings_en.TOLD, chinese=wordings_zh.TOLD)
MAY_TAKE_ASIDE: Final = AnyOf(english=wordings_en.MAY_TAKE_ASIDE, chinese=wordings_zh.MAY_TAKE_ASIDE)
MAY_JUDGE: Final = AnyOf(english=wordings_en.MAY_JUDGE, chinese=wordings_zh.MAY_JUDGE)
"""Wordings that go beyond visibility in some sentences and only describe in others."""
