"""The specification as oracles, written from docs/protocol.md and not from the code (docs/simulation.md)."""

from __future__ import annotations

from tests.simulation.oracles.base import Oracle
from tests.simulation.oracles.steps import Steps


def watch() -> list[Oracle]:
    """One of each, fresh."""
    return [Steps()]
