"""Parameters of the Highway. How they were chosen is measured in `docs/highway.md`."""

from __future__ import annotations

from dataclasses import dataclass
from math import log


@dataclass(frozen=True)
class Touch:
    """Parameters of the term weight (BM25: Robertson and Zaragoza 2009): saturation `k`, length normalisation `b`, and
    `rarity`, the power of the inverse document frequency.

    They depend on segment length: in a line of dialogue length is content and terms seldom repeat; in a passage terms
    repeat, and a term that every second passage contains says little.
    """

    k: float
    b: float
    rarity: float


@dataclass(frozen=True)
class Script:
    """Mean lengths (base units) up to which segments count as `short` and from which as `long`. `fade`: a unit of n base units
    is weighted by n to the power -fade, because its parts are starts as well."""

    short: float
    long: float
    fade: float

    def blend(self, mean: float) -> float:
        """0 for short segments, 1 for long ones, by the logarithm of their mean length."""
        return min(max(log(max(mean, 1.0) / self.short) / log(self.long / self.short), 0.0), 1.0)


@dataclass(frozen=True)
class Settings:
    """Parameters of indexing, querying and feedback."""

    passes: int = 3
    """Times each level is recited."""
    most_passes: int = 6
    """Most times each level is recited, where queries find too little (seed 004: no way means not recited enough)."""
    scaffolding: bool = True
    """Whether units that occur once and were never merged stay in the lookup trie (`recite/pruning.py`)."""
    ttl: int = 8
    """Most hops from a unit to a segment (seed 004, TTL)."""
    short: Touch = Touch(k=0.3, b=0.4, rarity=0.85)
    """Term weight for short segments."""
    long: Touch = Touch(k=1.2, b=0.75, rarity=2.0)
    """Term weight for long segments; interpolated by the logarithm of the mean length."""
    characters: Script = Script(short=48, long=384, fade=0.5)
    """Scripts without spaces."""
    words: Script = Script(short=16, long=48, fade=2.0)
    """Scripts with spaces."""
    faint: float = 0.1
    """Factor on the weight of starts made of stop words only (`recite/stop_words.py`)."""
    instances: int = 300
    """Instances of frequent units (seed 004): a start that leads to more segments than this is split into instances,
    one for each `cell`, and lights only those in a cell where a rarer start has lit something. 0: never split."""
    cell: int = 16
    """Segments, in the order of the text, that one instance of a frequent unit serves."""
    order: float = 0.05
    """Weight of term order: neighbouring units of the query that are also neighbours in a segment. Small: it breaks ties."""
    surroundings: float = 0.5
    """Weight of a match in a neighbouring segment, multiplied by the cohesion of the text."""
    reach: int = 2
    """Largest distance of a neighbour, in segments."""
    pull: float = 0.5
    """Category field: the score of a matching segment is multiplied by 1 + pull × cosine."""
    prior: float = 10.0
    """Write-back: pseudo-count of the prior on a unit's success rate."""
    direct: float = 2.0
    """Write-back: weight of a direct path from a start to a segment that does not contain it."""
    most_directs: int = 300_000
    """Write-back: direct paths kept per owner (an occasion added about 9,000). Beyond it those with the lowest counts are
    deleted, of these the oldest."""
    trodden: float = 0.05
    """Write-back: weight of how often a segment was used, multiplied by the square of convergence."""
    alike: float = 16.0
    """Write-back: power of the share of the query's starts that led to the segment before."""
