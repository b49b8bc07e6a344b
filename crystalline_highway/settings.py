"""Parameters of the Highway. They were chosen by the measurements in `docs/highway.md`."""

from __future__ import annotations

from dataclasses import dataclass
from math import log


@dataclass(frozen=True)
class TermWeighting:
    """Parameters of the term weight (BM25: Robertson and Zaragoza 2009).

    `k`: saturation. `b`: length normalisation. `rarity`: the power of the inverse document frequency. Good values
    depend on the length of segments. In dialogue, a longer line has more content, and terms seldom repeat. In passages,
    terms repeat, and a term that is in every second passage means little.
    """

    k: float
    b: float
    rarity: float


@dataclass(frozen=True)
class Script:
    """Parameters for a kind of writing system.

    Segments with a mean length of at most `short` base units count as short, and of at least `long` as long. `fade`: a
    unit of n base units has the weight n to the power -fade, because its parts are starts too.
    """

    short: float
    long: float
    fade: float

    def blend(self, mean: float) -> float:
        """Return 0 for short segments, 1 for long segments, and between them a value interpolated by log(`mean`)."""
        return min(max(log(max(mean, 1.0) / self.short) / log(self.long / self.short), 0.0), 1.0)


@dataclass(frozen=True)
class MemorySettings:
    """Parameters of indexing, querying and feedback."""

    passes: int = 3
    """The number of passes over each level."""
    most_passes: int = 6
    """Maximum number of passes over each level, if queries find too little (seed 004: paths are missing)."""
    scaffolding: bool = True
    """Whether the lookup trie keeps units that occur only once and were never merged (`recite/pruning.py`)."""
    ttl: int = 8
    """Maximum number of hops from a unit to a segment (seed 004, TTL)."""
    short: TermWeighting = TermWeighting(k=0.3, b=0.4, rarity=0.85)
    """The term weight for short segments."""
    long: TermWeighting = TermWeighting(k=1.2, b=0.75, rarity=2.0)
    """The term weight for long segments. In between, it is interpolated by the logarithm of the mean length."""
    characters: Script = Script(short=48, long=384, fade=0.5)
    """Parameters for writing systems without spaces between words."""
    words: Script = Script(short=16, long=48, fade=2.0)
    """Parameters for writing systems with spaces between words."""
    faint: float = 0.1
    """Factor on the weight of starts that consist only of stop words (`recite/stop_words.py`)."""
    instances: int = 300
    """Number of segments from which a start counts as frequent (seed 004, instances).

    A start that leads to more segments is split into instances, one for each cell. Such a start scores only segments in
    cells in which a rarer start has scored a segment. 0: starts are never split.
    """
    cell: int = 16
    """The number of consecutive segments in one cell."""
    order: float = 0.05
    """The weight of term order (`seek/term_order.py`). It is small, because term order only breaks ties."""
    surroundings: float = 0.5
    """The weight of a match in a neighbouring segment, multiplied by the cohesion of the text."""
    reach: int = 2
    """The largest distance of a neighbouring segment, in segments."""
    pull: float = 0.5
    """Category field: the score of a matching segment is multiplied by 1 + `pull` × cosine."""
    prior: float = 10.0
    """Write-back: pseudo-count with which a unit's success rate is smoothed towards the mean rate."""
    direct: float = 2.0
    """Write-back: weight of a direct path from a start to a segment that does not contain the start."""
    most_directs: int = 300_000
    """Write-back: maximum number of direct paths stored per owner. One occasion added about 9,000.

    If there are more, the paths with the lowest counts are deleted, the oldest first among equal counts.
    """
    trodden: float = 0.05
    """Write-back: weight of the logarithm of a segment's number of uses. Multiplied by the square of convergence."""
    alike: float = 16.0
    """Write-back: exponent of the share of the query's starts that led to the segment in earlier queries."""
