"""The id of the running build, which the Temporal UI shows beside a worker and a workflow task (docs/operations.md §5)."""

from __future__ import annotations

import importlib.metadata
from functools import cache
from hashlib import sha256
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
_SOURCES = ("tongyao", "crystalline_highway", "workflows", "activities", "prompts")


@cache
def build_id() -> str:
    """Return the version and a digest of Tongyao's sources and prompts, such as `0.1.0-4f9a01c7`.

    Equal code has an equal id. The SDK's default is not used, because it hashes every module of every library at each
    start, which takes seconds.
    """
    digest = sha256()
    for file in sorted(
        file for room in _SOURCES for file in (_ROOT / room).rglob("*") if file.suffix in (".py", ".md")
    ):
        digest.update(file.relative_to(_ROOT).as_posix().encode())
        digest.update(file.read_bytes())
    return f"{importlib.metadata.version('tongyao')}-{digest.hexdigest()[:8]}"
