"""The messages and exit codes of the expected errors of commands."""

from __future__ import annotations

import errno
import sys

from tongyao.app.errors import Problem, Refused, Unavailable, problem_of
from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_REFUSED, EXIT_UNREACHABLE
from tongyao.commands.words import language, say
from tongyao.records.database import RecordsError
from tongyao.runtime.errors import LocalServiceError, NotReady, NotRunning, TemporalUnreachable
from tongyao.runtime.settings import SettingsError

_ON_DISK = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "quota_full",
    errno.EROFS: "read_only",
    errno.EACCES: "no_access",
    errno.ENOENT: "no_place",
    errno.ENOTDIR: "part_is_file",
    errno.EEXIST: "is_there",
    errno.EPERM: "no_access",
}
"""Names of texts in `texts/commands/file.toml`."""


def exit_code_of(error: Exception) -> int | None:
    """Return the exit code of an error, or None for an unexpected error."""
    match error:
        case Refused():
            return EXIT_REFUSED
        case Problem() | RecordsError():
            problem = problem_of(error)
            return EXIT_UNREACHABLE if problem is None or isinstance(problem, Unavailable) else EXIT_BAD_INPUT
        case SettingsError():
            return EXIT_BAD_INPUT
        case NotRunning() | LocalServiceError() | TemporalUnreachable() | NotReady():
            return EXIT_UNREACHABLE
        case OSError() if error.errno in _ON_DISK:
            return EXIT_FAILED
        case _ if _not_answered(error):
            return EXIT_UNREACHABLE
        case _:
            return None


def message_of(error: Exception) -> str:
    """Return the message of an expected error."""
    if isinstance(error, Refused):
        notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
        worded = str(error.details["zh"]) if language() == "zh" else error.worded
        return say("sent.refused", said=worded) + notes
    if isinstance(error, NotRunning):
        return say("wrong.not_running", home=error.home)
    if isinstance(error, Problem) and language() == "zh" and "zh" in error.details:
        return str(error.details["zh"])
    if isinstance(error, OSError) and error.errno in _ON_DISK:
        return f"{error.filename or say('file.cannot_write')}: {say(f'file.{_ON_DISK[error.errno]}')}"
    if _not_answered(error):
        return say("wrong.temporal_silent", error=error)
    return str(problem_of(error) or error)


def _not_answered(error: Exception) -> bool:
    """Return whether a call to Temporal got no answer in time.

    The Temporal SDK is not imported for this check, because only code that has imported it can raise such an error.
    """
    service = sys.modules.get("temporalio.service")
    if service is None or not isinstance(error, service.RPCError):
        return False
    codes = service.RPCStatusCode
    return error.status in (codes.CANCELLED, codes.DEADLINE_EXCEEDED, codes.UNAVAILABLE)
