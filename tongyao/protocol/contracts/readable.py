"""Texts that operators read in the Temporal UI without decryption."""

from __future__ import annotations


class Readable(str):
    """A summary of a workflow, step or timer. It stays plain in Temporal, so it names no person and quotes nobody."""

    __slots__ = ()
