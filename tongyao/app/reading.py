"""The context of use cases that only read the records. An `AppContext` is one of these, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tongyao.records.repositories import Repositories


class Reading(Protocol):
    """Has the records."""

    @property
    def repositories(self) -> Repositories: ...


@dataclass(frozen=True)
class RecordsContext:
    """The records and nothing else: for commands that need no Temporal client."""

    repositories: Repositories
