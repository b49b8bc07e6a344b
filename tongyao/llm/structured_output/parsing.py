"""Parses text into a draft: bare JSON, JSON in a fenced block, or JSON between words. Otherwise the answer is
unreadable.

Near misses are corrected first (`tongyao.llm.structured_output.coercion`). JSON with a slip (an unescaped quotation
mark, a comma too many) is repaired if the object still has its end. A text that breaks off is never completed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

from pydantic import ValidationError

from tongyao.llm.errors import Unreadable
from tongyao.llm.structured_output.coercion import fitted
from tongyao.llm.structured_output.schema import schema_of
from tongyao.protocol.model.value import Draft

DraftT = TypeVar("DraftT", bound=Draft)

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)```", re.DOTALL)
_THOUGHTS = re.compile(r"\A\s*<(think|thinking)>.*?</\1>", re.DOTALL)
MOST_CANDIDATES = 300
"""The most lines at which an object is searched for, because each try may read to the end of the text."""
_LINE_START = re.compile(r"^[ \t]*(\{)", re.MULTILINE)


def read(text: str, draft: type[DraftT]) -> DraftT:
    """Read the draft in `text`. If there is none or it has another shape, raises `Unreadable` with the fault and its place."""
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
    """`text` as an object, or the first of these: an object in a fence, the longest object in the prose, a repaired object."""
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
    return _repaired(bare[start : end + 1]) if -1 < start < end and _ends(bare) else None


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


def _ends(text: str) -> bool:
    return text.rstrip("`\n ").endswith("}")


def _repaired(text: str) -> dict[str, Any] | None:
    from json_repair import repair_json

    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError):
        return None
    return value if isinstance(value, dict) and value else None


def _complaint(error: ValidationError) -> str:
    """Return the place and the kind of a fault, without the value. Values are people's texts, and this line is logged."""
    issues = error.errors(include_input=False, include_url=False, include_context=False)
    said = [f"{'.'.join(str(part) for part in issue['loc'])}: {issue['type']}" for issue in issues[:5]]
    more = f" and {len(issues) - 5} more" if len(issues) > 5 else ""
    return f"the JSON object has another shape: {'; '.join(said)}{more}"
