"""Ids of texts that a process names itself."""

from __future__ import annotations

from uuid import UUID, uuid5

_TEXTS = UUID("7d2b1c52-2f0e-5e0c-9a55-6f2f6c7e61aa")


def process_text_id(process_id: str, name: str) -> str:
    """The same name is the same text, so writing it twice is harmless."""
    return str(uuid5(_TEXTS, f"{process_id}/{name}"))
