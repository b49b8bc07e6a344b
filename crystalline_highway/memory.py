"""The index (memory) of a set of source texts. It consists of arrays, which never change after they are built."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.compiled import compiled
from crystalline_highway.recite.pruning import pruned
from crystalline_highway.recite.recitation import Paths, Recited, Trie, Units
from crystalline_highway.recite.segments import Layout, Level, lay_out
from crystalline_highway.recite.walking import LONGEST
from crystalline_highway.tables import Table, collapse, matches

RECITED = (Level.PHRASE, Level.SHORT, Level.LONG, Level.PARAGRAPH, Level.TEXT)
SOUGHT = (Level.SHORT, Level.LONG, Level.PARAGRAPH, Level.TEXT)


@dataclass
class Memory:
    """All data for queries, and the paths that explain their scores.

    `sources` int32[K+1]: start of each source text in the joined text (texts are joined by one newline). `order`
    int32[V] sorts the base units by key. `occurs` int32[V]: frequencies of the base units in these texts. `words`
    bool[U]: the unit consists of words (otherwise of characters). `faint` bool[U]: the unit consists of stop words
    only. `spans[level]` int32[S, 2]: span of every segment in the joined text. `cohesion[level]` float in [0, 1]:
    lexical cohesion of neighbouring segments. `character_share`: share of the base units that are characters.
    `directions[level]` float16[R, d]: a vector per row, made by `encoder` (`direction.py`); empty without an encoder.
    `passes`: number of passes of each level. `settled`: whether more passes would change nothing. `symbols` int32[N]:
    the base units in the order of the text. `joined` bool[N]: whether a base unit is in the same phrase as the one
    before. `edges[level]` int32[S+1]: the first base unit of every segment, and N.
    """

    sources: NDArray[np.int32]
    units: Units
    order: NDArray[np.int32]
    occurs: NDArray[np.int32]
    words: NDArray[np.bool_]
    faint: NDArray[np.bool_]
    trie: Trie
    tables: dict[Level, Table]
    spans: dict[Level, NDArray[np.int32]]
    paths: dict[Level, Paths]
    cohesion: dict[Level, float]
    character_share: float
    rarity: dict[Level, NDArray[np.float32]]
    passes: int
    settled: bool
    symbols: NDArray[np.int32]
    joined: NDArray[np.bool_]
    edges: dict[Level, NDArray[np.int32]]
    directions: dict[Level, NDArray[np.float16]] = field(default_factory=dict)
    encoder: str = ""

    @property
    def base(self) -> int:
        """The number of base units. Their ids precede the ids of all other units."""
        return len(self.order)

    def unit_of(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the ids of base units by their surface keys; -1 for a unit that this memory does not have."""
        if not len(self.order):
            return np.full(len(keys), -1, np.int32)
        known = self.units.keys[self.order]
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[at] == keys, self.order[at], -1).astype(np.int32)

    def key_order(self) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
        """A function that maps surface keys to units, and unknown keys to -1."""
        order = self._key_order
        keys = self.units.keys[order]

        def find(wanted: NDArray[np.int64]) -> NDArray[np.int64]:
            if not len(keys):
                return np.full(len(wanted), -1, np.int64)
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            return np.where(keys[at] == wanted, order[at], -1)

        return find

    @cached_property
    def _key_order(self) -> NDArray[np.int64]:
        return np.argsort(self.units.keys)

    def text_of(self, level: Level) -> NDArray[np.int32]:
        """Return, for every place of a level, the index of its source text."""
        return self._texts[level]

    @cached_property
    def _texts(self) -> dict[Level, NDArray[np.int32]]:
        return {
            level: (np.searchsorted(self.sources, spans[:, 0], side="right") - 1).astype(np.int32)
            for level, spans in self.spans.items()
        }

    def path_count(self) -> int:
        """The number of sequence paths on all levels."""
        return sum(len(paths.ends) for paths in self.paths.values())

    def nbytes(self) -> int:
        """The size of the arrays, in bytes."""
        return sum(array.nbytes for array in _flat(self).values())

    def dump(self) -> bytes:
        """Return the arrays as an NPZ file. The file is not compressed, because random keys cannot be compressed."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **_flat(self))
        return buffer.getvalue()

    @classmethod
    def load(cls, data: bytes) -> Memory:
        """Return the memory in `data`, the result of `dump`. Raises ValueError for any other data."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            flat = {name: arrays[name] for name in arrays.files}
        try:
            return _unflat(flat)
        except KeyError as error:
            raise ValueError(
                f"this is not a recited memory: array {error} is missing; recite the texts again"
            ) from error


def _flat(memory: Memory) -> dict[str, NDArray[Any]]:
    flat: dict[str, NDArray[Any]] = {
        "sources": memory.sources,
        "order": memory.order,
        "occurs": memory.occurs,
        "words": memory.words,
        "faint": memory.faint,
        "share": np.array(memory.character_share),
        "passes": np.array(memory.passes),
        "settled": np.array(memory.settled),
        "symbols": memory.symbols,
        "joined": memory.joined,
    }
    groups: list[tuple[str, Any]] = [("units", memory.units), ("trie", memory.trie)]
    groups += [(f"table{int(level)}", table) for level, table in memory.tables.items()]
    groups += [(f"paths{int(level)}", paths) for level, paths in memory.paths.items()]
    for prefix, group in groups:
        flat |= {f"{prefix}.{f.name}": getattr(group, f.name) for f in fields(group)}
    for level, spans in memory.spans.items():
        flat[f"spans{int(level)}"] = spans
        flat[f"kin{int(level)}"] = np.array(memory.cohesion[level])
        flat[f"rarity{int(level)}"] = memory.rarity[level]
        flat[f"edges{int(level)}"] = memory.edges[level]
    flat["encoder"] = np.array(memory.encoder)
    flat |= {f"direction{int(level)}": vectors for level, vectors in memory.directions.items()}
    return flat


def _unflat(flat: dict[str, NDArray[Any]]) -> Memory:
    def group(kind: type[Any], prefix: str) -> Any:
        return kind(**{f.name: flat[f"{prefix}.{f.name}"] for f in fields(kind)})

    return Memory(
        sources=flat["sources"],
        units=group(Units, "units"),
        order=flat["order"],
        occurs=flat["occurs"],
        words=flat["words"],
        faint=flat["faint"],
        trie=group(Trie, "trie"),
        tables={level: group(Table, f"table{int(level)}") for level in SOUGHT},
        spans={level: flat[f"spans{int(level)}"] for level in SOUGHT},
        paths={level: group(Paths, f"paths{int(level)}") for level in RECITED},
        cohesion={level: float(flat[f"kin{int(level)}"]) for level in SOUGHT},
        character_share=float(flat["share"]),
        rarity={level: flat[f"rarity{int(level)}"] for level in SOUGHT},
        passes=int(flat["passes"]),
        settled=bool(flat["settled"]),
        symbols=flat["symbols"],
        joined=flat["joined"],
        edges={level: flat[f"edges{int(level)}"] for level in SOUGHT},
        directions={level: flat[f"direction{int(level)}"] for level in SOUGHT if f"direction{int(level)}" in flat},
        encoder=str(flat["encoder"]),
    )


def starts_of(memory: Memory, query: str) -> tuple[NDArray[np.int32], float]:
    """Return the query terms: int32[Q], the ids of all units of the memory that occur in `query`, of any length.

    Also returns the share of the query's base units that are not in the memory (1.0 for a query without base units).
    """
    layout = lay_out([query])
    if not len(layout.symbols):
        return np.zeros(0, np.int32), 1.0
    symbols = memory.unit_of(layout.keys)[layout.symbols].astype(np.int64)
    out = np.empty((len(symbols) * (LONGEST + 1), 3), np.int64)
    trie = memory.trie
    count = matches(symbols, 0, len(symbols), trie.keys, trie.child, trie.unit, out)
    return np.unique(out[:count, 2]).astype(np.int32), float((symbols < 0).mean())


def assemble(
    texts: Sequence[str],
    layout: Layout,
    units: Units,
    recited: dict[Level, Recited],
    *,
    passes: int,
    scaffolding: bool = True,
) -> Memory:
    """Make the memory from the recited levels. Without `scaffolding`, units that occur once are pruned."""
    trie = recited[Level.PHRASE].trie
    if not scaffolding:
        trie = pruned(trie, units, len(layout.keys), recited[Level.PHRASE].segments)
    tables = collapse(
        layout.symbols,
        {level: layout.bounds(level) for level in RECITED},
        {level: recited[level].segments for level in RECITED},
        trie,
        units.n,
    )
    first = layout.symbols[units.first] if len(units) else np.zeros(0, np.int32)
    words = layout.words[first] if len(units) else np.zeros(0, np.bool_)
    rarity = {level: _rarity(table) for level, table in tables.items()}
    faint = np.concatenate([[0], np.cumsum(layout.faint[layout.symbols])])
    return Memory(
        sources=np.cumsum([0, *(len(text) + 1 for text in texts)]).astype(np.int32),
        units=units,
        order=np.argsort(layout.keys).astype(np.int32),
        occurs=np.bincount(layout.symbols, minlength=len(layout.keys)).astype(np.int32),
        words=words,
        faint=faint[units.first + units.n] - faint[units.first] == units.n,
        trie=trie,
        tables=tables,
        spans={level: _stripped("\n".join(texts), layout.spans(level)) for level in SOUGHT},
        paths={level: recited[level].paths for level in RECITED},
        cohesion={level: cohesion_of(table, rarity[level]) for level, table in tables.items()},
        character_share=float(1 - layout.words[layout.symbols].mean()) if len(layout.symbols) else 1.0,
        rarity=rarity,
        passes=passes,
        settled=all(level.settled for level in recited.values()),
        symbols=layout.symbols,
        joined=layout.breaks == 0,
        edges={level: layout.bounds(level).astype(np.int32) for level in SOUGHT},
    )


def _rarity(table: Table) -> NDArray[np.float32]:
    """Return the rarity of each unit at a level: the idf of BM25 (Robertson and Zaragoza 2009, 3.1).

    Places are counted instead of rows, so a unit in a line that is repeated a hundred times is frequent.
    """
    often = np.bincount(table.places, minlength=len(table.units))[table.row]
    before = np.concatenate([[0], np.cumsum(often, dtype=np.float64)])
    count, places = before[table.start[1:]] - before[table.start[:-1]], len(table.places)
    rarity: NDArray[np.float32] = np.log1p((places - count + 0.5) / (count + 0.5)).astype(np.float32)
    return rarity


def _stripped(text: str, spans: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the spans without white space at their ends."""
    spans = spans.copy()
    for k, (start, end) in enumerate(spans.tolist()):
        piece = text[start:end]
        spans[k] = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    return spans


def cohesion_of(table: Table, rarity: NDArray[np.float32]) -> float:
    """Return the lexical cohesion of neighbouring segments, 0 to 1.

    Two shares of common rare units are compared: of a segment with the next segment, and with distant segments. The
    cohesion is 0 if the first share is at most 1.25 times the second (as in a shuffled collection), and 1 if it is at
    least 3 times the second (as in running text).
    """
    count = len(table.places)
    if count < 8:
        return 1.0
    start, units = table.by_row()
    near = _shared(start, units, table.places, rarity, 1)
    # three distances, because at a single distance a text with a refrain may be compared with its own repetition
    steps = (count // 2, count // 3, 2 * count // 5)
    far = sum(_shared(start, units, table.places, rarity, step) for step in steps) / len(steps)
    return float(np.clip((near / max(far, 1e-9) - 1.25) / 1.75, 0.0, 1.0))


@compiled
def _shared(start: Any, units: Any, places: Any, rarity: Any, step: int) -> float:
    """The mean share of rare units that segments have in common with the segments `step` places later.

    Pairs of segments with the same text are ignored.
    """
    total, counted = 0.0, 0
    for p in range(places.size):
        a, b = places[p], places[(p + step) % places.size]
        if a == b:
            continue
        i, j, both, one, other = start[a], start[b], 0.0, 0.0, 0.0
        for k in range(start[a], start[a + 1]):
            one += rarity[units[k]]
        for k in range(start[b], start[b + 1]):
            other += rarity[units[k]]
        while i < start[a + 1] and j < start[b + 1]:
            if units[i] == units[j]:
                both += rarity[units[i]]
                i, j = i + 1, j + 1
            elif units[i] < units[j]:
                i += 1
            else:
                j += 1
        if one > 0 and other > 0:
            total += both / min(one, other)
            counted += 1
    return total / max(counted, 1)
