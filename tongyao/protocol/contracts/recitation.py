"""Names and types of the recitation workflow, which indexes a profile version in the background, level by level."""

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
    """A profile and its version. The text stays in the records.

    `passes`, `encoder`: as a search requested them (docs/highway.md); by default those of the installation.
    """

    profile_id: str
    version: int
    passes: int = 0
    encoder: str = ""

    @property
    def workflow_id(self) -> str:
        """The id for profile version, passes and encoder. A second start finds the first workflow."""
        parts = ["recitation", self.profile_id, str(self.version)]
        if self.encoder:
            parts.append(hashlib.blake2b(self.encoder.encode(), digest_size=4).hexdigest())
        if self.passes:
            parts.append(f"passes{self.passes}")
        return "-".join(parts)


class RecitationProgress(Value):
    """`level`: name of the last indexed level (empty: none yet). `done`: whether the profile can be searched."""

    level: str = ""
    done: bool = False
