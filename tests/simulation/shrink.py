"""A shorter script that still fails, by taking inputs out (delta debugging)."""

from __future__ import annotations

from tests.simulation.run import play
from tests.simulation.script import Script
from tests.simulation.world import World

MAX_PLAYS = 1500


def failure_of(script: Script, logic: int, kind: type[World] = World) -> str:
    """What a script fails with: type and the first words, so that another failure is not taken for the same; empty: nothing."""
    try:
        play(script, logic=logic, kind=kind)
    except Exception as failure:
        return f"{type(failure).__name__} {' '.join(str(failure).split()[:4])}"
    return ""


def shrink(script: Script, logic: int, kind: type[World] = World) -> Script:
    """The shortest script found that fails as `script` does."""
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
