"""Names and types of the recitation workflow: a profile version, recited in the background level by level."""

from __future__ import annotations

from typing import Final

from tongyao.protocol.contracts import FIELD_QUEUE
from tongyao.protocol.value import Value

RECITATION: Final = "Recitation"
RECITE_LEVEL: Final = "recite_level"
RECITATION_PROGRESS: Final = "progress"
RECITATION_QUEUE: Final = FIELD_QUEUE


class RecitationInput(Value):
    """Which version of which profile; its text stays in the records."""

    profile_id: str
    version: int

    @property
    def workflow_id(self) -> str:
        """One recitation per profile version: a second start finds the first."""
        return f"recitation-{self.profile_id}-{self.version}"


class RecitationProgress(Value):
    """`level`: the last recited level, by name (empty: none yet); `done`: the memory can be sought in."""

    level: str = ""
    done: bool = False
