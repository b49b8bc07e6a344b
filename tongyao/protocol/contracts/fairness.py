"""Order of waiting tasks (docs/operations.md §8): fairness keys of processes, priorities of steps."""

from __future__ import annotations

import hashlib
from typing import Any, Final, Literal

from tongyao.protocol.contracts.process import (
    DELIVER,
    DISCOVER,
    FORMULATE,
    PROJECT,
    ActivityContract,
    ActivityInput,
    ProcessInput,
    ProjectInput,
)

FairBy = Literal["demander", "scene"]

SOMEBODY_WAITS: Final = 2
ROUND: Final = 3
"""Temporal's default too."""
PROXIES: Final = 4


def fairness_key(start: ProcessInput, by: FairBy) -> str:
    """Return the fairness key of a process: a digest, since Temporal shows it unencrypted. A process without a scene goes by its demander."""
    whose = f"scene/{start.scene}" if by == "scene" and start.scene else f"demander/{start.demander}"
    return hashlib.sha256(f"{start.signal_key}/{whose}".encode()).hexdigest()[:16]


def priority_of(contract: ActivityContract[Any, Any], given: ActivityInput) -> int:
    """Return the priority, from 1 (first) to 5. First come steps that somebody waits for at this moment: a tension made of their words, words taken down,
    a delivery. Then what a round waits for. Last the calls of proxies, which nobody waits for by name."""
    if contract in (FORMULATE, DISCOVER, DELIVER):
        return SOMEBODY_WAITS
    if contract is PROJECT:
        assert isinstance(given, ProjectInput)
        return SOMEBODY_WAITS if any(turn.submissions for turn in given.turns) else PROXIES
    return ROUND
