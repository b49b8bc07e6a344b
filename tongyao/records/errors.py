"""The base class of this package's errors."""

from __future__ import annotations


class RecordsError(Exception):
    """Base class of all errors of this package. Messages contain ids, never people's texts."""
