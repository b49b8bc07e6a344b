"""The base class of this package's errors."""

from __future__ import annotations


class RecordsError(Exception):
    """Base of all errors of this package. Messages hold ids, never people's texts."""
