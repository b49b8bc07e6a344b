"""The base of what the records raise on purpose."""

from __future__ import annotations


class RecordsError(Exception):
    """Base of every error that the records raise on purpose. Messages hold ids, never a text of anybody."""
