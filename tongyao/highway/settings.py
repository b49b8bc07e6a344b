"""What can be set in a Highway, and what each number was chosen by (measured in `docs/highway.md`)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log


@dataclass(frozen=True)
class Touch:
    """What a start's touch of a segment is worth (the terms of BM25: Robertson and Zaragoza 2009): further touches
    saturate by `k`, long segments count less by `b`, and `rarity` is the power of the start's rarity.

    In a line of dialogue every word was chosen and length is content; in a passage units recur, length is wordiness,
    and what is in every second passage says nothing.
    """

    k: float
    b: float
    rarity: float


@dataclass(frozen=True)
class Script:
    """Mean lengths (base units) up to which segments are `short`, and from which they are `long`; and the power by
    which a unit of n base units counts less (its parts are starts too, so a long match is touched many times)."""

    short: float
    long: float
    fade: float

    def blend(self, mean: float) -> float:
        """0 for short segments, 1 for long ones, by the logarithm of their mean length."""
        return min(max(log(max(mean, 1.0) / self.short) / log(self.long / self.short), 0.0), 1.0)


@dataclass(frozen=True)
class Settings:
    """Numbers of reciting, seeking and writing back. The defaults are measured; every field says what it
    means."""

    passes: int = 3
    """Times each level is recited."""
    most_passes: int = 6
    """Times it is recited at most, where seeks find that too little was (seed 004: no way means not recited enough)."""
    scaffolding: bool = True
    """Whether phrases that were sought once and never consolidated stay findable (`pruning.py`)."""
    ttl: int = 8
    """Most index hops a start is followed (seed 004, TTL)."""
    short: Touch = Touch(k=0.3, b=0.4, rarity=0.85)
    """What a touch is worth in segments that are short on average."""
    long: Touch = Touch(k=1.2, b=0.75, rarity=2.0)
    """The same in long ones; between the two by the logarithm of the mean length."""
    characters: Script = Script(short=48, long=384, fade=0.5)
    """Scripts without spaces."""
    words: Script = Script(short=16, long=48, fade=2.0)
    """Scripts with spaces."""
    faint: float = 0.1
    """What a start counts that is made only of stop words (`recite/stop_words.py`)."""
    instances: int = 300
    """Instances of frequent units (seed 004): a start that leads to more segments than this is split into instances,
    one for each `cell`, and lights only those in a cell where a rarer start has lit something. 0: never split."""
    cell: int = 16
    """Segments, in the order of the text, that one instance of a frequent unit serves."""
    order: float = 0.05
    """How much it counts that a query's neighbouring units are neighbours in a segment too; it decides between ties."""
    surroundings: float = 0.5
    """How much a start that lights a neighbouring segment counts, where neighbours belong together."""
    reach: int = 2
    """How many segments away a neighbour may be."""
    pull: float = 0.5
    """Category field: how much brighter, at most, a lit segment is that lies wholly in the query's direction. Without
    an encoder there is none."""
    prior: float = 10.0
    """Write-back: how many imagined seeks stand behind a unit's first success rate."""
    direct: float = 2.0
    """Write-back: strength of a direct path from a start to a target whose text does not hold it."""
    most_directs: int = 300_000
    """Write-back: direct paths kept of one owner (a process leaves about 9,000); beyond it those walked least go, of
    these the ones walked longest ago."""
    trodden: float = 0.05
    """Write-back: strength of a target's own walks, gated by the square of convergence."""
    alike: float = 16.0
    """Write-back: the power of the share of a query that has led to a target before; its own walks count for so much."""
