"""The context of use cases that only read the records. `AppContext` implements it too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tongyao.records.repositories import Repositories


class Reading(Protocol):
    """A context with the repositories of the records."""

    @property
    def repositories(self) -> Repositories: ...


@dataclass(frozen=True)
class RecordsContext:
    """A context with only the records, for commands that need no Temporal client."""

    repositories: Repositories
