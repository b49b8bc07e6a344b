"""The phases of a process (docs/phases.md). The command line imports this module, so it imports no models."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Phase(StrEnum):
    """The phase of a process. Suspension is not a phase: a suspended process stays in its phase."""

    FORMULATING = "formulating"
    CONFIRMING = "confirming"
    DISCOVERING = "discovering"
    SELECTING = "selecting"
    CONSENTING = "consenting"
    CRYSTALLIZING = "crystallizing"
    DECIDING = "deciding"
    PLANNING = "planning"
    DELIVERING = "delivering"
    ANSWERING = "answering"
    AWAITING_CHILDREN = "awaiting_children"
    COMPLETED = "completed"
    ABANDONED = "abandoned"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in ENDED


ENDED: Final = frozenset({Phase.COMPLETED, Phase.ABANDONED, Phase.CANCELLED, Phase.EXPIRED, Phase.FAILED})
