"""The grammar of English advice: who is addressed, which mood and modality, which appraisal of an action. Pure.

Beside the set phrases of `wordings_en`, written from an own development set (docs/guards.md). Every gap is bounded.
"""

from __future__ import annotations

from typing import Final

_P: Final = r"(?<![A-Za-z0-9/])P\d{2}(?![\d/])"
_PS: Final = rf"{_P}(?:(?:,| and| or|, and) {_P}){{0,4}}"
_NOT: Final = r"(?: not|n't|n’t)"
_ADVERB: Final = (
    r"(?:(?:[a-z]{3,10}ly|also|now|then|first|just|perhaps|maybe|always|soon|even|still|instead|rather|well|best|at least|in turn|"
    r"together|really) )"
)
_OPENING: Final = (
    rf"(?:^[\s>*#•\-–—\d.)\]]{{0,12}}|[.:;—–] ?)(?:{_PS}, )?(?:(?:and|so|then|but|now|first|next|instead|meanwhile|perhaps|please|simply|just|"
    r"by all means|of course|for now|at least|do),? ){0,2}"
)
"""The start of a sentence or of a main clause, with a name that is called and what stands before an order."""

# orders -----------------------------------------------------------------------------------------------------------------
_ACTION: Final = (
    r"(?:accept|add|adopt|bear|beware|burn|bury|calculate|carry|dig|enlarge|feed|fold|grab|hear|hurry|insist|insulate|loosen|narrow|oil|pause|plough|polish|pour|rearrange|rebuild|recalculate|recheck|reckon|reconsider|redraw|redo|refill|reinforce|reschedule|reset|rethink|rewrite|rule out|scrap|scrub|sit|slow|spare|specify|stagger|sweep|tackle|tell|thin|tighten|trace|unload|unlock|unplug|upgrade|widen|wipe|advertise|agree|aim|allow|announce|apologi[sz]e|appoint|approach|arrange|ask|assign|attach|avoid|await|bake|begin|"
    r"borrow|bring|build|bundle|buy|cancel|check|choose|circulate|clarify|collect|combine|come|compare|concentrate|confirm|"
    r"consider|consult|contact|continue|convince|cook|coordinate|count|create|decide|declare|delay|delegate|deliver|discuss|distribute|"
    r"divide|draft|draw|drive|drop|eat|encourage|enlist|ensure|establish|exchange|experiment|explain|explore|extend|fetch|fill|"
    r"find|finish|fit|focus|follow|forget|forgive|gather|get|give|go|grant|halve|hang|heed|hire|hold|honou?r|ignore|include|inform|inspect|"
    r"install|introduce|invest|investigate|invite|involve|join|keep|lay|lead|learn|leave|lend|lift|limit|listen|load|lock|make|"
    r"measure|meet|merge|mind|mix|negotiate|note|notify|obtain|offload|organi[sz]e|pack|pair|pay|persuade|phone|pick|place|pool|postpone|"
    r"prefer|prepare|prioriti[sz]e|propose|protect|prove|publish|pull|push|raise|reassure|recruit|reduce|refuse|reject|release|"
    r"relocate|remember|remind|remove|rent|reopen|repair|repeat|replace|rescue|reserve|resist|resolve|respect|return|reuse|revise|revisit|"
    r"rotate|save|schedule|seal|see|seek|select|sell|send|serve|settle|shift|shorten|show|sign|simplify|skip|solve|sort|"
    r"speak|spend|start|stay|steer|stop|store|strengthen|stretch|submit|suspend|swap|switch|take|teach|tell|thank|think|throw|"
    r"tie|train|transfer|translate|treat|trim|trust|try|update|use|verify|wash|weigh|withdraw|wrap|write)"
)
"""Verbs in their base form, which open a clause only as an order; nouns of the same form are in `_ACTION_OR_NOUN`."""
_ACTION_OR_NOUN: Final = (
    r"(?:book|call|change|clean|clear|copy|cut|double|dry|empty|lower|open|secure|separate|warm|cover|display|document|fix|form|group|hand|help|host|label|launch|link|list|look|map|mark|match|move|name|"
    r"offer|order|paint|plan|plant|print|promise|put|question|read|spread|split|let|rank|record|request|rest|ring|run|set|share|step|stick|stock|support|talk|test|"
    r"trade|trial|turn|visit|wait|walk|warn|watch|water|work)"
)
_THING: Final = (
    rf"(?:the|a|an|all|both|each|every|this|that|these|those|it|them|him|her|us|one|two|three|any|some|no|your|their|his|its|everyone|everybody|"
    rf"everything|somebody|someone|nothing|half|{_P}(?:['’]s)?)\b"
)
_FOLLOWS: Final = (
    r"(?:what|who|whoever|whatever|whether|how|when|where|if|that|for|to|at|on|in|into|from|with|by|up|out|off|down|over|back|ahead|along|"
    r"around|about|away|only|first|early|as|until|before|after|against|twice|once|together|quietly|separately|[a-z]{3,12}ing)\b"
)
_SEVERAL: Final = r"[a-z]{3,12}s(?=[.,;:!?]|\s{0,4}$| (?:and|or|of|to|for|at|on|in|into|from|with|by|per|as|until|before|after|between|instead|together|first|now|once|only|when|while|if|that|who)\b)"
"""A noun in the plural that ends the order, or that a further phrase follows: after "pool guards" stands a verb."""
_FINITE: Final = (
    r"(?![^.;,]{0,60} (?:is|was|are|were|has|had|means|stands|remains|begins|starts|ends|would|could|will|may|might)\b)"
)
"""Not before a finite verb in the same clause: then the first word is a noun."""
_ORDERS: Final = (
    rf"{_OPENING}{_ACTION} {_THING}",
    rf"{_OPENING}{_ACTION},? (?:{_FOLLOWS}|{_SEVERAL}){_FINITE}",
    rf"{_OPENING}{_ACTION_OR_NOUN} {_THING}(?! (?:is|was|are|were|has|had|made|gave|came|got|put)\b){_FINITE}",
    rf"{_OPENING}do (?:{_ACTION}|{_ACTION_OR_NOUN}) (?:{_THING}|{_FOLLOWS}|{_SEVERAL})",
    rf"{_OPENING}(?:don't|don’t|do not|never|let's|let’s|let us) [a-z]{{1,16}}",
    rf"{_OPENING}(?:have|let|get) {_PS} (?:to )?(?!(?:ever|already|yet|both|all|been|[a-z]{{1,14}}ed)\b)[a-z]{{1,16}}",
    rf"{_OPENING}(?:make sure|be sure|be careful|take care|go ahead|bear in mind|mind you)\b(?! of (?:P|it))",
    rf"{_OPENING}(?:go|come|try|wait|stop|look|sit down) and [a-z]{{1,16}}",
    r"\bhands off\b|\ba (?:brief |short |quick )?word (?:of (?:advice|warning|caution) )?to P\d\d:",
    rf"^(?:instead of|rather than|before|until|once|to|if|when) [^.;:\n“\"]{{2,90}}, (?:please |just |simply |at least |then )?(?:{_ACTION}|{_ACTION_OR_NOUN}) (?:on|up|out|for|to|with|by|in|off|down|at|from) (?:{_THING}|[a-z]{{1,16}}ing\b){_FINITE}",
    # after "so", and after a phrase of time, aim or condition
    rf"[,;—–] ?(?:and )?so (?:please |just |do |simply )?(?:{_ACTION}|{_ACTION_OR_NOUN}) (?:{_THING}|{_FOLLOWS}|{_SEVERAL})",
    rf"^(?:by|before|until|after|on|from|for|with|in|at|during|over|instead of|once|when|as soon as|if|while|given|since|to|rather than|"
    rf"should|unless|as|because|now that|of|as for|regarding|concerning|between|about) [^.;:\n“\"]{{2,120}}, (?:(?:{_P}, )?(?:please|just|simply|at least|then|do|so) )?"
    rf"(?:{_ACTION}|{_ACTION_OR_NOUN}) {_THING}(?! (?:is|was|are|were|has|have|had|would|will)\b)",
    r"\b(?:under no circumstances|on no account|at no point|in no case) (?:should|must|may|is|are|can)\b",
)

# who speaks and who is spoken to: an observation has neither "I" nor "you" --------------------------------------------------
_PERSONS: Final = (
    r"\bI(?:['’]d| would| wish| hope| think| believe| feel| suggest| recommend| propose| advise| urge| reckon| say| doubt| see no|['’]m (?:for|in favou?r|against)| am "
    r"(?:for|in favou?r|against)) \w{1,16}",
    r"\b(?:my|our) (?:own )?(?:choice|vote|view|money|sense|hunch|inclination|counsel|pick|instinct|hope|wish|plea|suggestion|advice|idea)\b",
    r"\byou(?:['’]d|['’]ll| would| will| could| can| might| may| should| must| ought| need| have to| had| want to| deserve|['’]re better| are better)\b",
    r"\b(?:both|all|two|some) of you\b|\byour (?:best|own|next|first)\b|\byoursel(?:f|ves)\b",
    rf"\b(?:we|let us) (?:{_ADVERB}){{0,2}}(?:should|could|must|might|need to|ought to|had better|have to|recommend|suggest|propose|urge|advise)\b",
)

# duties -----------------------------------------------------------------------------------------------------------------
_PAST: Final = r"(?! have (?:been|had|known|said|told|come|gone|done|made|taken|given|put|spoken|written|sent|asked|[a-z]{1,14}ed)\b)"
_MEMBERS: Final = (
    rf"(?:{_PS}|they|we|one|both(?: of them)?|everyone(?: involved)?|everybody|someone|somebody|(?:somebody|someone|one) (?:of|from|in|at) [a-z ]{{3,20}}|"
    r"all (?:of them|parties|sides)|(?:the|these|all|both) (?:[a-z'’-]{1,16} ){0,2}?(?:group|team|crew|committee|council|board|members?|participants?|residents?|tenants?|"
    r"parents?|neighbou?rs?|growers?|farmers?|nurses?|staff|teachers?|players?|actors?|others?|two|three|four|five|school|village|choir|club|association|households?|"
    r"families|volunteers?|people|partners?|parties))"
)
_SOMEBODY: Final = r"(?:someone|somebody|everyone|everybody|nobody|no one|one of (?:them|the two|the \w{1,16})|both(?: of them| sides| parties)?|all (?:of them|parties|sides|\w{1,16}))"
_STATE: Final = r"(?!(?:be|have|leave|get|go|know|wait|work|rest|live|use|sleep|stay|see|start|finish|travel|drive|walk|hear|pay)\b)"
"""Not before what somebody has to do for themselves and reports as a fact (`must leave by seven`)."""
_DEADLINE: Final = (
    r"(?:by|before|no later than|until|not later than) (?:then|the|next|tomorrow|tonight|noon|midday|midnight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|easter|christmas|\d|P\d{2}|[a-z]{1,16}ing|anyone|anything|any|it|this|that)"
)
_DUTIES: Final = (
    rf"(?<!who )(?<!whether )(?<!what )(?<!which )(?<!how )(?<!when )(?<!where )\b(?:should|ought){_NOT}?\b(?! to have)(?! (?:probably |still |also )?(?:be (?:enough|sufficient|possible|able|dry)|last|suffice|fit|cover|hold|arrive)\b){_PAST}(?! be (?:read|understood) as)",
    rf"{_SOMEBODY} (?:{_ADVERB})?(?:must|needs? to|(?<=one )has to|(?<=body )has to|(?<=two )has to){_NOT}? (?:{_ADVERB})?{_STATE}[a-z]{{1,16}}",
    rf"{_MEMBERS} (?:{_ADVERB})?(?:must|has to|have to|needs? to){_NOT}? (?:{_ADVERB})?(?:stop|talk|speak|discuss|agree|decide|apologi[sz]e|confirm|choose|settle|meet|sit down|"
    r"find (?:a|an|some|somebody|someone)|make (?:up|a)|come (?:to|together)|work out|sort|write down|reconsider|rethink|accept|give up|let go|take (?:over|charge|responsibility))\b",
    r"^(?:the|all|every|each|no|these|both) [^.,;:\n]{3,60} (?:must|needs? to|has to|have to) (?:now |first |also |still |then )?be (?:[a-z]{1,16}ly )?(?:[a-z]{2,12}(?:ed|en)|brought|put|told|sent|made|done|kept|held|cut|set|paid|built|"
    rf"found|bought|left|taught|read|sold|met|drawn|shown)\b(?=[^.;\n]{{0,40}}\b{_DEADLINE}\b)",
    r"\bmust(?: not|n't|n’t) (?:be )?[a-z]{1,16} [^.;\n]{0,40}\b(?:until|before|unless)\b",
    r"\bhad best\b|\b(?:needs? to|must) (?:first |also |now )?be (?:told|asked|informed|consulted|warned|reminded|heard|thanked|persuaded|convinced|involved|included)\b(?! (?:by|that|about|of) (?:law|P\d\d))",
    rf"\bwith {_PS} (?:in charge|in the (?:lead|chair)|leading|at the helm|chairing|coordinating|assisting|helping out|taking (?:over|charge|the lead)|as (?:lead|leader|chair|host|coordinator|treasurer|secretary))\b",
    rf"{_PS} (?:is|are) to (?!be\b|have\b|blame\b|retire\b|move\b|marry\b)[a-z]{{1,16}} [^.;\n]{{0,60}}\b{_DEADLINE}\b|^{_DEADLINE}[^.;\n]{{0,30}}, {_PS} (?:is|are) to [a-z]{{1,16}}",
    rf"\bit(?: is|['’]s| remains| falls| would be| is now| seems| is really) (?:now )?(?:up |down |for |on |upon |to ){{1,3}}{_PS} (?:to\b|who (?:must|has to|should))",
    r"\b(?:there|it) (?:must|needs? to|has to|ought to|should) be (?:a|an|some|two|three|no|one|somebody|someone)\b",
    rf"{_PS} (?:will|would|may|might|could) (?:well |also |surely |probably |really |now )?(?:want|like|wish|do well|do better|do best|be (?:well )?advised|be wise|be smart|be right|be better off) to\b",
    rf"{_PS} (?:could|might|may|can) (?:well |perhaps |maybe )?(?:usefully|profitably|sensibly|reasonably|at least|easily enough|be (?:persuaded|asked|invited|encouraged|convinced|urged) to)\b",
)

# appraisals of an action ----------------------------------------------------------------------------------------------------
_GOOD: Final = (
    r"(?:good|better|best|wise|wiser|wisest|sensible|prudent|advisable|preferable|desirable|fair|fairer|fairest|safer|safest|simpler|simplest|smart|smarter|"
    r"smartest|sound|sounder|soundest|reasonable|kinder|kindest|decent|proper|right|correct|obvious|natural|logical|ideal|optimal|helpful|useful|beneficial|worthwhile|"
    r"worth|important|essential|crucial|vital|imperative|necessary|urgent|appropriate|cleaner|cleanest|practical|promising|stronger|strongest|neatest|shortest|gentler|"
    r"gentlest|healthier|responsible|clever|cleverer|cleverest|easiest|quickest|surest|sanest|nicest|only sensible|most \w{1,16}|more (?:sensible|prudent|practical|promising|reasonable|useful|natural))"
)
_PROMPT: Final = r"(?:course|move|step|way out|way forward|way to|way here|way through|path|option|choice|thing|solution|approach|arrangement|order|sequence|idea|policy|remedy|fix|bet|start|starting point|candidate|compromise|plan|response|tactic|habit|beginning|place to|moment to|moment for|time to|time for|point to|gesture|precaution|bargain|deal|investment)"
_IS: Final = (
    r"(?:is|are|seems?|looks?|remains?|would be|might be|may be|could be|will be|must be|would seem|would have been)"
)
_APPRAISALS: Final = (
    rf"\b(?:the|a|an|one) {_GOOD} {_PROMPT}(?: (?:here|now|of all|forward|out|by far))?(?: (?:for|that|to|of|in|with|open to|left|{_P}|they|anyone)[^.;,\n]{{0,50}}?)? {_IS}\b",
    rf"\b{_IS} (?:{_ADVERB}){{0,2}}(?:the|a|an) (?:[a-z]{{1,16}}ly |far |by far |much )?{_GOOD} {_PROMPT}\b(?! (?:for P\d\d's|of P\d\d))",
    rf"\bit(?: {_IS}|['’]s|['’]d be) (?:{_ADVERB}|also |quite |very |so |far |much |all the |only |probably |perhaps ){{0,2}}{_GOOD} (?:for (?!him|her|P\d\d, )[^.;,\n]{{2,30}} )?(?:to (?!{_P})|that\b|if\b|[a-z]{{1,16}}ing\b)",
    r"(?:^|[.;:—] ?)(?:better|best|safest|wiser|wisest|easier|simpler|simplest|fairer|fairest|good|smarter)(?: still| yet| of all)?,? (?:to|not|if|let|leave|keep|for|would|start|begin|ask|wait|have|give)\b",
    rf"\b(?:would|might|could|may|will) be (?:{_ADVERB}|much |far |a lot |all the )?(?:better|wiser|fairer|safer|simpler|kinder|smarter|easier)(?: for (?:everyone|everybody|all|both|the)[^.;,\n]{{0,20}})? (?:if|to|for|off|when|that)\b",
    r"\b(?:is|are|would be|might be|could be|may be|looks?|seems?) (?:[a-z]{1,16}ly |well )?worth (?!nothing|anything|something|an? (?:[a-z]{1,16} ){0,2}(?:hour|day|week|fortnight|month|season|year|wage|fortune)s?\b)(?:[a-z]{1,16}ing|a |an |the (?:try|effort|call|trip|money|trouble|time)|it\b|considering|another)",
    r"\bworth (?:trying|pursuing|exploring|considering|a try|a look|a call|a visit|asking)\b",
    r"\b(?:seems?|looks?|feels?|appears?)(?: to be)?(?: like)? the way (?:to go|forward)\b|\b(?:is|are|seems?|would be) (?:clearly |simply |surely )?the (?:one|ones|thing|person) (?:to|who should|that should)\b",
    r"\b(?:is|are) (?:clearly |plainly |urgently |really |sorely |long |now )?(?:called for|overdue|the order of the day|of the essence|not to be missed|well spent)\b",
    r"\bdeserves? (?:to (?:be|have|get|happen|come|hear|know)|an? (?:answer|hearing|chance|try|trial|reply|visit|call|second)|preference|priority|precedence|attention|consideration|better|the)\b",
    r"\bhas no business\b|\b(?:a pity|a shame|a waste|a mistake|wrong|foolish|unwise|risky|reckless) (?:not |now )?(?:to (?:let|leave|wait|do|go|start|sign|put|make|give|ignore|keep|lose|miss|use|have|not)|if (?:it|this|that|they|P\d\d))\b",
    r"\b(?:no|little|not much|hardly any|not any|every|good|any) (?:good |real |great )?(?:reason|point|sense|harm|cause|call|excuse) (?:for|in|not|why|to)\b(?=[^.;\n]{0,60}\b(?:to|not|[a-z]{1,16}ing)\b)",
    r"\bnothing (?:speaks against|is lost by|would be lost by|stands in the way of|wrong with|to lose by|prevents|keeps P\d\d from|stops)\b [^.;\n]{0,50}[a-z]{1,16}ing\b|\bgo (?:right )?ahead\b",
    r"\b(?:perhaps|maybe|surely|clearly|now|so|then|it is|it's|it’s|high|about) (?:it is |it's |it’s )?(?:high |about |the |now |also )?time (?:to|for|that|the|P\d\d|they|someone|somebody|everyone|everybody|we)\b",
    r"\b(?:makes?|would make|might make|could make|makes? far|made) (?:a lot of |a lot more |much |more |most |good |perfect |better |every |the most )?sense (?:to|for|if|that|in)\b",
    r"\b(?:would|might|could|may|should|will) (?:[a-z]{1,16}ly |well |also |a lot |a great deal ){0,2}help (?:a lot |greatly |enormously |matters |everyone |everybody |things )?(?:if|to|for|when)\b",
    r"\b(?:the (?:sooner|earlier|quicker|shorter|simpler|fewer),? the better|sooner is better|better sooner than later|sooner rather than later|better safe than|better late than)\b",
    rf"\bthe (?:key|lesson|moral|upshot|conclusion|goal|aim|first task|first thing|main thing|priority|point) (?:here |now |then )?(?:is|would be|must be) (?:to|that (?:{_P}|they|someone))\b",
    r"\b(?:is|are) (?:best|better) (?:[a-z]{1,14}ed|left|kept|done|given|told|put|held|made|placed|handled|spent|sent|sold|built|bought|with|off)\b",
    r"\b(?:is|are|seems?|would be|looks?|remains?) (?:the |probably |clearly |surely |still |perhaps |by far |by far the ){0,3}(?:safest|wisest|fairest|simplest|kindest|soundest|most sensible|most prudent|advisable|preferable)(?: of all| here| now| by far| for everyone| for all)?[.!]?\s{0,4}$",
    r"\b(?:would work (?:out )?(?:best|far better)|works out (?:best|most [a-z]{1,16}ly|better))\b|\b(?:idea|plan|proposal|suggestion) (?:to be (?:put|followed|taken|adopted|tried)|that deserves|well worth)\b",
    r"(?<!has )(?<!have )(?<!sees )(?<!saw )(?<!would be )(?<!could be )(?<!then )\bno (?:earthly |real )?need (?:for|to|of) (?!P\d\d)",
    r"\brather (?:have|see|let) P\d\d\b",
)

# questions that advise --------------------------------------------------------------------------------------------------------
_QUESTIONS: Final = (
    r"\bwhy (?:not|don't|don’t|doesn't|doesn’t|does|do|should|shouldn't|can't|couldn't|wouldn't|isn't|aren't)\b(?! (?:the record|this|it) )(?=[^?\n]{0,160}\?)(?=[^?\n]{0,60}(?:\bnot\b|n't|n’t|simply|just))",
    r"\b(?:how|what) about (?:[a-z]{1,16}ing\b|an? |the |if |P\d\d)(?=[^?\n]{0,160}\?)|\bwhat if (?:P\d\d|they|we|you|everyone|the|both|all|one|someone|somebody|instead)\b(?=[^?\n]{0,160}\?)",
    rf"(?:^|[.;:,—] ?)(?:and |so |but )?(?:could|can|would|will|should|is|are|does|do|must|need|might|may){_NOT} (?:it|this|that|there|{_PS}|they|we|you|the|both|one|someone|somebody|everyone) [^?\n]{{2,160}}\?",
    rf"(?:^|[.;:,—] ?)(?:and |so |but )?(?:could|can|would|should|might|must) (?:{_PS}|they|we|you|both|one|someone|somebody|everyone|the (?:group|two|others|team)) (?:not|simply|just|perhaps|maybe|at least|instead|be (?:persuaded|asked|moved))\b[^?\n]{{2,160}}\?",
    r"\b(?:so |then |and )?why (?!is\b|was\b|are\b|were\b|did\b|does\b|do\b|has\b|have\b|had\b|would\b|P\d|the\b|it\b|this\b)[a-z]{1,16}(?: [a-z]{1,16}){0,6}\?",
    rf"\b(?:may|might|could|can|shall) (?:I|we|one) (?:suggest|propose|recommend|ask|invite|remind|add|urge|encourage)\b|\bshall (?:we|they|{_P})\b",
    r"\bwho (?:better|else) (?:than|but|could|to)\b",
)

# advice in a low voice ----------------------------------------------------------------------------------------------------------
_SOFT: Final = (
    rf"{_PS} need(?: not|n't|n’t) (?!be\b|go\b|have\b|pay\b)[a-z]{{1,16}}|\b(?:is|remains) (?:clearly |really |surely )?(?:a|the|one) (?:task|job|matter|case|business|errand|question) for {_P}",
    r"\bplease[.!]?\s{0,4}$|\bover to (?:you|P\d\d)\b|\bcan(?:'t|’t|not) go (?:far )?wrong\b|\b(?:can|could)(?: not|n't|not) do better than\b|\b[a-z]{1,16}ing [^.;,\n]{2,50} (?:beats|is better than|would beat) [a-z]{1,16}ing\b",
    r"\bis (?:surely |probably |simply |clearly )?the (?:answer|solution|remedy|cure)(?: here| to this)?[.!]?\s{0,4}$|\bthe only (?:fair|sensible|decent|sane|honest|safe|reasonable|practical|right) (?:way|thing|course|solution|answer|choice|arrangement)\b",
    r"\bwhat (?:matters|counts)(?: most| now| here| first| above all| right now){1,3} (?:is|would be)\b|\bwhat (?:is|are) (?:P\d\d|they|everyone|the (?:group|two|others)) waiting for\b",
    r"\b(?:people|one|everyone|everybody|someone|somebody|anyone|the (?:group|team|committee|neighbou?rs|parents|families|households|members)|those involved) could (?:[a-z]{1,16}ly |also |just |first |simply |well )?(?:begin|start|agree|consider|try|take turns|ask|pool|write|bring|put|meet|talk|vote|decide|think about|look into|settle)\b",
    rf"\b(?:perhaps|maybe|ideally|preferably|surely|in the meantime|meanwhile),? {_PS} (?:could|might|should|can|would|ought to|may want to) (?:{_ADVERB})?(?!be meaning|have meant|mean\b|already)[a-z]{{1,16}}",
    rf"{_PS} (?:could|might) (?:{_ADVERB}){{0,1}}(?!be\b|have\b|mean\b|also mean|not\b|lose\b|already\b|need\b)[a-z]{{1,16}} [^.;\n]{{0,60}}\b(?:instead|for (?:now|a (?:while|trial|start))|in the meantime|to begin with|to start with|first of all|as a first step|as a start)\b",
    rf"\b(?:all|the only thing) (?:that )?(?:{_PS}|they|it|anyone|is|that is) (?:has|have|needs?|takes|needed|left)(?: to do)?[^.;\n]{{0,30}} (?:is|would be) (?:to |for |a |an |that )?[a-z]{{1,16}}",
    rf"\b(?:{_PS}|they|one|anyone) (?:need|needs) only [a-z]{{1,16}}|\b(?:is|are) (?:strongly |kindly |warmly |urgently |hereby )?(?:encouraged|urged|advised|invited|asked|requested|reminded) to\b(?! by)(?=[^.;\n]{{0,80}}$)",
    r"\b(?:one|another|a further|the other|a second|a third|a good|a simple) (?:option|possibility|way out|idea|approach|avenue|thing to try|route) (?:worth|would be|might be|could be|is (?:to|for|that)|to try|to consider)\b",
    rf"\b(?:I|we|one|anyone) (?:can )?only (?:hope|wish|urge)\b|\bif only {_P}\b|\blet (?:it|that|this|them) be\b",
    r"\bdraw(?:ing)? lots\b(?=[^.;\n]{0,20}\bwould (?:settle|end|save|spare))|\bthe (?:ball|move|next word|first word) is (?:in|with|P\d\d)",
)

RECOMMENDS: Final = (*_ORDERS, *_PERSONS, *_DUTIES, *_APPRAISALS, *_QUESTIONS, *_SOFT)
