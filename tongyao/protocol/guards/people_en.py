"""The grammar of English judgements of people and of proposals that some talk apart from the others. Pure.

Beside the set phrases of `wordings_en`, written from an own development set (docs/guards.md). Every gap is bounded.
"""

from __future__ import annotations

from typing import Final

_P: Final = r"(?<![A-Za-z0-9/])P\d{2}(?![\d/])"
_PS: Final = rf"{_P}(?:(?:,| and| or|, and) {_P}){{0,4}}"
_THEM: Final = rf"(?:{_P}|him|her|them)"
_REST: Final = (
    r"(?:the (?:others?|rest|group|committee|whole group|other (?:members|participants|families|four|three|five)|room|meeting|board|council)|everyone(?: else)?|everybody(?: else)?|"
    r"anyone(?: else)?|anybody(?: else)?|nobody(?: else)?|no one(?: else)?|(?:six|five|four|seven|so many) people|the whole (?:group|room|circle))"
)
_COULD: Final = rf"{_PS} (?:could|might|may|can|should|ought to|would do well to|had better|must|needs? to|have to|has to)(?: (?:perhaps|first|simply|just|always|better|also|well))?"
_TALK: Final = (
    r"(?:tell|say|talk|speak|text|phone|ring|call|reach|write|message|whisper|slip|show|mention|hint|ask|apologi[sz]e|settle|agree|sort|discuss|"
    r"hash|clear|iron|explain|catch|get|see|meet|sound out|warn|tip|confess|admit|confide|raise|whisper)"
)

ALONE: Final = (
    r"\b(?:feel|feeling|sound|sounding) each other out\b|\bwith (?:nobody|no one|none of the others) (?:listening|present|watching|around|else (?:there|present|in the room))\b|\bby word of mouth\b|\b(?:leav(?:e|ing)|put(?:ting)?) nothing (?:in|on) (?:writing|paper|record)\b",
    r"\bthe fewer (?:people |others )?(?:know|hear|see|are told)\b|\b(?:nothing|not (?:a thing|something|a matter|a topic)?|never) ?(?:to (?:raise|discuss|mention|bring up|settle|say)|for) (?:in (?:public|the open|the group|front of)|the (?:public|open|group|record|plenary))\b",
    rf"\b(?:so|so that|where|when|while|before|until|once|after|as long as) {_REST} (?:do(?:es)? not|don't|doesn't|cannot|can't|will not|won't|is not|are not|has|have|is|are)? ?"
    r"(?:see|hear|know|notice|learn|read|find out|listening|looking|around|there|present|left|gone home|gone|out of the room|asleep)\b",
    rf"{_COULD} {_TALK}\b[^.;\n]{{0,60}}\b(?:when nobody|when no one|away from|bypassing|ahead of the|before (?:the|anything|anyone|it)|out of|behind|by mouth|on (?:his|her|their) own|alone|unseen|unnoticed|first,? so|directly on|at home)\b",
    rf"\b(?:so that |so |lest |without |instead of |rather than )?(?:{_REST}) (?:need|needs|has|have|ought|should|must|may) ?(?:not|n't)? ?(?:to )?(?:hear|know|see|learn|be told|be there|be involved|listen|find out)\b",
    rf"\b(?:only|just) (?:{_PS}|the two of them)(?: and (?:the|a) \w{{1,16}})? (?:know|knows|should know|need to know|hears?|are told|is told|sees?|reads?|talks?|speaks?)\b",
    rf"\b(?:kept|keep|keeping|stay|stays|remain|remains|best left|settled|left) (?:just |only |strictly )?between {_P} and (?:{_P}|the \w{{1,16}})",
    r"\b(?:a|one) (?:small |separate |second |little |side |private |smaller |closed ){1,3}(?:group|thread|circle|chat|channel|huddle|round)\b|\b(?:thread|group|chat|channel|room|circle) of their own\b",
    r"\b(?:not every|not all|some|certain) (?:\w{1,16} )?(?:details?|figures?|things?|matters?|numbers?|words?|points?|stor(?:y|ies)|questions?|parts?)\b[^.;\n]{0,40}\b(?:belongs? (?:here|in front|on the table|in the)|need not|needn't|(?:are|is) not for|should not|is better|are better|best)\b",
    rf"\b(?:for|by) {_P} and {_P} (?:to (?:sort|settle|work|clear|talk|discuss|decide|agree)|alone|only)\b[^.;\n]{{0,60}}\b(?:away|alone|themselves|apart|own|elsewhere|privately)\b",
    rf"\b(?:sound|sounds|sounding) out {_THEM}|\b(?:catch|grab|take|get|pull|draw|have) {_THEM} (?:alone|aside|apart|on (?:his|her|their|its) own|after (?:the|everyone|all)|before (?:the|anyone|anything)|to (?:him|her|them)self)\b",
    r"\b(?:over|at|in|behind|on) (?:a |the |their |some |his |her )?(?:own )?(?:pint|beer|cup of (?:tea|coffee)|glass of \w{1,16}|pub|kitchen table|garden gate|own gate|doorstep|back room|back door|bench outside|side room|quiet corner|hallway|corridor)\b(?=[^.;\n]{0,40}$)",
    rf"\b(?:speak|talk|be) (?:more |far more |much more )?(?:freely|openly|frankly|easily|honest(?:ly)?)\b[^.;\n]{{0,20}}\b(?:once|when|if|without|away|with)\b[^.;\n]{{0,12}}{_REST}",
    rf"\bgo (?:a)?round {_REST}|\b(?:easier|better|simpler|more easily|nicer) (?:to (?:say|talk|discuss|settle)|said|discussed|settled)[^.;\n]{{0,30}} than (?:here|in (?:the|this) (?:group|round|meeting|room))\b",
    rf"\b(?:call|talk|word|meeting|conversation|note|message|chat|letter) (?:between|with|for|from) (?:just|only) {_P}|\b(?:a|one) (?:phone|short|quick|quiet|brief|separate|simple) (?:call|talk|word|chat|message|letter|note) (?:between|from) {_P} (?:and|to) {_P}",
    rf"\b{_REST} (?:can|may|should|could|might|need only) (?:just |simply |safely |then )?(?:stay (?:away|out|outside|home)|wait outside|leave|be left out|sit (?:it|this) out|step out|keep out|be spared)\b",
    r"\b(?:tells?|told|know|shows?|hear|shared?|talk|say|see|read|confide)[^.;\n]{0,40} (?:and|but) (?:no one|nobody) else\b",
    rf"\b(?:bypass(?:ing)?|going around|go around|skip(?:ping)?|leav(?:e|ing) out|cut(?:ting)? out|shut(?:ting)? out|exclud(?:e|ing)|keep(?:ing)? (?:it |this |that )?from) {_REST}\b(?! (?:who|that))",
    r"\b(?:none of|not|nobody's|no one's|no) (?:the )?(?:others?['’]|group['’]s|anyone['’]s|anybody['’]s|business (?:of|here)|one else['’]s) ?(?:business|concern|matter)?\b(?=[^.;\n]{0,20}$)",
    rf"\b(?:agree|settle|fix|decide|strike|make)[^.;\n]{{0,40}} (?:ahead of|before|outside|without) (?:the (?:meeting|round|session|others|rest|group|vote)|{_REST})\b",
    rf"{_COULD} (?:drop by|call on|go (?:over )?to|stop by|come by|pop over to|look in on|invite|visit) [^.;\n]{{0,60}}\b(?:settle|talk|sort|discuss|agree|apologi[sz]e|clear|explain|tell|ask)\b",
    rf"{_COULD} (?:quietly|secretly|privately|discreetly|confidentially|in (?:private|confidence|secret)) [a-z]{{1,16}}",
    rf"{_COULD} (?:whisper|slip|confide|text|DM|tip off|take aside|draw aside|pull aside)\b",
    r"\b(?:more|most|less)? ?(?:tactful|discreet|delicate|comfortable)\b[^.;\n]{0,60}\b(?:to|if|for)\b[^.;\n]{0,60}\b(?:after|before|when|without|alone|away)\b",
)
TALKED: Final = (
    rf"\b(?:{_PS}|they|both|two of them) (?:have |had |only |once |never |also ){{0,3}}(?:met|spoke|spoken|talked|discussed|phoned|wrote|agreed)\b",
    r"\b(?:one|1)[- ](?:to|on)[- ](?:one|1) (?:lessons?|tuition|tutoring|coaching|classes|teaching|care|sessions?|training|support)\b",
    r"\b(?:offers?|gives?|teach(?:es)?|charges?|provides?|requires?|wants?|asks? for|condition|refuses?|declines?|does not want|doesn't want|would speak|only speaks)\b[^.;\n]{0,40}\b(?:one|private|confidential|alone|nobody else|number|present|in person)\b",
    r"\b(?:private (?:school|practice|clinic|lesson|road|land|garden|house|room|car|owner|customers?|insurance|ward|patients?|collection)s?)\b",
)
"""A talk that took place, a service, a wish of one person: told, not proposed."""

_TRAITS: Final = (
    r"(?:average|mediocre|hopeless|useless|worthless|brilliant|superb|splendid|first-rate|second-rate|third-rate|amateurish|half-hearted|half-baked|full of holes|out of date|outdated|"
    r"childish|silly|foolish|stupid|ridiculous|absurd|pathetic|laughable|dishonest|insincere|untrustworthy|unreliable|unhelpful|uncooperative|unreasonable|unfair|mean|petty|rude|greedy|"
    r"selfish|lazy|careless|sloppy|vague|evasive|shallow|empty|hollow|thin|naive|naïve|arrogant|conceited|vain|smug|pompous|bossy|pushy|aggressive|touchy|moody|stubborn|obstinate|inflexible|"
    r"narrow-minded|short-sighted|old-fashioned|cowardly|timid|spineless|weak-willed|fickle|indecisive|muddled|confused|disorgani[sz]ed|incompetent|inept|unfit|clueless|"
    r"kind|generous|brave|wise|clever|intelligent|shrewd|sharp|gifted|talented|skilled|skilful|hard-working|diligent|honest|sincere|loyal|faithful|devoted|dedicated|patient|humble|modest|noble|"
    r"admirable|remarkable|exemplary|impressive|excellent|outstanding|exceptional|inspiring|refreshing|reliable|dependable|trustworthy|competent|capable|professional|mature|thoughtful|considerate|(?!left-|right-|short-|single-|empty-|one-)[a-z]{1,16}-(?:hearted|sighted|minded|headed|skinned|tempered|handed|mannered|spirited|willed))"
)
_QUALITY: Final = (
    r"(?:kindness|temper|charm|manners|skill|talent|patience of a saint|effort|attitude|greed|pride|laziness|stubbornness|generosity|honesty|courage|cowardice|wisdom|vanity|arrogance|"
    r"incompetence|ignorance|dishonesty|selfishness|carelessness|modesty|loyalty|devotion|cleverness|character|judgement|judgment|sense of (?:duty|fairness|responsibility|humour))"
)
_OWN: Final = (
    r"(?:contribution|contributions|offer|answer|answers|projection|proposal|reply|input|statement|idea|plan|plans|work|experience|profile|skills?|attitude|commitment|word|words|promise|promises|"
    r"view|views|view of [a-z ]{3,20}|grasp of [a-z ]{3,20}|idea of [a-z ]{3,20}|understanding|joinery|craft|craftsmanship|cooking|teaching|playing|record|list|argument|reasoning|apology|effort|efforts|behaviou?r|manner|performance|arrangement)"
)
_VERY: Final = r"(?:(?:far|too|so|very|rather|quite|really|just|simply|plainly|clearly|frankly|hardly|barely|not|always|often|never|only|at best|a bit|a little|somewhat|most|more|less|obviously|utterly|completely|totally|downright) ){0,3}"

JUDGES: Final = (
    rf"{_P}(?:['’]s {_OWN})? (?:is|are|was|were|seems?|sounds?|looks?|appears?|remains?|comes across as|proves?|can be) (?:to be )?{_VERY}(?:an? )?(?:{_TRAITS}\b(?! (?:for|in|to|of) (?:the|what|use|now|next))|nothing of|nothing but|ten years|behind the times|no match for|no use|no help|beyond help|"
    r"of (?:little|no|great|real|immense) (?:use|value|worth|help|interest)|above|beneath|the (?:best|worst|weakest|strongest)(?: (?:of|here|by far|person|people|one|member|speaker|cook|teacher)\b|[.,;]|$)|the only (?:adult|grown-up|sensible)|a (?:waste|joke|disgrace|model|credit|blessing|nuisance|menace|burden|mess|shambles|man of|woman of|person of))",
    rf"{_P} is (?:a|an|the) (?:[a-z-]{{1,16}} ){{0,3}}of (?:real|great|rare|little|no|such|considerable|uncommon|true|some) [a-z]{{1,16}}",
    rf"{_P} is (?:not |hardly |no |scarcely )(?:a |an |the )?(?:man|woman|person|one|sort|kind|type|somebody|someone|leader|team player)\b",
    rf"{_P}(?:['’]s [a-z]{{1,16}})? (?:is|are|was|were) (?:all |pure |just |mostly |simply |nothing but |a lot of |so much )?(?:hot air|a mess|a shambles|a disaster|a triumph|nonsense|rubbish|waffle|window dressing|all over the place)\b",
    rf"\b(?:no one|nobody|none|few|hardly anyone)(?: here| in (?:this|the) group| of the others)? (?:has|have|can match|matches|comes near|equals|rivals) {_P}['’]s\b|\b(?:not one|none|few|hardly any) of {_P}['’]s\b",
    rf"{_P} (?:must be|is|was|seems|has) (?:clearly |plainly |obviously |evidently )?an? (?:[a-z]{{1,16}} )?(?:careful|careless|clear|clever|quick|slow|good|bad|kind|hard|soft|difficult|easy|simple|decent|honest|strange|small|big|sharp|dull|calm|steady|sound) (?:person|man|woman|mind|head|soul|character|worker|heart|one to work with|neighbou?r|colleague)\b",
    rf"{_P} (?:only |merely |just )?(?:pretends|pretended|claims|likes|loves) to (?:know|understand|care|be (?:an expert|important|busy)|help|play|boss|hear (?:himself|herself))\b|{_P} (?:wants|asks|expects|demands|talks|promises|drinks|complains|thinks) too (?:much|little|highly|loud(?:ly)?)\b(?! (?:for|of) (?:the|a))",
    rf"{_P} (?:has|have|shows?|had) (?:absolutely |really |simply )?(?:no|little|scant|great|every|too much|too little) (?:respect|regard|consideration|thought|feeling|feel|sense|time|patience|interest|care|concern|understanding|idea|notion|head|talent|gift|eye|ear) (?:for|of|in|about|what|how)\b",
    rf"{_P} (?:looks? (?:down on|after number one|only after|out only)|talks? down to|wastes? (?:everyone|everybody|people|the group)|uses? [^.;\n]{{2,30}} as (?:an excuse|a shield|a pretext)|treats? [^.;\n]{{2,30}} (?:like|as if)|leaves? (?:all |most of )?the (?:work|dirty work|rest) to|lets? others|puts? (?:his|her|their) own [^.;\n]{{2,30}} (?:first|above|before)|gets? (?:easily )?(?:defensive|carried away)|came to [a-z]{{1,16}} rather than)\b",
    rf"{_P} has never [^.;\n]{{3,50}} (?:and|but|yet) (?:still|always|yet) |\b(?:of them|they|the (?:two|three|four|five|six)|{_P}) will never (?:agree|manage|change|learn|understand|grow|see|listen|get)\b|\bis like (?:expecting|asking|talking|waiting|watching)\b|, and it shows\b|\bin over (?:his|her|their) head\b",
    rf"{_P}[^.;\n]{{0,60}}\b(?:sheer|plain|pure|nothing but|simple|rank|outright) (?:selfishness|laziness|greed|stubbornness|vanity|arrogance|carelessness|cowardice|spite|pride|generosity|kindness|courage|goodness|malice|ignorance|foolishness|folly)\b",
    rf"\b(?:with|given|for all) the (?:bit of|little|sort of|kind of|amount of)[a-z ]{{1,20}} {_P} (?:has|shows|brings|can muster)\b|\b(?:all|what) {_P} (?:really |actually |only |truly )?(?:cares|thinks|worries) about\b",
    rf"{_P} (?:really |clearly |always |never |only )?(?:thinks|cares|thought|cared)(?: only| just)? (?:of|about|for) (?:nobody|no one|nothing|no man|him|her|them|his own|her own|their own|one thing)|{_P}[^.;\n]{{0,60}} never (?:spared|gave|given|had) (?:a|any|one) thought\b",
    rf"{_P}(?:['’]s {_OWN})? (?:is|was|reads like|sounds like|looks like|is like) (?:that of|the work of|typical of|worthy of|unworthy of|an? (?:layman|amateur|beginner|child|novice|schoolboy|bureaucrat|snob|show-off))",
    rf"{_P}['’]s {_QUALITY} (?:is|are|was|were|has|have|makes?|does|speaks?|shows?|deserves?|commands?|puts?|wins?|costs?|ruins?|spoils?)\b",
    rf"\b(?:stand|bear|put up with|tolerate|admire|praise|trust|believe|respect|ignore|forget|overlook|excuse) {_P}['’]s\b|\b(?:nobody|no one|everyone|everybody|anyone) (?:can |could |would |will )?(?:stand|bear|trusts?|likes?|dislikes?|respects?|admires?|believes?|knows (?:it|that)|loves?|fears?|minds) {_P}\b",
    rf"{_P} (?:never|always|rarely|hardly ever|seldom|invariably|constantly|forever|still never) (?:finish(?:es)?|finishing|keeps? (?:a |his |her |their |any )?(?:word|promises?)|listens?|delivers?|answers? (?:the|a) question|shows? up|learns?|thinks?|helps?|admits?|apologi[sz]es?|complains?|complaining|exaggerates?|blames?|interrupts?|disappoints?|lets (?:people|everyone|others) down|gets? (?:things|it) (?:done|right|wrong)|pulls?|puts? (?:himself|herself|others|people)|has to have|wants? it all|does (?:things|it) by halves)\b",
    rf"{_P} (?:could not|couldn't|does not|doesn't|cannot|can't) (?:really |even |seem to |possibly |be bothered to )?(?:care (?:less|about)|be trusted|be relied|be taken seriously|tell the difference|see beyond|see further|think (?:beyond|of|straight)|take criticism|keep (?:a secret|his|her|their|any)|grasp|understand|listen|follow through|deliver what|know what (?:he|she|they) (?:is|are|wants?|talks?)|have (?:what it takes|the (?:makings|stature|head|heart|stomach|nerve|skill|sense))|deserve)\b",
    rf"{_P} (?:takes?|took|thinks?|thought) (?:him|her|them)sel(?:f|ves) (?:far |much |a bit |rather |entirely )?(?:too )?(?:seriously|for|above|better|important|highly)|{_P} thinks? (?:too )?(?:highly|much|a lot|the world) of (?:him|her|them)sel(?:f|ves)",
    rf"{_P} (?:has|have|had)? ?(?:clearly |plainly |obviously |evidently |simply |completely |apparently |once again |again )?(?:not |never |failed to |fails to |missed |misses |misunderstood |misunderstands )(?:understood|understand|grasp(?:ed)?|read|the (?:point|whole point|tension)|see|listen(?:ed)?|think|thought|bother(?:ed)?|take|taken|what)\b",
    rf"{_P} (?:has |have |had )?(?:failed|fails|disappointed|disappoints|betrayed|misled|abandoned|let down|lets down|deceived|cheated|bored|charmed|impressed|saved|carried|rescued|embarrassed|humiliated) (?:the (?:group|others|team|patients|children|village|choir)|everyone|everybody|all|us|them|P\d\d)\b",
    rf"{_P} (?:[a-z]{{1,16}} )?(?:dodges|evades|ducks|shirks|sidesteps|stonewalls|blusters|waffles|rambles|flatters|gossips|procrastinates|dawdles|panics|crumbles|gives up too|loses heart|loses interest|gets carried away|makes excuses|still makes excuses|talks a good|talks big|promises much|promises a lot|promises the|means well|knows better|knows best|knows nothing|has no idea|has no clue|shines|excels|rises above|falls short|lags behind|trails)\b",
    rf"{_P} (?:says|speaks|talks|preaches|writes) (?:one thing|of \w{{1,16}}|about \w{{1,16}})[^.;\n]{{0,20}} and (?:means|does|thinks (?:only )?of|wants|practises)\b",
    rf"{_P} knows (?:far |much |a lot |rather )?(?:more|less|better|nothing|little)(?: about [^.;\n]{{2,30}})? than (?:anyone|anybody|everyone|all|the (?:others|rest)|{_P})|{_P} (?:has|shows|brings) (?:the )?(?:best|better|worst|most|least|more|less|finest|coolest|clearest|sharpest) (?:head|mind|judgement|judgment|sense|taste|eye|ear|heart|manners|character|nerve|grasp|attitude|experience)\b",
    rf"\b(?:people|men|women|neighbou?rs|colleagues|those|someone|somebody|few|no one|nobody|anyone|everyone)(?: here| in this group)?(?: is| are)? (?:half )?(?:as|so|more|less) {_TRAITS} (?:as|than) {_P}|{_P} is (?:far |much |a lot |by far )?(?:more|less|as|twice as) (?:\w{{1,16}} )?{_TRAITS} (?:as|than)\b",
    rf"\b(?:next to|compared (?:to|with)|beside|set against|alongside|unlike) {_P}(?:['’]s [^.;,\n]{{2,40}})?, {_P}(?:['’]s)?(?: \w{{1,16}})? (?:looks?|is|are|seems?|pales?|appears?|sounds?|cuts?|comes? across|falls?)\b",
    rf"\b(?:of|among) (?:all|the (?:five|six|four|seven|three|eight)|everyone|all (?:the )?(?:contributions|offers|replies|answers|participants))[^.;,\n]{{0,20}},? {_P}(?:['’]s)?(?: \w{{1,16}})? (?:is|are|weighs?|counts?|matters?|brings?|gives?|contributes?|has|stands?|shines?|ranks?) (?:\w{{1,16}} )?(?:the )?(?:least|most|best|worst|lightest|heaviest|last|first|out|weakest|strongest)\b",
    rf"{_P}(?:['’]s \w{{1,16}})? (?:counts?|weighs?|matters?) (?:for )?(?:very )?(?:little|nothing|least|more|most|less)\b|\bnothing (?:of (?:substance|value|use|interest|worth)|new|useful) in what {_P}\b|\bwhat {_P} (?:wrote|said|says|offers|brings|writes) (?:is|was|has) (?:\w{{1,16}} )?(?:empty|hollow|nonsense|rubbish|no (?:use|value|substance)|worth(?:less)?|of no|beside the point)\b",
    rf"\b(?:makes?|leaves?|leaving|making|made|left) (?:one|people|everyone|you|us|the others) (?:wonder|doubt|despair|suspect|uneasy|angry|sad|proud|feel)\b|\b(?:one|you) (?:wonders?|can only wonder|must wonder|begins? to doubt) (?:if|whether|why|what|how) {_P}\b",
    rf"{_P}[^.;\n]{{0,40}}\b(?:an? |the )(?:example|model|lesson|inspiration|warning|disgrace|credit|shame) (?:to|for) (?:all|everyone|everybody|us|the (?:others|rest|group|village))\b",
    rf"{_P} (?:was|is) (?:plainly |clearly |quite |simply |dead |absolutely |entirely )?(?:wrong|right|foolish|unwise|brave|cowardly|unfair|selfish|rude|generous|mad|silly|mistaken) to\b",
    rf"{_P}[^.;\n]{{0,40}}, which (?:is|was|seems|looks) (?:simply |rather |very |quite |just |plainly |frankly |a bit )?{_TRAITS}\b|\b{_TRAITS} (?:of|from) {_P}\b",
    rf"\b(?:let|allowed|allow|trusted|trust|put|entrusted) {_P} (?:anywhere )?near\b|{_P} (?:should|must|ought|may|can|could)(?: not|n't|never)? (?:never )?(?:be )?(?:let|allowed|trusted|put|left) (?:anywhere )?(?:near|with|alone with|in charge)\b",
    rf"\b(?:one|you|the group|everyone|people) (?:can|could|cannot|can't|may|will never|can never|can hardly) (?:always |safely |hardly |really )?(?:rely|count|depend|bank|build) (?:up)?on {_P}\b|{_P} is another matter\b|\bgood thing {_P}\b",
    r"\b(?:this|that|the|such a|these) (?:combination|group|team|pair|pairing|partnership|alliance|match|lot|round|crew|constellation|mix|collaboration)[^.;\n]{0,20} (?:will|would|can|is going to|is bound to|is doomed|won't|cannot|can't) ?(?:not |never |hardly |surely |certainly |easily )?(?:get far|last|work out|go far|hold|survive|succeed|fail|fall apart|break|deliver|to (?:fail|succeed)|do it|manage)\b",
)
