"""An error that can be expected of a machine is one line that says what to do, never a traceback."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.errors import Refused
from tongyao.commands.expected_errors import exit_code_of, message_of
from tongyao.commands.terminal import EXIT_FAILED, EXIT_UNREACHABLE
from tongyao.protocol.rules.refusals import MessageVerdict, Refusal


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "may not write there"),
        (errno.EROFS, "read-only"),
        (errno.ENOTDIR, "is a file"),
    ],
)
def test_what_the_disk_refuses_is_said_with_the_place(number: int, said: str, tmp_path: Path) -> None:
    error = OSError(number, "as the system says it", str(tmp_path / "home"))
    assert exit_code_of(error) == EXIT_FAILED
    told = message_of(error)
    assert str(tmp_path / "home") in told and said in told and "\n" not in told


def test_an_error_that_nobody_expects_keeps_its_traceback() -> None:
    assert exit_code_of(ValueError("a defect")) is None
    assert exit_code_of(OSError(errno.EBADF, "a defect")) is None


@pytest.mark.parametrize(("language", "said"), [("en", "this process has ended"), ("zh", "这个过程已经结束")])
def test_a_refusal_is_told_in_the_language_of_the_process_alone(language: str, said: str) -> None:
    told = message_of(Refused(MessageVerdict.refused(Refusal.ENDED), "", language=language))
    assert told.startswith(f"refused: {said}")
    assert told.isascii() == (language == "en")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (RPCStatusCode.CANCELLED, EXIT_UNREACHABLE),
        (RPCStatusCode.DEADLINE_EXCEEDED, EXIT_UNREACHABLE),
        (RPCStatusCode.INVALID_ARGUMENT, None),
    ],
    ids=lambda one: str(one),
)
def test_a_server_that_does_not_answer_in_time_is_one_line_and_a_defect_is_none(
    status: RPCStatusCode, code: int | None
) -> None:
    error = RPCError("Timeout expired", status, b"")
    assert exit_code_of(error) == code
    if code is not None:
        assert message_of(error).startswith("Temporal did not answer in time (Timeout expired)")
