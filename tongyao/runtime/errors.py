"""Errors of an installation and its servers. Their messages contain advice. The module imports no other module."""

from __future__ import annotations

from pathlib import Path


class NotRunning(Exception):
    """No service runs in this home. The message contains the command that starts one."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"no service runs in {home}: start one with `tongyao up` (in another terminal)")
        self.home = home


class LocalServiceError(RuntimeError):
    """A local server could not be started. The message contains the fault, its place and the remedy."""


class TemporalUnreachable(Exception):
    """No Temporal server answers at the address. The message contains the address and the remedy."""


class NamespaceUnknown(TemporalUnreachable):
    """The server has no namespace of this name."""


class NotReady(Exception):
    """The server lacks something that workers need. The message contains the command to run."""
