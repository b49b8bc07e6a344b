"""Shortens a failing script by removing inputs (delta debugging)."""

from __future__ import annotations

from tests.simulation.run import play
from tests.simulation.script import Script
from tests.simulation.world import World

MAX_PLAYS = 1500


def failure_of(script: Script, logic: int, kind: type[World] = World) -> str:
    """Return the type and the first words of a script's failure, to compare failures. Empty if it does not fail."""
    try:
        play(script, logic=logic, kind=kind)
    except Exception as failure:
        return f"{type(failure).__name__} {' '.join(str(failure).split()[:4])}"
    return ""


def shrink(script: Script, logic: int, kind: type[World] = World) -> Script:
    """Return the shortest found script with the same failure as `script`."""
    whole = failure_of(script, logic, kind)
    plays = 0
    size = max(1, len(script) // 2)
    while size:
        at = 1  # `begin` stays
        while at < len(script) and plays < MAX_PLAYS:
            shorter = script[:at] + script[at + size :]
            plays += 1
            if failure_of(shorter, logic, kind) == whole:
                script = shorter
            else:
                at += size
        size //= 2
    return script
