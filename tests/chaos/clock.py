"""The clock of a process, shifted while it runs, by libfaketime. The product knows nothing of it."""

from __future__ import annotations

import os
from pathlib import Path

PLACES = (
    "/usr/lib/*/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
    "/usr/local/lib/faketime/libfaketimeMT.so.1",
)


def library() -> Path | None:
    """Where libfaketime is; None: it is not installed (Debian: `libfaketime`)."""
    found = (path for place in PLACES for path in sorted(Path("/").glob(place.lstrip("/"))))
    return next(found, None)


class ShiftedClock:
    """The wall clock of every process that is started with `environment`. What measures spans of time is left alone."""

    def __init__(self, file: Path, library: Path) -> None:
        self._file, self._library = file, library
        self.shift(0)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }

    def shift(self, seconds: int) -> None:
        """Set all these clocks to so many seconds from the real time. It is seen within a second."""
        scratch = self._file.with_suffix(".new")
        scratch.write_text(f"{seconds:+d}\n")
        os.replace(scratch, self._file)
