"""Corrects near misses of an answer before it is checked: a synonym of a closed word, a text in place of a list.

Servers without schemas may answer with JSON that has the right meaning in another form. A value with only one possible
meaning is converted. Everything else stays unchanged, and the check then refuses it with its place.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tongyao.protocol.model.unicode_text import without_controls

_APART = re.compile(r"[\s\-_/|.。]+")

_MEANT: Final[dict[str, tuple[str, ...]]] = {
    "more": ("continue", "continued", "goon", "open", "继续", "未收敛", "还有"),
    "exhausted": ("converged", "convergence", "done", "收敛", "已收敛", "耗尽", "已耗尽"),
    "complementary": ("complement", "complements", "complementarity", "互补", "互补关系"),
    "aligned": ("alignment", "align", "aligns", "samedirection", "同向", "同向放大", "同向关系"),
    "offsetting": ("offset", "offsets", "hedging", "hedge", "conflicting", "conflict", "对冲", "相抵", "对冲关系"),
    "third_party": ("thirdpartyvalue", "thirdparties", "第三方", "对第三方的价值"),
    "translation": ("translations", "翻译"),
    "gap": ("gaps", "缺口"),
    "ignored": ("ignore", "overlooked", "被忽略", "忽略"),
    "framework": ("frameworks", "框架"),
    "capability": ("capabilities", "ability", "能力", "能力投影"),
    "direction": ("directions", "方向", "方向投影"),
    "boundary": ("boundaries", "limit", "limits", "边界", "边界投影"),
}
"""Closed words and their synonyms in answers: the seeds' own words, other forms, and Chinese words."""

_TRUE: Final = frozenset({"true", "yes", "1", "是"})
_FALSE: Final = frozenset({"false", "no", "0", "", "否"})


def fitted(value: Any, schema: dict[str, Any]) -> Any:
    """`value`, converted to `schema` (from `schema.schema_of`) as far as its meaning is clear. `None` is left out."""
    if "enum" in schema:
        return _word(value, schema["enum"]) if isinstance(value, str) else value
    match schema["type"]:
        case "object" if isinstance(value, dict):
            known = schema["properties"]
            return {
                name: fitted(part, known[name]) if name in known else part
                for name, part in value.items()
                if part is not None
            }
        case "array":
            parts = value if isinstance(value, list) else [] if value in ("", {}) else [value]
            return [fitted(part, schema["items"]) for part in parts if part is not None]
        case "string":
            return _text(value)
        case "integer" if isinstance(value, str) and value.strip().isdecimal():
            return int(value)
        case "boolean" if isinstance(value, str):
            said = value.strip().lower()
            return True if said in _TRUE else False if said in _FALSE else value
        case _:
            return value


def _word(said: str, allowed: list[str]) -> str:
    bare = _APART.sub("", said.strip().strip("`*\"'“”").lower())
    for word in allowed:
        if bare == word.replace("_", "") or bare in _MEANT.get(word, ()):
            return word
    return said


def _text(value: Any) -> Any:
    """A text without control characters. A number becomes text, and a list of texts becomes its lines. Other values stay."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(value)
    if isinstance(value, str):
        return without_controls(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
