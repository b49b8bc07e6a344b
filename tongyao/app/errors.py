"""Errors of the use cases. Each has a code (a fixed word) and a message that states the fault and the remedy.

The CLI prints them, the API returns problem details (`gateway/problems.py`), and MCP returns tool errors.
"""

from __future__ import annotations

import traceback
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from tongyao.protocol.model.messages import MESSAGE_TYPES
from tongyao.protocol.model.unicode_text import kind_of_file
from tongyao.protocol.rules.refusals import MessageVerdict
from tongyao.records.database import BadValue, DatabaseUnreachable
from tongyao.records.people.profiles import ProfileUnknown
from tongyao.records.people.scenes import SceneUnknown
from tongyao.records.people.tokens import TokenUnknown
from tongyao.records.privacy.erasure import PersonUnknown
from tongyao.records.privacy.texts import TextConflict, TextErased
from tongyao.records.process.messages import KeyReused, MessageUnknown
from tongyao.records.process.process_rows import BadCursor, ProcessExists, ProcessUnknown
from tongyao.texts.catalogue import in_both

ModelT = TypeVar("ModelT")
LIST_SCENES: Final = "`GET /scenes` (over MCP `scenes`, on the command line `tongyao field stats`) lists the scenes"
ADD_PEOPLE: Final = (
    "introduce people to it (`POST /profiles`, over MCP `join`, on the command line `tongyao field import`)"
)
"""Advice in errors about an unknown scene, and about an empty one."""


def places_of(error: BaseException) -> list[str]:
    """Return the last four code locations of an error, such as `folder/file.py:12`, for a log, without values."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    return [f"{'/'.join(frame.filename.split('/')[-3:])}:{frame.lineno}" for frame in frames]


class Problem(Exception):
    """A request that was not fulfilled. `details`: further fields of the response."""

    def __init__(self, code: str, message: str, /, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.details = details


class BadInput(Problem):
    """The input is wrong. Nothing was stored or started. `field` names the wrong part of the input."""

    def __init__(self, code: str, message: str, *, field: str = "", **details: Any) -> None:
        super().__init__(code, message, **({"field": field} if field else {}), **details)
        self.field = field

    @classmethod
    def worded(cls, code: str, key: str, /, *, field: str, **values: Any) -> BadInput:
        """Make the error from the text of `key` in `texts/app`, in both languages. `values` fill its placeholders."""
        en, zh = in_both("app", key, **values)
        return cls(code, en, field=field, zh=zh)


class BadIdempotencyKey(Problem):
    """The key of the request is missing or malformed."""


class Unauthenticated(Problem):
    """The token is missing or not valid."""


class NotSignedIn(Problem):
    """A sign-in by OpenID Connect did not succeed."""


class NotAllowed(Problem):
    """The caller's role may not do this."""

    def __init__(self, message: str) -> None:
        super().__init__("not_allowed", message)


class NotFound(Problem):
    """The object does not exist, or the caller may not know that it exists."""


class Conflict(Problem):
    """The idempotency key was used for another request."""


class Refused(Problem):
    """The process refused a message. The code and both texts come from the verdict. `phase`: the phase of the process.

    `worded`: the text in `language`, the language of the process.
    """

    def __init__(self, verdict: MessageVerdict, message_id: str, *, phase: str = "", language: str = "en") -> None:
        super().__init__(
            verdict.code, verdict.en, zh=verdict.zh, message=message_id, **({"phase": phase} if phase else {})
        )
        self.worded = verdict.zh if language == "zh" else verdict.en


class Gone(Problem):
    """The owner has erased the object."""


class QuotaReached(Problem):
    """The caller has reached a quota."""


class NotOffered(Problem):
    """This installation does not offer the requested function."""


class Unavailable(Problem):
    """A required server cannot be reached now."""


def problem_of(error: Exception) -> Problem | None:
    """Return a `Problem` for an expected error of the records; None for an unexpected error."""
    match error:
        case Problem():
            return error
        case KeyReused() | TextConflict() | ProcessExists():
            return Conflict(
                "key_reused",
                "this Idempotency-Key was used for something else: send a new request under a new key",
            )
        case TextErased():
            return Gone("erased", "this text was erased by its owner")
        case ProcessUnknown():
            return NotFound("no_such_process", str(error))
        case ProfileUnknown():
            return NotFound("no_such_profile", str(error))
        case PersonUnknown():
            return NotFound("no_such_person", str(error))
        case SceneUnknown():
            return NotFound("no_such_scene", f"{error}: {LIST_SCENES}")
        case MessageUnknown():
            return NotFound("no_such_message", str(error))
        case TokenUnknown():
            return NotFound("no_such_token", str(error))
        case BadCursor():
            return BadInput("bad_cursor", str(error))
        case BadValue():
            return BadInput("bad_value", str(error))
        case DatabaseUnreachable():
            return Unavailable("records_away", "the records cannot be reached now: try again in a moment")
        case _:
            return None


def validated(model: type[ModelT] | TypeAdapter[ModelT], given: object) -> ModelT:
    """Validate the input with this model. Raises `BadInput`."""
    try:
        return (model if isinstance(model, TypeAdapter) else TypeAdapter(model)).validate_python(given)
    except ValidationError as error:
        raise not_valid(error) from None


def not_valid(error: ValidationError) -> BadInput:
    """Return a `BadInput` for input that its pydantic model rejects, with places and reasons, without the input."""
    wrong = [{"where": location(fault), "why": reason(fault)} for fault in error.errors(include_url=False)]
    message = "; ".join(f"{fault['where']}: {fault['why']}" if fault["where"] else fault["why"] for fault in wrong[:3])
    return BadInput("not_valid", message, field=wrong[0]["where"])


def location(error: ErrorDetails) -> str:
    """Return the path of the rejected value, joined by dots. The kind of a message in the path is left out."""
    inside = error["loc"][1:] if error["loc"][:1] == ("body",) else error["loc"]
    of_kind = len(inside) > 1 and inside[0] in MESSAGE_TYPES
    parts = [part for part in error["loc"] if not of_kind or part != inside[0]]
    return _encodable(".".join(map(str, parts)))


def reason(error: ErrorDetails) -> str:
    """Return the reason of a rejection by pydantic, in words for the sender."""
    context = error.get("ctx") or {}
    match error["type"]:
        case "union_tag_not_found":
            return f"the kind is missing: give {context['discriminator']}"
        case "union_tag_invalid":
            given, name = context["tag"], context["discriminator"].strip("'")
            return _encodable(f"{given!r} is not a known {name}: give one of {context['expected_tags']}")
        case "missing":
            return "this is missing"
        case "string_too_short" if context.get("min_length") == 1:
            return "this is empty: write something"
        case "extra_forbidden":
            return "there is no such field"
        case "model_attributes_type" | "model_type" | "dict_type":
            return "this must be a JSON object; a body is sent with `Content-Type: application/json`"
        case "json_invalid":
            return f"this is not JSON: {context.get('error', '')}"
        case _:
            return _encodable(error["msg"].removeprefix("Value error, "))


def _encodable(text: str) -> str:
    """Return `text` without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def refuse_file(given: str | bytes, *, field: str) -> None:
    """Raises `BadInput` if a file of another kind, for instance a PDF, was given as text."""
    if kind := kind_of_file(given):
        english, chinese = in_both("field", f"import.is_{kind}")
        raise BadInput(f"is_{kind}", english, field=field, zh=chinese)
