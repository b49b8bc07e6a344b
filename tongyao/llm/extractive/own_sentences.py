"""The sentences of the engine itself: what erasing a person does not take for words of theirs."""

from __future__ import annotations

from typing import Final

from tongyao.llm.extractive import observation_text, plan_text, wording
from tongyao.protocol.rules.identity.program_words import program_sentences

OWN_SENTENCES: Final = program_sentences(
    plan_text.PLAN,
    wording.REMARK,
    wording.BEARING,
    wording.READING,
    wording.DIMENSIONS,
    wording.NOTHING_NEW,
    wording.NO_RELATION,
    observation_text.PAIR,
    observation_text.EFFECT,
    observation_text.SPEAKS_OF,
    observation_text.MAY_HAVE,
    observation_text.GAP,
    observation_text.IGNORED,
)
