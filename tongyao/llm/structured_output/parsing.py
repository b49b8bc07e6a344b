"""Parses text into a draft: bare JSON, JSON in a fenced block, or JSON between words. Otherwise the answer is
unreadable.

Small deviations from the schema are corrected (`fitted`). JSON with a syntax error (an unescaped quotation mark, an
extra comma) is repaired if the object is complete. A text that breaks off is never completed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from tongyao.llm.errors import Unreadable
from tongyao.llm.structured_output.schema import schema_of
from tongyao.protocol.model.unicode_text import without_controls
from tongyao.protocol.model.value import Draft

DraftT = TypeVar("DraftT", bound=Draft)

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)```", re.DOTALL)
_THOUGHTS = re.compile(r"\A\s*<(think|thinking)>.*?</\1>", re.DOTALL)
MOST_CANDIDATES = 300
"""Maximum number of lines at which an object is searched for, because each try may read to the end of the text."""
_LINE_START = re.compile(r"^[ \t]*(\{)", re.MULTILINE)


def read(text: str, draft: type[DraftT]) -> DraftT:
    """Read the draft in `text`. Raises `Unreadable`, with the fault and its place, if there is none or its shape is
    wrong."""
    try:
        return draft.model_validate(_found(text, draft))
    except ValidationError as error:
        raise Unreadable(_complaint(error), text=text) from None


def salvage(text: str, draft: type[DraftT]) -> tuple[DraftT, int]:
    """Like `read`, but list elements with a wrong shape are removed one by one. Also returns their number.

    For an answer to a repair request, whose readable parts must not be lost. Raises `Unreadable` if no part is
    readable.
    """
    whole: dict[Any, Any] = _found(text, draft)
    dropped = 0
    while True:
        try:
            return draft.model_validate(whole), dropped
        except ValidationError as error:
            places = {(issue["loc"][0], issue["loc"][1]) for issue in error.errors() if len(issue["loc"]) > 1}
            elements = [place for place in places if isinstance(place[1], int) and isinstance(whole[place[0]], list)]
            if not elements:
                raise Unreadable(_complaint(error), text=text) from None
            for name, number in sorted(elements, key=lambda place: int(place[1]), reverse=True):
                del whole[name][number]
                dropped += 1


def _found(text: str, draft: type[Draft]) -> dict[str, Any]:
    """The object in `text` that has fields of `draft`. An object that only wraps such an object is unwrapped."""
    found = _object_in(text)
    if found is None:
        raise Unreadable("the answer contains no JSON object", text=text)
    fields = draft.model_fields.keys()
    wrapped = [value for value in found.values() if isinstance(value, dict)] if len(found) == 1 else []
    for candidate in (found, *wrapped):
        if candidate.keys() & fields:
            fitting: dict[str, Any] = fitted(candidate, schema_of(draft))
            return fitting
    raise Unreadable(f"the JSON object has none of the fields {', '.join(fields)}", text=text)


def _object_in(text: str) -> dict[str, Any] | None:
    """The first of these: `text` as an object, an object in a fence, the longest object within it, a repaired object."""
    bare = _THOUGHTS.sub("", text).strip()
    start, end = bare.find("{"), bare.rfind("}")
    candidates = [bare, *(match.group(1) for match in _FENCE.finditer(bare))]
    if -1 < start < end:
        candidates.append(bare[start : end + 1])
    for candidate in candidates:
        if (whole := _loaded(candidate)) is not None:
            return whole
    among = max(_objects_among(bare), key=lambda entry: entry[1], default=None)
    if among is not None:
        return among[0]
    return _repaired(bare[start : end + 1]) if -1 < start < end and bare.rstrip("`\n ").endswith("}") else None


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        # strict=False allows line breaks inside strings, which are a common slip
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _objects_among(text: str) -> Iterator[tuple[dict[str, Any], int]]:
    """Every complete object that begins a line of `text`, with its length."""
    decoder = json.JSONDecoder(strict=False)
    at = 0
    for match in islice(_LINE_START.finditer(text), MOST_CANDIDATES):
        if match.start(1) < at:
            continue  # inside the previous object
        try:
            value, at = decoder.raw_decode(text, match.start(1))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value, at - match.start(1)


def _repaired(text: str) -> dict[str, Any] | None:
    from json_repair import repair_json

    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError):
        return None
    return value if isinstance(value, dict) and value else None


def _complaint(error: ValidationError) -> str:
    """Return place and kind of a fault, without the value, because it is logged and values are people's texts."""
    issues = error.errors(include_input=False, include_url=False, include_context=False)
    said = [f"{'.'.join(str(part) for part in issue['loc'])}: {issue['type']}" for issue in issues[:5]]
    more = f" and {len(issues) - 5} more" if len(issues) > 5 else ""
    return f"the JSON object has another shape: {'; '.join(said)}{more}"


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
"""Closed words and their synonyms in answers: words of the specifications, other forms, and Chinese words."""

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
    """Return a text without control characters, a number as text, a list of texts as lines, other values unchanged."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(value)
    if isinstance(value, str):
        return without_controls(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
