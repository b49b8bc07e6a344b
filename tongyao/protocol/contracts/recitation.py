"""Names and types of the recitation workflow: a profile version, recited in the background level by level."""

from __future__ import annotations

import hashlib
from typing import Final

from tongyao.protocol.contracts.process import FIELD_QUEUE
from tongyao.protocol.model.value import Value

RECITATION: Final = "Recitation"
RECITE_LEVEL: Final = "recite_level"
RECITATION_PROGRESS: Final = "progress"
RECITATION_QUEUE: Final = FIELD_QUEUE


class RecitationInput(Value):
    """A profile and its version; its text stays in the records.

    `passes`, `encoder`: what a seek called for (docs/highway.md); else as the installation is set.
    """

    profile_id: str
    version: int
    passes: int = 0
    encoder: str = ""

    @property
    def workflow_id(self) -> str:
        """One recitation per profile version, passes and encoder: a second start finds the first."""
        parts = ["recitation", self.profile_id, str(self.version)]
        if self.encoder:
            parts.append(hashlib.blake2b(self.encoder.encode(), digest_size=4).hexdigest())
        if self.passes:
            parts.append(f"passes{self.passes}")
        return "-".join(parts)


class RecitationProgress(Value):
    """`level`: the last recited level, by name (empty: none yet); `done`: the memory can be sought in."""

    level: str = ""
    done: bool = False
