"""Records without notifications."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tongyao.records.process.changes import Watch


class Unchanged:
    """A replacement for `tongyao.records.process.changes.Changes`."""

    def watch_all(self) -> AbstractContextManager[Watch]:
        return nullcontext(Watch())


UNCHANGED: Any = Unchanged()
