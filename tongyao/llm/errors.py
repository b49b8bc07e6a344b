"""How an engine fails, and what each way of failing means for the process (docs/models.md, the table of errors)."""

from __future__ import annotations


class EngineError(Exception):
    """Base of all. `reason` is a short closed word for the ledger and the events; it never holds a text of anybody."""

    reason = "engine_error"


class OperatorNeeded(EngineError):
    """Only an operator can mend it (an expired key, no credit, no server): the process is suspended with this message."""

    reason = "operator_needed"


class Transient(EngineError):
    """It may pass: retried, bounded. `retry_after` in seconds when the server named it."""

    reason = "transient"

    def __init__(self, message: str, *, retry_after: float | None = None, reason: str = "transient") -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.reason = reason


class StepFailed(EngineError):
    """This request cannot be answered, however often it is sent; the message says what to do."""

    reason = "step_failed"


class Refused(StepFailed):
    """The model declined to answer. An outcome that operators see by its name."""

    reason = "refused"


class Unreadable(EngineError):
    """An answer came, but not in the wanted shape. `text` is what came, for one repair call and then the fallbacks."""

    reason = "unreadable"

    def __init__(self, message: str, *, text: str) -> None:
        super().__init__(message)
        self.text = text


class Cut(Unreadable):
    """The answer ended at the token limit even after one retry with a larger one. It is never taken for whole."""

    reason = "cut"
