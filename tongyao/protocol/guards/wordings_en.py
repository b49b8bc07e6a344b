"""English wordings that advise, judge or take some aside (docs/guards.md). Pure.

Written from the `dev` half of the labelled statements beside the tests and from a grammar of English advice: modals with an
agent, orders, and set phrases. Every gap in a pattern is bounded.
"""

from __future__ import annotations

from typing import Final

_P: Final = r"(?<![A-Za-z0-9/])P\d{2}(?![\d/])"
_AGENT: Final = (
    rf"(?:{_P}(?:(?:, | and | or |, and ){_P}){{0,4}}|they|we|you|one|both(?: of them)?|everyone|everybody|someone|somebody|"
    r"(?:the|these|those|all|both|each|every|this) (?:[a-z'’-]+ ){0,3}?(?:group|team|crew|committee|council|board|members?|participants?|"
    r"residents?|tenants?|parents?|neighbou?rs?|growers?|farmers?|others?|two|three|four|five|archive|school|village|choir|club|"
    r"co-?op(?:erative)?|association|library|workshop|households?|families|volunteers?|people|partners?|parties))"
)
_WAY: Final = r"(?:also|now|then|first|simply|just|easily|directly|perhaps|usefully|always|well|even|instead|at least|in turn|together|only|jointly|quietly|safely)"

_VERB: Final = (
    r"(?:accept|add|adopt|agree|allow|appoint|approach|arrange|ask|assign|avoid|begin|book|borrow|bring|build|buy|call|cancel|change|check|"
    r"choose|circulate|collect|combine|come|commit|compare|confirm|consider|consult|contact|continue|coordinate|count|create|decide|"
    r"delay|delegate|deliver|divide|do|draft|draw up|drop|engage|establish|exchange|explain|explore|extend|fetch|fill|find|finish|fix|focus|"
    r"follow|forget|form|gather|get|give|go|hand|hire|hold|host|inform|install|introduce|invest|invite|involve|join|keep|label|launch|"
    r"lead|leave|lend|let go|list|look|make|meet|merge|move|negotiate|offer|open|order|organi[sz]e|pair|pass|pay|phone|pick|plan|pool|"
    r"postpone|prepare|print|prioriti[sz]e|publish|put|raise|reach|record|reduce|remind|remove|rent|repair|replace|request|reserve|revisit|"
    r"ring|run|say|schedule|secure|see|seek|select|sell|send|set|settle|share|show|sign|sit down|skip|sort|speak|spend|split|start|"
    r"stay|stick|stop|store|submit|swap|switch|take|talk|team|tell|test|think|train|transfer|trial|try|turn|update|use|visit|wait|walk|"
    r"withdraw|work|write)"
)
_OBJECT: Final = (
    r"(?=,? (?:the|a|an|all|both|each|every|this|that|these|those|it|them|one|two|three|any|some|no|what|who|whatever|whoever|when|"
    rf"up|out|down|off|with|by|from|only|first|everyone|everybody|everything|nothing|your|their|his|her|its|ahead|back|{_P}|[a-z]+ing )\b|"
    rf" {_P})"
)
_ORDER_VERB: Final = (
    r"(?:accept|add|adopt|agree on|allow|appoint|approach|arrange|ask|assign|avoid|begin|book|borrow|bring|build|buy|call|cancel|change|check|choose|"
    r"circulate|collect|combine|compare|confirm|consult|contact|coordinate|count|create|decide|delay|delegate|deliver|divide|do|don't|do not|draft|"
    r"draw|drop|ensure|establish|exchange|explore|extend|fetch|fill|find|finish|fix|focus|follow|forget|form|gather|get|give|go|hand|hire|hold|"
    r"inform|install|introduce|invest|invite|involve|join|keep|label|launch|leave|lend|let|list|look|make|measure|meet|merge|move|name|never|"
    r"offer|open|order|organi[sz]e|pair|pass|pay|phone|pick|plan|pool|postpone|prepare|print|prioriti[sz]e|publish|put|raise|reach|record|"
    r"reduce|remember|remind|remove|rent|repair|replace|request|reserve|revisit|ring|run|schedule|secure|see|seek|select|sell|send|set|settle|"
    r"share|show|sign|skip|sort|speak|spend|split|start|stick|stop|store|submit|swap|switch|take|talk|tell|test|think|train|transfer|trial|"
    r"try|turn|update|use|visit|wait|walk|withdraw|work|write)"
)
_BEGINS: Final = r"(?:^[\s>*#•\-–—\d.)\]]*|[:;—–] ?)"
_VOCATIVE: Final = rf"(?:{_P}(?:(?:, | and ){_P})?, )?(?:please,? |first,? |then,? |next,? |so,? |and |perhaps |now,? |instead,? |meanwhile,? |by all means,? )?"

_DEALING: Final = (
    r"(?:talk|talks|speak|say|said|settle|settled|agree|agreed|decide|decided|discuss|discussed|arrange|arranged|resolve|resolved|negotiate|"
    r"clear|cleared|sort|sorted|iron|work (?:it|this|that|things|something)? ?out|patch|handle|handled|keep|kept|stay|stays|remain|remains|left|"
    r"leave|conversation|word|words|call|chat|meeting|letter|message|phone|matter|business|secret|rest is|best|confidence)"
)
"""Verbs and nouns of speaking and settling: with them `between them` names who talks, without them who or what is in the middle."""

RECOMMENDS: Final = (
    # orders
    rf"{_BEGINS}{_VOCATIVE}(?!do (?:{_P}|[a-z]+)[^?\n]{{0,160}}\?)(?!(?:let|put|set|cut|read|split|spread|run) (?:out|up|off|down|by|with|from)\b[^.;\n]{{0,60}}, ){_ORDER_VERB}\b{_OBJECT}",
    rf"(?:^|[.:;—] ?)(?:rather|instead) (?:than|of) [^.;\n]{{3,90}}, {_ORDER_VERB}\b{_OBJECT}",
    rf"^[^.;:\n“\"]{{3,90}}, (?:{_P}, )?(?:then |and |so |just |please )?(?:set up|pick|ring|book|call off|drop|leave it|get|take it|keep it|send) (?:the|a|an|one|it|them|{_P})\b(?! (?:is|was|are))",
    r"^[A-Z][^.;:\n]{3,80}; (?:set|pick|ring|book|call|drop|leave|get|take|keep|send|give|put|ask|let)\b",
    # an agent who could, might, should
    rf"{_AGENT} (?:(?:could|might|may|can) (?:{_WAY} )?(?:want|wish|like|consider|try|usefully|do worse|do better|profitably)|would do (?:well|better)|had best|'d best)\b",
    rf"{_AGENT} (?:could|might|can) (?:simply|just|usefully|easily|always|perhaps|well|as well|profitably) {_VERB}\b",
    rf"\b(?:perhaps|maybe|ideally|preferably|why not|surely)[, ]+(?:{_P}|they|the (?:two|group)|everyone|both)[^.;\n]{{0,30}}? (?:could|might|should|can|would|to) (?:{_WAY} )?{_VERB}\b",
    rf"{_P}(?: and {_P})? (?:could|might) (?:{_WAY} )?(?:{_VERB})\b(?=[^.;\n]{{0,80}}\b(?:first|before|so that|instead|in exchange|in return|for a (?:month|week|trial|season)|this (?:week|month|year)|next (?:week|month|round)|and (?:then )?{_VERB})\b)",
    rf"\b(?:just|only|simply) needs? to {_VERB}\b|\bneeds? only (?:to )?{_VERB}\b",
    rf"\ball (?:that )?(?:remains|is left|it takes|that is needed|is needed|there is to do|{_P} (?:has|needs) to do)[^.;\n]{{0,20}} is (?:for|to|that)\b",
    r"\b(?:should|ought to) (?:now |first |also |be (?:given|asked|put|moved|sent|made|taken|told|invited|merged|shared|held|kept|the first|left|used|brought|handed|split|signed|written|settled|postponed))\b",
    # comparisons and appraisals of an action
    r"\bbetter off [a-z]+ing\b|\b(?:is|are|seems?|would be) (?:the )?best (?:placed|positioned|suited|left|handled|told|kept|done|served) (?:to|by|in|with|if|when|off|for)\b",
    r"\b(?:is|are) best (?:placed|positioned|suited|left|handled|told|kept|done)\b",
    r"\bcould do (?:a lot |far |much )?worse than\b|\bmight do worse than\b|\b(?:wouldn't|would not|won't|cannot|can't|couldn't) (?:hurt|harm|do any harm) (?:for|to|if)\b",
    r"\b(?:it )?(?:might|may|would|could|will) (?:really |well |also |greatly )?help (?:if|to|matters)\b(?! [^.]{0,40}\bsays\b)",
    r"\b(?:would|could|might|may) be (?:well )?worth (?:[a-z]+ing|a (?:try|look|visit|call|trial|test)|the (?:effort|trouble|time))\b",
    r"\b(?:would|could|might|may) be (?:a |an |the )?(?:\w+ ){0,2}?(?:first (?:move|step)|next (?:move|step)|good (?:start|idea|way|move|time|moment|plan|place)|sensible (?:\w+ )?|obvious (?:\w+ )?|natural (?:\w+ )?|prudent|advisable|safest|simplest|wise|wiser|fairest|gentlest|kindest)\b",
    r"\b(?:would (?:it )?not|wouldn't it|isn't it|is it not) (?:be )?(?:simpler|better|easier|wiser|safer|fairer|time|more sensible)\b",
    r"\b(?:no|little|not much|hardly any|no good|no real) (?:good |real |earthly )?(?:reason|point|sense|use|need) (?:for|in|not|why|to)\b[^.;\n]{0,60}\b(?:to |ing\b|go on|keep)",
    r"\b(?:high |about |past )time (?:that |for |to |the |P\d{2}|they|everyone|somebody|someone|we)\b|\bnow is the (?:time|moment)\b|\bthe (?:time|moment|hour) (?:has|is) (?:come|ripe|right|here|now)\b",
    r"\bthe (?:thing|trick|way|task|answer|solution|cure|remedy|move|job) (?:now |here |to do )?(?:is|would be|must be) (?:simply |just |surely |clearly )?(?:to |a |an |for |[a-z]+ing )",
    r"\bthe (?:thing|one|option|route|candidate|plan|version) to (?:do|go for|go with|choose|take|pick|back|try|adopt|follow)\b",
    r"\b(?:is|are) the one (?:to|that should)\b|\bnothing beats\b|\bthe sooner the better\b|\bbe done with it\b|\bwhile it stands\b|\bgo for it\b",
    r"\bthe (?:plain|obvious|only|natural|logical|clear|inescapable|inevitable|practical|sensible) (?:conclusion|answer|solution|course|choice|consequence|step|thing|way|response|remedy|plan|arrangement|place|sequence|order)\b",
    r"\b(?:points?|pointing) (?:in|to) (?:only )?(?:one|a single|the same) (?:direction|conclusion|answer)\b",
    r"\bthe (?:right|best|correct|proper|sensible|smart|wise|fair|safe|cheapest|quickest|simplest|easiest|cleanest) (?:order|way|place|time|person|people|thing|move|course|choice|sequence|answer|approach|arrangement|tool|solution|step|option|plan|fix|route)\b(?! (?:for|of) (?:light|size|weight))",
    r"\b(?:first|top|number one|highest|main|chief) priority\b|\bpriority (?:number )?(?:one|two|1|2)\b|\bpriority (?:is|should|must|belongs|goes)\b|\b(?:must|should|has to|needs to) come first\b",
    r"\bwhat (?:this|the (?:group|room|project|matter|situation)|everyone|everybody) (?:really |actually |now )?needs? (?:next |now |first )?(?:is|here is)\b|\bwhat P\d{2} (?:really |actually )?needs (?:next|now|first) is\b",
    r"\bwhat (?:remains|is needed|is called for|is wanted|has to happen|must happen)(?: now| next| here| first)? is\b|\bthe next (?:step|move|thing)\b",
    r"\b(?:my|our|the catalyst's|one) (?:advice|recommendation|suggestion|proposal|counsel|preference|vote|tip|hint)\b(?! (?:that )?P\d{2} (?:mentions|gave|made))",
    r"\b(?:I|we)(?:'d| would| do| can| should| could)?(?: \w+)? (?:recommend|suggest|propose|advise|urge|encourage|favou?r|prefer|vote|plead|opt|go with|back|lean|see P\d{2})\b",
    r"\bit (?:is|would be|might be|may be|seems) (?:\w+ )?(?:wise|wiser|prudent|sensible|advisable|better|best|worth|important|essential|crucial|vital|imperative|desirable|preferable|necessary|helpful|useful|reasonable|safer|simpler|fairer|only fair|only right) (?:to|that|for|if|[a-z]+ing)\b",
    r"\bneeds? to (?:be put off|be called off|step (?:in|up|back|aside)|let go|make (?:a|up) (?:decision|their mind))\b|\bhas to give way\b|\blet go of\b",
    r"\b(?:so|therefore|hence|thus|which means|meaning)\b[^.;\n]{0,40} (?:belongs? (?:on|in|with|to)|goes? (?:on|to|with|first)|should|ought to|must go|is to go|are to go) ",
    r"\bsomebody (?:has to|must|should|needs to|ought to)\b|\bsomeone (?:has to|must|should|needs to|ought to)\b|\bone of (?:them|you|the two) (?:has to|must|should|needs to|ought to)\b",
    rf"(?:^|[.;:,] ?)(?:let|have|get) (?:{_P}|the (?:two|others|group|committee))\b[^.;\n]{{0,40}}\b(?:{_VERB})\b",
    rf"\b(?:leave|hand|give|entrust|assign|pass) (?:this|that|it|the \w+(?: \w+)?) (?:over )?to {_P}\b",
    rf"{_P} (?:is|are) (?:the )?(?:obvious|natural|logical|right|ideal|clear) (?:person|one|choice|candidate|lead|host|chair|partner|coordinator)\b",
    rf"{_P} (?:takes|to take|to lead|leads|chairs|to chair|coordinates|to coordinate|handles|to handle) (?:over |on |care of |charge of )?(?:the|this|all|both)[^.;\n]{{0,60}}\b(?:and|while|with) {_P} (?:takes|does|handles|helps|assists|follows|brings|fires|keeps|provides|to)\b",
    rf"\b(?:chaired|led|coordinated|run|hosted|moderated|headed) by {_P}\b(?=[^.;\n]{{0,40}}$)",
    r"\b(?:is|are) (?:well )?advised to\b|\bis (?:strongly |hereby )?(?:recommended|advised|suggested|urged|encouraged|proposed)(?: that| to|\.|$)",
    r"\b(?:would|it) (?:pays?|pay) (?:off )?to\b|\bmakes? (?:more |most |good |perfect |little |no )?sense (?:to|for|if)\b|\bdeserves? (?:a try|to be tried|priority)\b|\bgive it a (?:try|go)\b",
    rf"\b(?:if|as) I were {_P}\b|\bin {_P}'s (?:place|shoes)\b|\bif it were up to (?:me|us)\b",
    rf"(?:^|[.;:] ?)(?:could|can|would|will|might) {_P}\b[^?\n]{{2,160}}\?",
    # orders after a phrase of time or condition, and negative orders
    rf"^(?:by|before|until|after|on|from|for|with|in|at|during|over|instead of|once|when|as soon as|if|while|given|since|to)\b[^.;:\n“\"]{{2,110}}, (?:please |just |simply |at least )?{_ORDER_VERB} (?:the|a|an|all|both|this|that|these|those|it|them|one|two|everyone|everybody|{_P})\b(?! (?:is|was|are|were|has|have)\b)",
    rf"{_BEGINS}{_VOCATIVE}(?:don't|do not|never|always|kindly|no more) [a-z]+",
    r"^(?:hands off|over to|time to|time for|first things first|enough (?:talk|of)|no more|from now on|going forward|better (?:to|safe|late|still|yet)|best (?:to|if|of all)|safest (?:to|is)|why not|how about|what about|what if|suppose|imagine|may (?:I|we) suggest|might (?:I|we) suggest|if (?:I|we) may)\b",
    r"\b(?:no-brainer|no harm in|might as well|may as well|nip (?:it|this|that) in the bud|strike while|the ball is in|food for thought|long overdue|overdue for|cries out for|calls for (?:a|an|the|some)|begs for|screams for|can wait|cannot wait|can't wait|do the trick|kill two birds|the rest (?:can|will) follow|as a matter of urgency|without (?:further )?delay|straight ?away|right away|once and for all|the way to go|way forward|step in the right direction|good place to (?:start|begin)|where to (?:start|begin))\b",
    r"\bit (?:falls|is up|is down) to P\d{2} to\b|\b(?:is|are) (?:expected|encouraged|invited|urged|asked herewith|kindly asked|welcome) to\b(?=[^.;\n]{0,60}$)|\bwould be grateful if\b|\bby all means\b",
    rf"{_AGENT} (?:would|will) (?:do|be) (?:best|wise|well advised|smart|right) to\b|{_AGENT} (?:is|are) (?:well placed|in the best position|the best (?:one|person)s?) to\b|{_AGENT} (?:deserves?|has earned|have earned) (?:the|a|this|first)\b",
    rf"{_P} (?:goes|comes) first\b|\b(?:the|this) (?:job|task|role|seat|chair|lead|key|floor|slot|contract|money|budget) (?:should|must|ought to|belongs|goes|has to go|is best) (?:to|with|left|given|by)?\b",
    rf"\b(?:if|since|because|as|now that|given that) [^.;\n]{{4,120}}, (?:then )?(?:{_P}|they|the two|both|everyone|the group) (?:should|ought to|must|had better|need to|needs to|has to|might as well|could (?:simply|just|well))\b",
    r"\b(?:recommend|suggest|propose|advise|urge)(?:ing|ed)? (?:here|now|therefore|instead)\b|\b(?:recommended|suggested|proposed|advised) (?:course|order|way|plan|step|sequence|approach|arrangement|split|solution)\b|\brecommendation (?:here )?is\b",
    r"\b(?:cheap|easy|quick|simple|small|good|obvious|natural|sensible|wise|smart|clever|prudent) (?:first |next )?(?:move|win|fix|step|start|gesture|precaution|investment|compromise|bargain|idea)\b",
    r"\b(?:a pity|a shame|a waste|foolish|silly|unwise|reckless|a mistake|madness|rash) (?:not )?(?:to|if|for)\b",
)

ALONE: Final = (
    r"\b(?:private|quiet|confidential|discreet|personal) (?:conversation|talk|call|chat|meeting|word|channel|exchange|message|note|coffee|dinner|lunch|walk|line|letter)\b",
    r"(?<!met )(?<!spoke )(?<!talked )(?<!agreed )(?<!owned )(?<!lives )(?<!had )(?:\b(?:in|strict(?:est)?) (?:confidence|private)\b|\bprivately\b(?! (?:owned|held|run|funded|insured))|\bconfidentially\b|\bdiscreetly\b)|\btête-à-tête\b|\b(?:one|1)[- ](?:to|on)[- ](?:one|1)\b|\b1[:-]1\b",
    r"\bface to face,? (?:and )?not (?:here|in (?:the|this))\b|\bnot (?:here|in front of (?:everyone|everybody|the (?:others|group|rest)))(?:[.,;]|$)",
    r"\b(?:seen|read|heard|known|shared) by (?:nobody|no one|none) else\b|\bbetween (?:just the two|you two|us)\b|\bbetween (?:themselves|them|the two|those two)(?: of them)? (?:first|alone|only)\b",
    rf"\b{_DEALING}\b[^.;\n]{{0,60}}(?<!difference )\bbetween (?:the two|themselves|those two|them)\b(?! [a-z]*(?:farm|house|building|place|village|town|site|street|room|yard|van|field)s?\b)",
    r"\b(?:others?|rest|group|other members|remaining (?:members|participants)|everyone else|everybody else|anyone else|anybody else|no one else|nobody else)\b[^.;\n]{0,30} (?:need not|needn't|do(?:es)? not (?:need|have) to|don't (?:need|have) to|doesn't (?:need|have) to|has to|needs to|should|must) ?(?:not )?(?:be (?:there|present|involved|told|copied|asked|in the room|included)|know|hear|attend|join|see|read|find out)\b",
    r"\bwithout (?:the (?:others|rest|group|other \w+|whole (?:group|room))|(?:telling|involving|asking|informing|copying|an audience|everyone|everybody|anyone else|witnesses)\b)",
    r"\b(?:before|until) (?:the (?:group|others|rest|room|whole group)|everyone(?: else)?|everybody(?: else)?|anyone else) (?:hears?|knows?|sees?|learns?|finds? out|is told|are told|gets? wind|reads?)\b",
    r"\b(?:on|among|between|amongst) their own\b(?=[^.;\n]{0,20}$)|\b(?:sort|work|settle|talk|discuss|clear|iron|hash|thrash|agree)[^.;\n]{0,50} (?:between|among|amongst) (?:themselves|the two of them|them alone|just them)\b",
    r"\bjust the two of (?:them|you|us)\b|\bthe two of them (?:alone|only|apart)\b|\bonly the two of\b|\bsettle [^.;\n]{3,50} on their own\b",
    r"\b(?:separate|side|direct|closed|bilateral|back) (?:call|meeting|conversation|talk|discussion|channel|session|chat|thread|line)\b|\bback-?channel\b|\bbehind closed doors\b|\bbilateral(?:ly)?\b|\bdirect message\b|\b(?:by|via|per) DM\b|\boff the record\b|\bout of earshot\b",
    r"\b(?:away from|outside|apart from|off) (?:the (?:group|others|list|rest|thread|room|record|forum|common table|round))\b(?=[^.;\n]{0,40}$)|\btake (?:this|that|it|the (?:matter|question|rest|dispute)) (?:offline|aside|elsewhere|outside)\b|\bgo aside\b|\bstep (?:aside|outside)\b",
    r"\b(?:exchange|swap|trade) (?:phone |telephone |mobile )?(?:numbers|contacts|contact details|addresses|e-?mails)\b",
    rf"\b(?:tell|told|mention|say|whisper|show|confide|admit|explain|raise|disclose)[a-z]*\b[^.;\n]{{0,50}} (?:to |with )?(?:{_P}|them|her|him) (?:alone|only|in person|quietly)\b",
    rf"{_P} (?:and|with) {_P} (?:alone|by themselves|on their own|in person,? (?:without|away))\b",
    rf"\b(?:take|taking|took|pull|pulling|draw|drawing) (?:{_P}|her|him|them|the other) (?:aside|apart|to one side)\b|\b(?:have|having) a (?:quiet |private |brief |short )?word with\b|\b(?:sound|sounding) (?:{_P}|her|him|them) out\b|\bslip (?:{_P}|her|him|them) (?:a|the)\b",
    r"\bover (?:a |some )?(?:coffee|tea|beer|dinner|lunch|drink|a drink|a meal|breakfast)\b|\bin the (?:corridor|car park|kitchen|hallway|stairwell)\b(?=[^.;\n]{0,30}$)|\bkeep (?:this|it|that|the matter) (?:between|from|to (?:themselves|yourselves))\b|\b(?:for|not for) (?:P\d{2}(?:'s|’s)|the group's|everyone's|other|all) (?:eyes|ears)\b",
    r"\b(?:leave|leaving|keep|keeping) (?:the (?:others|rest|group)|everyone else|everybody else) out\b|\boff[- ](?:list|thread|line|stage|the list|the thread)\b|\b(?:by|over the|on the) (?:phone|telephone)\b[^.;\n]{0,40}\b(?:rather than|not|instead of|before|without (?:the|telling|asking|involving|any(?:one|body))|alone|only)\b|\bpre-?meeting\b|\bmeet (?:first|beforehand|separately|alone|apart)\b|\bseparately from (?:the|everyone)\b|\bsmaller circle\b",
    r"\bno (?:need|reason) (?:for|to) (?:the (?:others|rest|group|whole (?:group|room))|(?:tell|involve|bother|trouble|copy|inform) (?:the|everyone|anyone))\b|\b(?:nobody|no one) else (?:needs?|has|ought|should) to\b|\bspare the (?:others|group|rest)\b",
    rf"\b(?:a|one) (?:word|call|e-?mail|letter|message|note|coffee|walk|chat|talk) (?:from {_P} (?:only )?to {_P}|between {_P} and {_P}|with just {_P})\b",
)

_TRAIT: Final = (
    r"(?:selfish|lazy|stubborn|greedy|careless|na[iï]ve|rude|arrogant|vain|timid|cowardly|impatient|disorgani[sz]ed|unreasonable|petty|stingy|"
    r"jealous|dishonest|untrustworthy|trustworthy|unreliable|reliable|inexperienced|incompetent|competent|amateurish|clumsy|ignorant|"
    r"clueless|immature|childish|wise|clever|smart|brave|generous|patient|dedicated|devoted|gifted|talented|brilliant|excellent|"
    r"outstanding|impressive|exceptional|remarkable|superb|mediocre|disappointing|evasive|self-serving|self-important|shallow|superficial|"
    r"sincere|insincere|diligent|hard-working|conscientious|unqualified|overqualified|unprofessional|professional|incapable|unsuitable|"
    r"unsuited|worthless|useless|admirable|skilful|skillful|unconvincing|hopeless|pathetic|obstinate|pig-headed|bossy|controlling|manipulative|"
    r"calculating|cynical|bitter|resentful|ungrateful|indecisive|spineless|hypocritical|pretentious|boastful|vague|slippery|short-sighted|"
    r"narrow-minded|closed-minded|out of (?:his|her|their) depth|difficult to work with|hard to work with|full of (?:himself|herself|themselves)|"
    r"overconfident|over-confident|unrealistic|irresponsible|responsible for the|thoughtless|thoughtful|inconsiderate|considerate|kind-hearted|"
    r"mean-spirited|cold-hearted|spoilt|spoiled|weak|strong|sloppy|slow-witted|dull|tactless|unfair|untidy|chaotic|scatterbrained|flaky|"
    r"dependable|steady|level-headed|mature|experienced enough|invaluable|indispensable|precious|a natural|a gem|a joy|a treasure|a star)"
)
_TRAIT_NOUN: Final = (
    r"(?:stubbornness|laziness|selfishness|greed|arrogance|vanity|carelessness|naivety|naïveté|cowardice|impatience|pettiness|jealousy|dishonesty|"
    r"incompetence|inexperience|ignorance|immaturity|hypocrisy|pride|ego|temper|bad faith|lack of \w+|indifference|thoughtlessness|generosity|"
    r"wisdom|brilliance|courage|diligence|dedication|integrity|honesty|reliability|professionalism|competence|talent|maturity)"
)

JUDGES: Final = (
    rf"{_P} (?:is|was|are|were|seems?|sounds?|appears?|comes across as|strikes \w+ as|has been|looks?|remains?)(?: to be| being| as)?(?: (?:simply|just|too|so|very|rather|quite|really|being|plainly|clearly|obviously|far|by far|a|an|the|bit|little|not|hardly|always|notoriously|frankly|something of|such|most|more|less|least|somewhat|also|both|merely|only)){{0,4}} {_TRAIT}\b(?! (?:in|to) (?:what|the sense))",
    rf"{_P}(?:'s|’s) (?:own |usual |sheer |typical |obvious |apparent |evident |well-known )?{_TRAIT_NOUN}\b|\bthe (?:\w+ )?{_TRAIT_NOUN} of {_P}\b",
    rf"\b(?:such|what) (?:a|an) {_TRAIT} \w+ (?:from|by|of) {_P}\b|\b{_TRAIT} (?:reply|answer|contribution|offer|message|attitude|behaviou?r|remark|response|suggestion|plan|proposal|idea|effort|work) (?:from|by|of|on the part of) {_P}\b",
    rf"{_P}(?:'s|’s) (?:\w+ )?(?:reply|answer|contribution|offer|message|attitude|behaviou?r|remarks?|response|suggestion|plan|proposal|idea|effort|work|refusal|demand|account|figures?) (?:is|are|was|were|seems?|sounds?|looks?|betrays?|shows?|smacks? of|reveals?) (?:\w+ ){{0,3}}(?:{_TRAIT}|typical|{_TRAIT_NOUN}|the (?:best|worst|weakest|strongest|poorest|finest)|better than|worse than|beneath|unworthy|a disgrace|an insult|not good enough|half-hearted|thin)\b",
    rf"{_P}[^.;\n]{{0,30}}\b(?:lacks?|has no|have no|without|hasn't the|has not the|does not have the|doesn't have the|shows no|has little|shows little)(?: (?:any|the|real|much|a))?(?: \w+)? ?(?:discipline|patience|stamina|nerve|will|maturity|judgement|judgment|seriousness|backbone|courage|imagination|tact|empathy|sense of|idea (?:of|what|how)|commitment|depth|competence|credibility|integrity|vision|temperament|brains|wits|character|ability|aptitude|talent)\b",
    rf"{_P}[^.;\n]{{0,60}}\b(?:prone to|typical of|means well but|hiding behind|hides behind|cares? (?:more|only|less|nothing|little)|only (?:thinks|cares|looks out)|never thinks|thinks only|not to be trusted|cannot be trusted|can't be trusted|to be trusted with|has no business|wasting (?:everyone|everybody|people|P\d{{2}})|a waste of|is to blame|are to blame|at fault|should be ashamed|ought to be ashamed|in it for|pulling (?:his|her|their) weight|pull (?:his|her|their) weight|up to the (?:job|task)|cut out for|fit to|unfit|deserves? (?:credit|praise|blame|better|respect|admiration|no|nothing|more|thanks)|head and shoulders|stands? out|outshines?|outclass(?:es)?|puts? the others to shame|knows? (?:nothing|little|best|better)|a born|the kind of person|one of those people|more interested in|afraid of (?:the work|hard work|responsibility|effort)|behav(?:es|ing|ed) like|playing the|acts? as if|act(?:s|ing) like|talks? (?:big|too much)|all talk|big words|empty words|lip service)\b",
    rf"{_P} (?:seems?|appears?) (?:to )?(?:care|think|believe|want|be)(?: \w+){{0,3}} (?:more about|only|above all|being right|attention|credit|applause|power|control)\b",
    rf"\b(?:nobody|no one|none of (?:the others|them)|few people)[^.;\n]{{0,40}} (?:as|than) (?:\w+ ){{0,2}}(?:as )?{_P}\b|\b(?:only|alone) {_P} (?:has|have|shows?|showed|behaves?|takes|took) (?:\w+ ){{0,3}}(?:serious|sense|like an adult|mature|grown-up|decency|courage)",
    rf"\b(?:thanks to|because of|due to|owing to|the fault of|blame) {_P}(?:'s|’s) {_TRAIT_NOUN}\b|\b(?:luckily|fortunately|sadly|regrettably|unfortunately)[^.;\n]{{0,40}} {_P} (?:is|was|has) (?:a|an|no|not|the)\b",
    rf"\b(?:count|rely|depend) on {_P}\b(?=[^.;\n]{{0,30}}$)|{_P} (?:can|could|cannot|can't|could not) (?:always |never |not )?be (?:relied|counted|depended) (?:up)?on\b|\blucky to have {_P}\b|\bwithout {_P},? (?:nothing|none|the group)\b|{_P},? of all people\b|\bno wonder (?:that )?{_P}\b",
    rf"{_P} (?:has|have) (?:a|an|the) (?:\w+ )?(?:gift|knack|talent|flair|way with|heart of|habit of|reputation for|good heart|big mouth|thick skin|short fuse|chip on)\b|{_P} (?:would|will|could) (?:make|be) (?:a|an) (?:\w+ )?(?:good|great|poor|bad|terrible|fine|excellent|ideal|splendid|hopeless|lousy|wonderful|dreadful)\b|{_P} (?:exaggerates|overestimates|underestimates|overreacts|whines|complains too|boasts|brags|shirks|dithers|bluffs|lies|sulks|grandstands|meddles|nags|preaches|talks too)\b|{_P} (?:will|would) never (?:manage|cope|learn|understand|finish|change|get)\b|{_P} (?:cannot|can't|couldn't) (?:handle|cope|manage|organi[sz]e (?:a|an)|be bothered|see past|think)\b|{_P} is (?:not|hardly|scarcely|barely) (?:ready|fit|the (?:right|person|one)|up to|cut out|made|someone|in a position to judge)\b",
    rf"{_P} is (?:a|an|the) (?:\w+ ){{0,2}}(?:liar|cheat|coward|fool|amateur|dilettante|bully|egoist|egotist|dreamer|gossip|troublemaker|hypocrite|saint|hero|genius|burden|liability|asset|treasure|troublesome|pushover|opportunist|freeloader|know-all|know-it-all|busybody|born \w+)\b",
)

NEUTRAL: Final = (
    # conditions and questions that are told, not answered
    r"^\W*(?:if(?! I were| I was)|should|were|had|unless|whether|that (?=(?:P\d\d|the|a|an|they|it|nobody|no one|all|both)\b)|provided|supposing)\b(?![^.;\n]{3,120}, (?:the (?:thing|best|right|obvious|only)|then (?:book|call|ask|take|start)|(?:P\d{2}|she|he|they|both|everyone),? (?:should|ought|needs)|and (?:she|he|they|P\d{2}) (?:should|ought)))",
    r"\b(?:nothing|nowhere|no (?:message|contribution|reply|item|part)|nobody|no one|none|neither|(?:has|have|had|is|was|were|does|did)(?: not|n't)|never)\b[^.;\n]{0,40}\b(?:says?|said|asks?|asked|states?|claims?|mentions?|suggests?|proposes?|recommends?|written|answered|wrote)\b",
    r"(?<!that is )(?<!this is )\b(?:what|who|which|when|where|how|whether)\b[^.;\n]{0,30}\b(?:anyone|anybody|one|somebody|P\d{2}|they|it|the \w+) (?:should|ought to|must|needs? to|has to)\b",
    r", (?:as )?(?:P\d{2}|she|he|they) (?:says|said|writes|wrote|adds|added|believes|thinks|reports|notes|puts|put|explains|tells)\b|, P\d{2}…\W*$|\b(?:almost |nearly )?(?:the same|identical|similar) words\b",
    r"\bis (?:a|the|one) (?:point|question|matter|sentence|condition|rule|fact|phrase|demand|request|wish)\b|\b(?:open|unanswered|undecided|unclear|disputed) (?:question|whether|if|who)\b",
    # rules and advice of somebody outside
    r"\b(?:the|a|an|his|her|their|one) (?:[a-z]+ ){1,2}(?:said|told|says|thinks|asked|wrote|insists|warned|warns|advised|demands|requires|demanded|ordered|decided)\b",
    r"\b(?:according to|by the terms of|under) (?:the|a|its|their|P\d{2}|\w+ (?:law|rules?|act))\b|\b(?:the|this|an?) (?:\w+['’]s |\w+ ){0,3}?(?:regulations?|statutes?|law|bylaws?|contract|lease|permit|leaflet|manual|letter|doctor|insurer|hospital|inspector|ministry|authority|statutes|notice|rules?|charter|recipe|book|code|standard|guidelines?) (?:\w+ )?(?:says?|requires?|recommends?|demands?|forbids?|asks?|prescribes?|stipulates?|allows?|states?|advises?|suggests?|that)\b",
    r"\b(?:by|in|on) P\d{2}(?:'s|’s) (?:own )?(?:account|words|reading|figures?|view|reckoning|estimate|description|admission|opinion|telling)\b|\bas P\d{2} (?:believes|says|puts it|sees it|writes|tells|describes|remembers)\b|\b(?:his|her|their) own (?:account|words|admission|description)\b",
    r"\b(?:used to|once|formerly|in (?:19|20)\d{2}|last (?:year|summer|winter|spring|autumn|month|week)|years ago|at the time)\b[^.;\n]{0,60}\b(?:should|ought|recommended|advised|suggested|private|alone)\b",
)
"""Frames in which the same wordings tell what somebody else said, asked or is bound to."""

_OWN_NEED: Final = r"(?!(?:see|know|hear|learn|find out|be told|have|get|reach)\b(?![^.;\n]{0,90}P\d{2}))"
"""Not after `needs to`: what somebody lacks for themselves, with nobody else in the clause."""

MAY_RECOMMEND: Final = (
    rf"(?<!only ){_AGENT} (?:(?:should|ought to|could|might|must|has to|have to) |needs? to {_OWN_NEED})(?:\w+ )?{_VERB}\b",
    rf"(?<!only )(?!{_P} can ){_AGENT} can (?:\w+ )?{_VERB}\b",  # "P03 can hold the van back" tells what somebody has said
    rf"\bshould\b|\bought to\b|\bneeds? to {_OWN_NEED}|\bhad better\b",
    r"\b(?:would|could|might|may) (?:be|prove) (?:\w+ ){0,2}(?:good|useful|helpful|ideal|possible|easier|simpler|faster|cheaper|better|worth\w*)\b",
    r"\b(?:worth(?!,| (?:nothing|less|more|little|much|about|\d|[£$€]|an? (?:[a-z]{1,16} ){0,2}(?:hour|day|week|fortnight|month|season|year|wage|fortune)s?\b))|better|best|ideal|advisable|sensible|wise|prudent|priority|solution|straight away|(?<!in )at once|as soon as possible|without delay)\b",
    r"\b(?:instead of|rather than|why not|how about|perhaps|maybe)\b[^.;\n]{0,80}\b(?:could|might|should|can|would)\b",
    r"\b(?:should|could|can|might|why|what about|how about|what if|isn't|wouldn't)\b[^?\n]{0,200}\?\s*$",
)
"""Wordings that advise in some sentences and describe in others."""
TOLD: Final = (
    rf"\b(?:only {_P}|{_P} alone) (?:can|could) (?:say|tell|know|answer|decide|allow|give)\b|{_P} (?:can|could) (?:say|tell|answer) (?:whether|what|which|who|how|when|where)\b|\b(?:has|have) not been (?:said|settled|named)\b|"
    r"\b(?:nobody|no one) has (?:said|named|looked|asked)\b|\bis (?:not said|unsaid|not settled)\b",
    r"^\W*should [^?;\n]{3,160}, [^?\n]+$",  # a condition
)
"""Something that nobody has said, or that one person alone can say: no advice, whatever words it has."""
MAY_JUDGE: Final = (
    rf"{_P}[^.;\n]{{0,40}}\b(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bevery ){_TRAIT}\b",
    rf"{_P}[^.;\n]{{0,60}}\b(?:too(?! (?:late|early|far|small|large|big|many|few|long|short|heavy|soon|much|high|low|deep|cold|hot|wide|narrow|near)\b)|hardly(?! (?:ever|any))|barely|merely|(?<!what )(?<!that )(?<!which )(?:really|truly|clearly|obviously|plainly)) (?:a |an |the )?\w+\b",
)
MAY_TAKE_ASIDE: Final = (
    r"\b(?:(?:tak(?:e|es|ing|en)|took|step(?:s|ped|ping)?|go(?:es|ing)?|pull(?:s|ed|ing)?|draw(?:s|n|ing)?|call(?:s|ed|ing)?)\b[^.;\n]{0,40}\baside|confide|in secret|secretly|quietly|corridor|only the two)\b",
)
