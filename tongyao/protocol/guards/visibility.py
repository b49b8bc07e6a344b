"""The catalyst stops at visibility: no recommendation, no judgement of a person (docs/protocol.md §5.4). Pure."""

from __future__ import annotations

import re
from typing import Any, Final

from tongyao.protocol.observation import ObservationDraft
from tongyao.protocol.value import Value

_SENTENCE_END: Final = re.compile(r"(?<=[。！？!?；;\n])|(?<=\.)\s+")

_RECOMMENDS: Final = (
    re.compile(r"\b(?:should|ought to|must|had better|need to|needs to)\s+(?:\w+\s+){0,2}(?:talk|meet|work|team|join|contact|"
               r"collaborate|partner|pair|call|hire|start|consider|speak|discuss|cooperate|combine|introduce)", re.I),
    re.compile(r"\b(?:I|we)(?:'d| would)? (?:recommend|suggest|propose|advise)\b", re.I),
    re.compile(r"\b(?:recommend(?:ed|ation)?s?|suggestion|next steps?|action items?)\b\s*[:：]", re.I),
    re.compile(r"(?:建议|推荐|应该|应当|最好|不妨|必须)[^。；\n]{0,12}(?:合作|联系|对接|沟通|交流|对话|组队|一起|牵头|负责|加入|私下|单独|聊|谈)"),
    re.compile(r"(?:下一步|行动方案|建议)\s*[:：]"),
)
_JUDGES: Final = (
    re.compile(r"\bP\d{2}\b[^.;\n]{0,40}\b(?:is|are|seems?)\s+(?:the\s+)?(?:best|better|stronger|weaker|excellent|mediocre|"
               r"unqualified|impressive|most valuable|least useful)\b", re.I),
    re.compile(r"P\d{2}[^。；\n]{0,16}(?:最合适|更优秀|很优秀|不够格|水平(?:高|低)|最有价值|能力(?:很|较)?(?:强|弱)|不靠谱)"),
)

RECOMMENDATION: Final = "recommends what to do; say only what is visible"
JUDGEMENT: Final = "judges a person; say what stands between people"


class Breach(Value):
    """One sentence that goes beyond visibility."""

    sentence: str
    reason: str


def breach_of(sentence: str) -> str:
    """Why `sentence` is not the catalyst's to say; empty when it is."""
    if any(pattern.search(sentence) for pattern in _RECOMMENDS):
        return RECOMMENDATION
    return JUDGEMENT if any(pattern.search(sentence) for pattern in _JUDGES) else ""


def breaches(draft: ObservationDraft) -> tuple[Breach, ...]:
    """Every breach in any text of `draft`."""
    found: list[Breach] = []

    def look(text: str) -> str:
        for sentence in _sentences(text):
            if reason := breach_of(sentence):
                found.append(Breach(sentence=sentence.strip(), reason=reason))
        return text

    _each_text(draft.model_dump(), look)
    return tuple(found)


def strike(draft: ObservationDraft) -> tuple[ObservationDraft, int]:
    """`draft` without the sentences that breach visibility, and how many they were. What says less still says the rest."""
    struck = 0

    def clean(text: str) -> str:
        nonlocal struck
        sentences = _sentences(text)
        kept = [sentence for sentence in sentences if not breach_of(sentence)]
        struck += len(sentences) - len(kept)
        return text if len(kept) == len(sentences) else "".join(kept).strip()

    cleaned = _each_text(draft.model_dump(), clean)
    return ObservationDraft.model_validate(cleaned), struck


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence]


def _each_text(value: Any, act: Any, name: str = "") -> Any:
    """`value` with `act` applied to every free text in it (fields `text` and `markdown`)."""
    if isinstance(value, dict):
        return {key: _each_text(item, act, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_each_text(item, act, name) for item in value]
    return act(value) if isinstance(value, str) and name in ("text", "markdown") else value
