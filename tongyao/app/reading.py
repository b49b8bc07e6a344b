"""The context of use cases that only read the records. An `AppContext` is one of these, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tongyao.protocol.model.tension import NameFound

if TYPE_CHECKING:
    from tongyao.records.repositories import Repositories

FindNames = Callable[[str], Sequence[NameFound]]
"""Persons and firms that a text names. It takes a moment: not for the event loop."""


class Reading(Protocol):
    """Has the records. `find_names`: None where the words of profiles are not read."""

    @property
    def repositories(self) -> Repositories: ...

    @property
    def find_names(self) -> FindNames | None: ...


@dataclass(frozen=True)
class RecordsContext:
    """The records and nothing else: for commands that need no Temporal client."""

    repositories: Repositories
    find_names: FindNames | None = None
