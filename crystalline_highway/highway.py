"""The Crystalline Highway: `recite` (index), `seek` (query), `explain`, `write_back` (relevance feedback), `forget`
(delete).

It retrieves passages from long texts without a language model. Texts are indexed in the background, level by level.
Pairs that occur often enough are merged into units. A query scores the segments that contain its units. The caller
passes in the texts, a connection pool and, optionally, an encoder. `migrations/` defines the tables. Glossary:
docs/highway.md.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.deletion import Pool, StoredMemories
from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import Level
from crystalline_highway.recite.staging import StagedRecitation
from crystalline_highway.seek.direction import TextEncoder, give_direction, label
from crystalline_highway.seek.explanation import Explanation
from crystalline_highway.seek.explanation import explain as explain_piece
from crystalline_highway.seek.output import Excerpt, SeekResult, select_output
from crystalline_highway.seek.seeking import Session
from crystalline_highway.seek.seeking import seek as seek_memory
from crystalline_highway.settings import MemorySettings
from crystalline_highway.store import Store
from crystalline_highway.strengths import BoundStrengths, Strengths, strengths_of


class NotRecited(LookupError):
    """This version of the owner's memory does not exist or is not finished. Call `recite` first."""


@dataclass(frozen=True)
class UsedSpans:
    """Feedback from one occasion: `queries` led to the use of `spans`, each (source, start, end) in characters."""

    queries: tuple[str, ...]
    spans: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Progress:
    """Progress of a recitation. `level`: the level just finished; None if nothing was left to do. `done`: all are
    finished."""

    level: Level | None
    done: bool


@dataclass(frozen=True)
class ReciteRequest:
    """A recitation that is needed. `passes`: passes of each level. `encoder`: label of its encoder; empty for no
    vectors."""

    passes: int
    encoder: str


@dataclass
class _Cached:
    """A cached memory. `bound`: the owner's strengths, by the memory's units. `revision`: of these strengths."""

    recited_at: datetime
    memory: Memory
    revision: int = 0
    bound: BoundStrengths | None = None

    def nbytes(self) -> int:
        return self.memory.nbytes() + (self.bound.nbytes() if self.bound else 0)


class Highway:
    """Memories (indexes) by owner and version. Several tasks of one event loop may share it."""

    def __init__(
        self,
        pool: Pool,
        *,
        settings: MemorySettings | None = None,
        encoder: TextEncoder | None = None,
        cache_bytes: int = 512 << 20,
    ) -> None:
        """`encoder`: makes the vectors of the category field; None means no vectors. `cache_bytes`: limit of the cache
        of memories and their strengths, which evicts the least recently used memory first.
        """
        self._encoder = encoder
        self._store, self._stored = Store(pool), StoredMemories(pool)
        self._settings = settings or MemorySettings()
        self._limit = cache_bytes
        self._cache: OrderedDict[tuple[str, int], _Cached] = OrderedDict()

    async def recite(
        self,
        owner: str,
        version: int,
        texts: Sequence[str],
        progress: Callable[[Level], None] | None = None,
        *,
        passes: int = 0,
        directed: bool = True,
    ) -> None:
        """Index `texts` as this version of the owner's memory. An interrupted recitation is continued.

        A repetition with the same texts changes nothing, unless `passes` is greater than before. At least the passes of
        the settings are made. Other texts under the same version replace the memory. Until the new memory is finished,
        queries use the old one. `directed`: also make vectors if there is an encoder, which takes long.
        """
        while not (step := await self.recite_level(owner, version, texts, passes, directed=directed)).done:
            if progress is not None and step.level is not None:
                progress(step.level)

    async def recite_level(
        self, owner: str, version: int, texts: Sequence[str], passes: int = 0, *, directed: bool = True
    ) -> Progress:
        """Index and store one more level. After the last level the memory can be queried. Arguments as of `recite`."""
        settings = replace(self._settings, passes=max(passes, self._settings.passes))
        encoder = self._encoder if directed else None
        fingerprint = await asyncio.to_thread(_fingerprint, texts, settings, encoder)
        if not await self._store.begin(owner, version, fingerprint, settings.passes):
            return Progress(None, True)
        making = fingerprint + settings.passes.to_bytes(4)
        stages = await self._store.stages(owner, version, making)
        recitation = await asyncio.to_thread(StagedRecitation, texts, settings, stages)
        if recitation.next is not None:
            level, state = await asyncio.to_thread(recitation.step)
            await self._store.put_stage(owner, version, making, level, state)
            if recitation.next is not None:
                return Progress(level, False)
        memory = await asyncio.to_thread(recitation.memory)
        if encoder is not None:
            await asyncio.to_thread(give_direction, memory, texts, encoder)
        await self._store.finish(owner, version, memory, fingerprint)
        return Progress(Level.TEXT, True)

    async def seek(
        self,
        owner: str,
        version: int,
        texts: Sequence[str],
        queries: Sequence[tuple[str, str]],
        budget: int = 0,
    ) -> tuple[SeekResult, Session]:
        """Query the memory with (label, text) pairs.

        Returns the result, and the session that `explain` needs. `fitted` of the result has at most `budget`
        characters.

        Raises:
            NotRecited: there is no finished memory of this version.
            ValueError: `texts` are not the recited texts, or `budget` is negative.
        """
        cached = await self._cached(owner, version)
        memory, bound = cached.memory, await self._strengths(owner, cached)

        def work() -> tuple[SeekResult, Session]:
            session = seek_memory(memory, queries, self._settings, bound, encoder=self._encoder)
            return select_output(session, texts, budget), session

        return await asyncio.to_thread(work)

    def due(self, found: SeekResult, session: Session) -> ReciteRequest | None:
        """Return the recitation that is needed after a result, or None.

        If the query found too little, one more pass is needed, unless the memory has settled or has
        `MemorySettings.most_passes` passes. If another encoder made the vectors, the same number of passes is repeated.
        """
        memory, settings = session.memory, self._settings
        more = found.recite_more and not memory.settled and memory.passes < settings.most_passes
        undirected = self._encoder is not None and memory.encoder != label(self._encoder)
        return ReciteRequest(memory.passes + more, label(self._encoder)) if more or undirected else None

    def explain(self, session: Session, piece: Excerpt) -> Explanation:
        """Explain the score of a piece: the query terms that matched it, and the index paths of each match."""
        return explain_piece(session, piece)

    async def write_back(self, owner: str, version: int, occasion: str, walks: Sequence[UsedSpans]) -> bool:
        """Add relevance feedback, once per `occasion`. Returns False if this occasion was counted before.

        Stores only counts by units of the memory, and no text. Raises NotRecited if there is no such memory.
        """
        memory = (await self._cached(owner, version)).memory
        left = Strengths()
        for walk in walks:
            spans = [(int(memory.sources[s]) + start, int(memory.sources[s]) + end) for s, start, end in walk.spans]
            left.add(await asyncio.to_thread(strengths_of, memory, walk.queries, spans))
        return await self._store.add(owner, occasion, left, most_directs=self._settings.most_directs)

    async def forget(
        self, owner: str, version: int | None = None, source: int | None = None, texts: Sequence[str] = ()
    ) -> None:
        """Delete all data of an owner, one `version`, or one `source` of a version.

        `texts`: all source texts of the version, if a source is deleted. The other sources are then recited again, so
        that no unit, path or count remains that only the deleted source supported. The strengths of such units are
        deleted. Raises NotRecited, or IndexError if the source does not exist.
        """
        if version is None or source is None:
            for key in [k for k in self._cache if k[0] == owner and version in (None, k[1])]:
                del self._cache[key]
            await self._stored.forget(owner, version)
            return
        memory = (await self._cached(owner, version)).memory
        if not 0 <= source < len(texts) or len(texts) != len(memory.sources) - 1:
            raise IndexError(
                f"source {source} of {len(texts)} does not exist: the memory has {len(memory.sources) - 1} sources"
            )
        await self._stored.forget(owner, version)
        await self.recite(owner, version, [text for i, text in enumerate(texts) if i != source])
        rest = (await self._cached(owner, version)).memory
        await self._store.drop_units(owner, np.setdiff1d(memory.units.keys, rest.units.keys))
        self._cache.pop((owner, version), None)

    async def dictionary(self, owner: str, version: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the frequencies of a memory's base units in the memory, and over all owners."""
        memory = (await self._cached(owner, version)).memory
        return memory.occurs.astype(np.int64), await self._store.dictionary(memory.units.keys[: memory.base])

    async def _cached(self, owner: str, version: int) -> _Cached:
        key = (owner, version)
        recited_at = await self._store.recited_at(owner, version)
        cached = self._cache.get(key)
        # another worker may have recited the memory again or deleted it
        if cached is None or cached.recited_at != recited_at:
            self._cache.pop(key, None)
            try:
                memory = await self._store.memory(owner, version)
            except ValueError as error:
                raise NotRecited(
                    f"the memory of {owner!r}, version {version} was made by another build: recite it again"
                ) from error
            if memory is None or recited_at is None:
                raise NotRecited(f"no recited memory of {owner!r}, version {version}: recite it first")
            cached = self._cache[key] = _Cached(recited_at, memory)
        self._cache.move_to_end(key)
        self._evict()
        return cached

    async def _strengths(self, owner: str, cached: _Cached) -> BoundStrengths | None:
        revision = await self._store.revision(owner)
        if not revision:
            return None
        if cached.bound is None or cached.revision != revision:
            strengths = await self._store.strengths(owner)
            cached.bound = await asyncio.to_thread(BoundStrengths, cached.memory, strengths, self._settings)
            cached.revision = revision
            self._evict()
        return cached.bound

    def _evict(self) -> None:
        held = sum(each.nbytes() for each in self._cache.values())
        while held > self._limit and len(self._cache) > 1:
            held -= self._cache.popitem(last=False)[1].nbytes()


def _fingerprint(texts: Sequence[str], settings: MemorySettings, encoder: TextEncoder | None) -> bytes:
    """Return a digest of the texts and of the settings on which the index depends, except the number of passes."""
    digest = hashlib.blake2b(repr((_FORMAT, settings.scaffolding, label(encoder))).encode(), digest_size=16)
    for text in texts:
        digest.update(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    return digest.digest()


_FORMAT = 4  # increased when memories in the old format can no longer be read
