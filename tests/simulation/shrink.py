"""A shorter script that still fails, by taking inputs out (delta debugging)."""

from __future__ import annotations

from tests.simulation.run import play
from tests.simulation.script import Script

MAX_PLAYS = 1500


def failure_of(script: Script, logic: int) -> str:
    """What a script fails with: type and the first words, so that another failure is not taken for the same; empty: nothing."""
    try:
        play(script, logic=logic)
    except Exception as failure:
        return f"{type(failure).__name__} {' '.join(str(failure).split()[:4])}"
    return ""


def shrink(script: Script, logic: int) -> Script:
    """The shortest script found that fails as `script` does."""
    whole = failure_of(script, logic)
    plays = 0
    size = max(1, len(script) // 2)
    while size:
        at = 1  # `begin` stays
        while at < len(script) and plays < MAX_PLAYS:
            shorter = script[:at] + script[at + size :]
            plays += 1
            if failure_of(shorter, logic) == whole:
                script = shorter
            else:
                at += size
        size //= 2
    return script
