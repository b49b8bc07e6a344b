"""Parameters of the Highway. `docs/highway.md` has the measurements by which they were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from math import log


@dataclass(frozen=True)
class TermWeighting:
    """Parameters of the term weight (BM25: Robertson and Zaragoza 2009).

    `k`: saturation. `b`: length normalisation. `rarity`: the power of the inverse document frequency. They depend on
    segment length. In lines of dialogue a longer line has more content, and terms seldom repeat. In passages terms
    repeat, and a term in every second passage means little.
    """

    k: float
    b: float
    rarity: float


@dataclass(frozen=True)
class Script:
    """A kind of script.

    Segments up to a mean length of `short` base units count as short, and from `long` on as long. `fade`: a unit of n
    base units is weighted by n to the power -fade, because its parts are starts too.
    """

    short: float
    long: float
    fade: float

    def blend(self, mean: float) -> float:
        """0 for short segments, 1 for long ones, interpolated by the logarithm of their mean length."""
        return min(max(log(max(mean, 1.0) / self.short) / log(self.long / self.short), 0.0), 1.0)


@dataclass(frozen=True)
class MemorySettings:
    """Parameters of indexing, querying and feedback."""

    passes: int = 3
    """The number of passes over each level."""
    most_passes: int = 6
    """Maximum number of passes over each level, if queries find too little (seed 004: paths are missing)."""
    scaffolding: bool = True
    """Whether the lookup trie keeps units that occur once and were never merged (`recite/pruning.py`)."""
    ttl: int = 8
    """Maximum number of hops from a unit to a segment (seed 004, TTL)."""
    short: TermWeighting = TermWeighting(k=0.3, b=0.4, rarity=0.85)
    """The term weight for short segments."""
    long: TermWeighting = TermWeighting(k=1.2, b=0.75, rarity=2.0)
    """The term weight for long segments. In between, it is interpolated by the logarithm of the mean length."""
    characters: Script = Script(short=48, long=384, fade=0.5)
    """Parameters for scripts without spaces."""
    words: Script = Script(short=16, long=48, fade=2.0)
    """Parameters for scripts with spaces."""
    faint: float = 0.1
    """Factor on the weight of starts made of stop words only (`recite/stop_words.py`)."""
    instances: int = 300
    """Instances of frequent units (seed 004).

    A start that leads to more segments than this is split into instances, one for each `cell`. It scores only segments
    in cells where a rarer start has scored a segment. 0: starts are never split.
    """
    cell: int = 16
    """The number of segments, in the order of the text, in one instance of a frequent unit."""
    order: float = 0.05
    """The weight of term order (`seek/term_order.py`). It is small, because term order only breaks ties."""
    surroundings: float = 0.5
    """The weight of a match in a neighbouring segment, multiplied by the cohesion of the text."""
    reach: int = 2
    """The largest distance of a neighbour, in segments."""
    pull: float = 0.5
    """Category field: the score of a matching segment is multiplied by 1 + pull × cosine."""
    prior: float = 10.0
    """Write-back: pseudo-count of the prior on a unit's success rate."""
    direct: float = 2.0
    """Write-back: weight of a direct path from a start to a segment that does not contain the start."""
    most_directs: int = 300_000
    """Write-back: maximum number of direct paths stored per owner. One occasion added about 9,000.

    If there are more, the paths with the lowest counts are deleted, the oldest first among equal counts.
    """
    trodden: float = 0.05
    """Write-back: weight of the number of uses of a segment, multiplied by the square of convergence."""
    alike: float = 16.0
    """Write-back: exponent of the share of the query's starts that led to the segment in earlier queries."""
