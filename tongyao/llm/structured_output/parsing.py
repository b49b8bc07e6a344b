"""Text → draft: bare JSON, JSON in a fenced block, JSON between words; else the answer is unreadable.

Near misses are put right first (`tongyao.llm.structured_output.coercion`). JSON with a slip of the pen (a quotation mark that is not
escaped, a comma too many) is repaired where the object still has its end; a text that breaks off is never completed.
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
"""Lines at which an object is looked for: each try may read on to the end of the text."""
_LINE_START = re.compile(r"^[ \t]*(\{)", re.MULTILINE)


def read(text: str, draft: type[DraftT]) -> DraftT:
    """The draft in `text`. Raises `Unreadable`, with what is wrong and where, when there is none or it has
    another shape.
    """
    try:
        return draft.model_validate(_found(text, draft))
    except ValidationError as error:
        raise Unreadable(_complaint(error), text=text) from None


def salvage(text: str, draft: type[DraftT]) -> tuple[DraftT, int]:
    """Like `read`, but list elements of a wrong shape are left out one by one; with how many.

    For an answer that was asked for twice: what is readable in it must not be lost for the rest. Raises
    `Unreadable` when nothing is.
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
    """The object in `text` that has fields of `draft`; one that only wraps such an object is unwrapped."""
    found = _object_in(text)
    if found is None:
        raise Unreadable("the answer holds no JSON object", text=text)
    fields = draft.model_fields.keys()
    wrapped = [value for value in found.values() if isinstance(value, dict)] if len(found) == 1 else []
    for candidate in (found, *wrapped):
        if candidate.keys() & fields:
            fitting: dict[str, Any] = fitted(candidate, schema_of(draft))
            return fitting
    raise Unreadable(f"the JSON object has none of the fields {', '.join(fields)}", text=text)


def _object_in(text: str) -> dict[str, Any] | None:
    """The object that `text` is, or the first of these: the one in a fence, the longest one in its prose, a repaired one."""
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
        value = json.loads(text, strict=False)  # line breaks inside strings are a common slip
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _objects_among(text: str) -> Iterator[tuple[dict[str, Any], int]]:
    """Every object that begins a line of `text` and is whole, with its length."""
    decoder = json.JSONDecoder(strict=False)
    at = 0
    for match in islice(_LINE_START.finditer(text), MOST_CANDIDATES):
        if match.start(1) < at:
            continue  # inside the one before
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
    """Return the place and the kind of a fault, without the value: values are people's texts, and this line goes into logs."""
    issues = error.errors(include_input=False, include_url=False, include_context=False)
    said = [f"{'.'.join(str(part) for part in issue['loc'])}: {issue['type']}" for issue in issues[:5]]
    more = f" and {len(issues) - 5} more" if len(issues) > 5 else ""
    return f"the JSON object has another shape: {'; '.join(said)}{more}"
