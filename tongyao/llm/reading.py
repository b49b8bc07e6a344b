"""Text → draft: bare JSON, JSON in a fenced block, JSON between words; else the answer is unreadable."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import ValidationError

from tongyao.llm.errors import Unreadable
from tongyao.protocol.value import Draft

DraftT = TypeVar("DraftT", bound=Draft)

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)


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
            return {key: _without_nulls(value) for key, value in candidate.items() if value is not None}
    raise Unreadable(f"the JSON object has none of the fields {', '.join(fields)}", text=text)


def _object_in(text: str) -> dict[str, Any] | None:
    candidates = [text, *(match.group(1) for match in _FENCE.finditer(text))]
    start, end = text.find("{"), text.rfind("}")
    if -1 < start < end:
        candidates.append(text[start : end + 1])
    for candidate in candidates:
        try:
            value = json.loads(candidate, strict=False)  # line breaks inside strings are a common slip
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


def _without_nulls(value: Any) -> Any:
    """Where a model wrote `null` for "nothing", the field's own default stands."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _complaint(error: ValidationError) -> str:
    """Where and what, without the value: values are people's texts, and this line goes into logs."""
    issues = error.errors(include_input=False, include_url=False, include_context=False)
    said = [f"{'.'.join(str(part) for part in issue['loc'])}: {issue['type']}" for issue in issues[:5]]
    more = f" and {len(issues) - 5} more" if len(issues) > 5 else ""
    return f"the JSON object has another shape: {'; '.join(said)}{more}"
