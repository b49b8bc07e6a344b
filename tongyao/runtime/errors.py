"""Errors of an installation and its servers. Their messages contain advice. Nothing else is imported here."""

from __future__ import annotations

from pathlib import Path


class NotRunning(Exception):
    """No service runs in this home. The message says how to start one."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"no service runs in {home}: start one with `tongyao up` (in another terminal)")
        self.home = home


class LocalServiceError(RuntimeError):
    """A local server could not be brought up. The message says what was wrong, where, and what to do."""


class TemporalUnreachable(Exception):
    """No Temporal server answers at the address. The message says which one and what to do."""


class NamespaceUnknown(TemporalUnreachable):
    """The server has no namespace of this name."""


class NotReady(Exception):
    """The server is not as a worker needs it. The message says what to run."""
