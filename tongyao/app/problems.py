"""Everything that can be wrong, in one shape: a code, what was wrong, what to do. The API and MCP show the same."""

from __future__ import annotations

from typing import Any

from pydantic_core import ErrorDetails

from tongyao.app.errors import SCENES, BadInput
from tongyao.protocol.rules.refusals import Verdict
from tongyao.records.database import BadValue, DatabaseUnreachable
from tongyao.records.people.profiles import ProfileUnknown, SceneUnknown
from tongyao.records.people.tokens import TokenUnknown
from tongyao.records.privacy.texts import TextConflict, TextErased
from tongyao.records.process.messages import KeyReused, MessageUnknown
from tongyao.records.process.processes import BadCursor, ProcessExists, ProcessUnknown


class Problem(Exception):
    """A refused request. `status` is that of HTTP; `detail` says what was wrong and what to do."""

    status = 400

    def __init__(self, code: str, detail: str, *, status: int | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = status or self.status
        self.more = more

    def body(self) -> dict[str, Any]:
        """As `application/problem+json` (RFC 9457)."""
        return {
            "type": f"urn:tongyao:problem:{self.code}",
            "title": self.code.replace("_", " "),
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            **self.more,
        }


class Unauthenticated(Problem):
    status = 401


class NotAllowed(Problem):
    status = 403

    def __init__(self, detail: str) -> None:
        super().__init__("not_allowed", detail)


class NotFound(Problem):
    status = 404


class Refused(Problem):
    """The process refused a message: its own code, and both wordings."""

    status = 409

    def __init__(self, verdict: Verdict, message_id: str) -> None:
        super().__init__(verdict.code, verdict.en, zh=verdict.zh, message=message_id)


def why(error: ErrorDetails) -> str:
    """One thing that is not valid, in words for whoever sent it."""
    context = error.get("ctx") or {}
    match error["type"]:
        case "union_tag_not_found":
            return f"say which one it is: {context['discriminator']}"
        case "union_tag_invalid":
            return (
                f"{context['tag']!r} is no {context['discriminator'].strip(chr(39))}; one of {context['expected_tags']}"
            )
        case "json_invalid":
            return f"this is no JSON: {context.get('error', '')}"
        case _:
            return error["msg"].removeprefix("Value error, ")


def problem_of(error: Exception) -> Problem | None:
    """A known error of the rooms as a problem; None for what nobody expected."""
    match error:
        case Problem():
            return error
        case BadInput():
            return Problem(error.code, str(error), status=422, field=error.field)
        case KeyReused() | TextConflict() | ProcessExists():
            return Problem(
                "key_reused",
                "this Idempotency-Key was used for something else: send a new request under a new key",
                status=409,
            )
        case TextErased():
            return Problem("erased", "this text was erased by its owner", status=410)
        case ProcessUnknown():
            return NotFound("no_such_process", str(error))
        case ProfileUnknown():
            return NotFound("no_such_profile", str(error))
        case SceneUnknown():
            return NotFound("no_such_scene", f"{error}: {SCENES}")
        case MessageUnknown():
            return NotFound("no_such_message", str(error))
        case TokenUnknown():
            return NotFound("no_such_token", str(error))
        case BadCursor():
            return Problem("bad_cursor", str(error), status=422)
        case BadValue():
            return Problem("bad_value", str(error), status=422)
        case DatabaseUnreachable():
            return Problem("records_away", "the records cannot be reached now: try again in a moment", status=503)
        case _:
            return None
