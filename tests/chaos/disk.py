"""A small disk of its own that can be filled: a tmpfs, which only root can mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MEGABYTES = 700


class SmallDisk:
    def __init__(self, home: Path) -> None:
        self._ballast = home / "ballast"

    def fill(self) -> None:
        """Leave nothing free."""
        with suppress(OSError), self._ballast.open("wb") as out:  # an error says that it is full already
            stat = os.statvfs(self._ballast.parent)
            free = stat.f_bavail * stat.f_frsize
            with suppress(OSError):
                os.posix_fallocate(out.fileno(), 0, free)
            while True:
                out.write(b"\0" * 65_536)
                out.flush()

    def relieve(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(home: Path) -> Iterator[SmallDisk | None]:
    """Mount one at `home` for the length of the block; None where that is not allowed."""
    home.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=0711", "tmpfs", str(home)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        yield None
        return
    try:
        yield SmallDisk(home)
    finally:
        subprocess.run(["umount", "-l", str(home)], check=False, capture_output=True)
