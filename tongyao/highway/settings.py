"""What can be set in a Highway, and what each number was chosen by (measured in `docs/highway.md`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Numbers of reciting, seeking and writing back. The defaults are measured; every field says what it
    means."""

    passes: int = 3
    """Times each level is recited."""
    ttl: int = 8
    """Most index hops a start is followed (seed 004, TTL)."""
    characters: tuple[float, float, float, float] = (0.3, 0.35, 1.0, 0.5)
    """For scripts without spaces: saturation k, length b, power of rarity, and the power by which a unit of n
    base units counts less (its parts are starts too, so a long match is touched many times over)."""
    words: tuple[float, float, float, float] = (0.9, 0.75, 2.0, 2.0)
    """The same for words."""
    surroundings: float = 0.5
    """How much a start that lights a neighbouring segment counts, where neighbours belong together."""
    reach: int = 2
    """How many segments away a neighbour may be."""
    prior: float = 10.0
    """Write-back: how many imagined seeks stand behind a unit's first success rate."""
    direct: float = 0.75
    """Write-back: strength of a direct path from a start to a target whose text does not hold it."""
    trodden: float = 0.02
    """Write-back: strength of a target's own walks, gated by the square of convergence."""
