"""Stop words: function words and question words of English and Chinese.

Function words end a phrase (as in RAKE: Rose et al. 2010). English function words, and the question words of both
languages, have a low weight as query terms, because they occur in a text by chance. Chinese function characters keep
their weight, because the same character may be part of another word.
"""

from __future__ import annotations

_ENGLISH = """
a an the and or but nor of in on at to for from by with without as is are was were be been being am
do does did has have had having i me my we us our you your he him his she her it its they them their
this that these those there here who whom whose which what when where why how if then than so such
not no into onto over under about after before between during through while because until against
will would can could shall should may might must
"""
_CHINESE = "的了是在和与或也都就而但被把之其这那吗呢吧啊着它他她我你们"

_QUESTION_WORDS = "什么谁哪怎吗呢"

FUNCTION_WORDS = frozenset(_ENGLISH.split()) | frozenset(_CHINESE)
FAINT_WORDS = frozenset(_ENGLISH.split()) | frozenset(_QUESTION_WORDS)
