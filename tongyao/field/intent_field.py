"""The intent field: finds people for a tension or a raw text (docs/field.md)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from pydantic import Field, ValidationError
from scipy.sparse import csr_matrix

from tongyao.field.encoders.encoder import Encoder, EncoderUnusable, Vectors
from tongyao.field.encoders.features import count_features, words
from tongyao.field.index.fitted_scene import InMemoryScene
from tongyao.field.index.indexed_scene import IndexedScene
from tongyao.field.index.indexer import Indexer
from tongyao.field.index.store import Index
from tongyao.field.perspectives import PERSPECTIVES, Match, union
from tongyao.field.scene import searchable_chunks
from tongyao.heavy_work import SCENES, one_at_a_time
from tongyao.protocol.contracts.maintenance import ModelSpec
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes, SceneUnknown
from tongyao.records.privacy.texts import Texts
from tongyao.records.process.seats import CandidateRow
from tongyao.single_flight import SingleFlight

FRESH_PEOPLE: Final = 200
"""Maximum number of new or changed people that one search indexes first. Later searches index the rest."""

NEAREST_TENSIONS: Final = 3
"""For a new person, a search is made only for this number of standing tensions, the nearest ones."""

BEST: Final = 3
"""A new person is a candidate for a standing tension only if the person ranks among this many people of the scene."""

PROFILE_CHARS: Final = 2_000
"""Number of first characters of a profile that are used if the profile is the query."""

log = logging.getLogger(__name__)


class SceneFieldSettings(Value):
    """Settings of discovery in one scene: the key `field` of the scene's settings (docs/field.md §3)."""

    k: int = Field(default=8, ge=1, le=50, description="The most people; a process may request fewer.")
    threshold: float = Field(
        default=0.0, ge=0, description="The lowest score of a candidate, in thirds of a standard deviation."
    )
    standing_threshold: float = Field(
        default=12.0,
        ge=0,
        description="The least score, in thirds of a standard deviation, of somebody who is new for a standing tension. Less in a small scene.",
    )
    shares: dict[str, float] = Field(
        default_factory=lambda: dict.fromkeys(PERSPECTIVES, 1.0),
        description="Weights by which the places are divided among the perspectives.",
    )


class IntentField:
    """Searches the scenes of one database, without language models.

    An encoder with weights (an embedding model) is used only in scenes that have an index with its vectors.
    """

    def __init__(
        self, pool: Pool, *, load: Callable[[ModelSpec], Encoder] | None = None, model: ModelSpec | None = None
    ) -> None:
        self._profiles, self._stored_scenes = Profiles(pool), Scenes(pool)
        self._texts = Texts(pool)
        self.indexer = Indexer(pool, load=load, model=model)
        self._scenes: dict[str, tuple[object, InMemoryScene | IndexedScene]] = {}
        self._lines: tuple[Mapping[str, str], TensionLines] | None = None
        self._making = SingleFlight[InMemoryScene | IndexedScene]()
        self._fresh = SingleFlight[None]()

    async def discover(
        self, tension: Tension, *, scene: str, limit: int, excluded: Sequence[str]
    ) -> Sequence[CandidateRow]:
        """Find candidates from all perspectives. The first `limit` distinct people are the best of all perspectives.

        The scene's own settings `k`, `threshold` and `shares` apply.
        """
        chosen = await self._settings(scene)
        most = min(limit, chosen.k)
        held = await self._scene(scene)
        lists = await held.lists(tension, limit=most, excluded=excluded, threshold=chosen.threshold)
        ranks = {
            (match.perspective, match.profile_id): rank
            for found in lists.values()
            for rank, match in enumerate(found, 1)
        }
        return [
            CandidateRow(
                perspective=match.perspective,
                rank=ranks[match.perspective, match.profile_id],
                profile_id=match.profile_id,
                score=match.score,
                reasons=list(match.reasons),
            )
            for match in union(lists, most, chosen.shares)
        ]

    async def answered_by(
        self, tension: Tension, *, scene: str, people: Collection[str], excluded: Sequence[str]
    ) -> list[CandidateRow]:
        """Those of `people` who are among the `BEST` of the scene for a whole standing tension (docs/field.md §3).

        Their scores reach both `standing_threshold` and the scene's `threshold`.
        """
        chosen = await self._settings(scene)
        best = await (await self._scene(scene)).answering(
            tension, top=min(BEST, chosen.k), excluded=excluded, threshold=chosen.standing_threshold
        )
        return [
            CandidateRow(
                perspective=one.perspective, rank=rank, profile_id=one.profile_id, score=one.score, reasons=one.reasons
            )
            for rank, one in enumerate(best, 1)
            if one.profile_id in people and one.score >= chosen.threshold
        ]

    def own_words(self, text: str, tensions: Mapping[str, Tension]) -> list[Passage]:
        return own_words(text, tensions)

    async def tensions_near(
        self, tensions: Mapping[str, str], *, scene: str, people: Collection[str]
    ) -> dict[str, set[str]]:
        """Find the `NEAREST_TENSIONS` nearest tensions of each of `people`. Returns the ids of people by tension.

        `tensions`: id → id of its text. The texts are read again only if `tensions` differs from the last call.
        """
        while any(index.behind for index in await self.indexer.store.indexes(scene) if index.state == "live"):
            await self._scene(scene)  # indexes new people, `FRESH_PEOPLE` at a time
        if self._lines is None or self._lines[0] != tensions:
            words = await self._texts.get_many([], known=tensions.values())
            waiting = {id: Tension.model_validate_json(words[text]) for id, text in tensions.items() if words.get(text)}
            self._lines = tensions, await SCENES.run(partial(TensionLines, waiting), person=f"scene/{scene}")
        lines, found = self._lines[1], dict[str, set[str]]()
        versions = await self._profiles.some_of_scene(scene, list(people))
        texts = await self._texts.get_many([version.text_id for version in versions], erased="")
        for version in versions:
            for id in await asyncio.to_thread(lines.nearest, texts[version.text_id], NEAREST_TENSIONS):
                found.setdefault(id, set()).add(version.profile_id)
        return found

    async def relevant(
        self, needs: Sequence[str], *, scene: str, top: int, excluded: Sequence[str] = ()
    ) -> list[list[Match]]:
        """Return the nearest people for each of `needs` (raw texts), best first. Raises `SceneUnknown`."""
        return await (await self._scene(scene, strict=True)).relevant(needs, top=top, excluded=excluded)

    async def perspectives(
        self, tension: Tension, *, scene: str, top: int, excluded: Sequence[str] = ()
    ) -> dict[str, list[Match]]:
        """Return the people for a tension or residual tension, by perspective. Raises `SceneUnknown`."""
        chosen = await self._settings(scene, strict=True)
        held = await self._scene(scene)
        return await held.lists(tension, limit=top, excluded=excluded, threshold=chosen.threshold)

    async def near_profile(self, profile_id: str, *, top: int) -> list[Match]:
        """Return the people of a profile's scene who are nearest to the profile, without its owner. Raises
        `ProfileUnknown`."""
        profile = await self._profiles.get(profile_id)
        text = await self._texts.get((await self._profiles.version(profile_id)).text_id)
        [found] = await self.relevant([text[:PROFILE_CHARS]], scene=profile.scene_id, top=top, excluded=[profile_id])
        return found

    async def _settings(self, scene: str, *, strict: bool = False) -> SceneFieldSettings:
        try:
            kept = (await self._stored_scenes.get(scene)).settings.get("field", {})
            return SceneFieldSettings.model_validate(kept)
        except SceneUnknown:
            if strict:
                raise
        except ValidationError as error:
            log.warning(
                "scene %s: its settings under `field` have %d errors, so the defaults are used",
                scene,
                error.error_count(),
            )
        return SceneFieldSettings()

    async def _scene(self, scene: str, *, strict: bool = False) -> InMemoryScene | IndexedScene:
        """Return the current scene. It uses the scene's lexical index if the index is live, and otherwise memory.

        For an unknown scene, raises `SceneUnknown` if `strict`, and otherwise returns an empty scene.
        """
        async with one_at_a_time(f"field/{id(self)}/{scene}"):
            live = [index for index in await self.indexer.store.indexes(scene) if index.state == "live"]
            if any(index.behind for index in live):
                await self._fresh.get(scene, partial(self.indexer.catch_up, scene, live, most=FRESH_PEOPLE))
            lexical = next((index for index in live if index.kind == "lexical"), None)
            models = await self._usable([index for index in live if index.kind == "model"])
            marks = [(index.id, index.deletions) for index in live]
            if lexical is not None:
                return await self._kept(scene, marks, lambda: self._wide(lexical, models))
            if strict:
                await self._stored_scenes.get(scene)
            versions = await self._profiles.of_scene(scene)
            key = (marks, [(version.profile_id, version.version) for version in versions])

            async def make() -> InMemoryScene:
                texts = await self._texts.get_many([version.text_id for version in versions], erased="")
                samples = await self.indexer.store.samples(scene)
                by_id = {version.profile_id: texts[version.text_id] for version in versions}
                return await InMemoryScene.of(scene, by_id, samples, self.indexer.store, models)

            return await self._kept(scene, key, make)

    async def _kept(self, scene: str, key: object, make: Callable[[], Any]) -> InMemoryScene | IndexedScene:
        """Return the cached scene for `key`, or make it with `make`.

        If the caller is cancelled, the work continues, and the next caller gets the result.
        """

        async def made() -> InMemoryScene | IndexedScene:
            found: InMemoryScene | IndexedScene = await make()
            self._scenes[scene] = (key, found)
            return found

        held = self._scenes.get(scene)
        return held[1] if held is not None and held[0] == key else await self._making.get((scene, repr(key)), made)

    async def _wide(self, lexical: Index, models: Sequence[tuple[Index, Encoder]]) -> IndexedScene:
        learned = await self.indexer.learned(lexical)
        indexes = [lexical, *(index for index, _ in models)]
        encoders = [learned.encoder, *(encoder for _, encoder in models)]
        return await IndexedScene.load(self.indexer.store, indexes, encoders, learned)

    async def _usable(self, indexes: Sequence[Index]) -> list[tuple[Index, Encoder]]:
        """Return the indexes whose encoder can be loaded in this program. Other indexes are logged and skipped."""
        found = []
        for index in indexes:
            try:
                found.append((index, await self.indexer.encoder(index)))
            except EncoderUnusable as error:
                log.warning("scene %s is searched without its model: %s", index.scene_id, error)
        return found


LEAST: Final = 0.08
"""Least cosine of a passage and a line. With a lower cosine they share little more than common words."""


@dataclass(frozen=True)
class Passage:
    """A passage of a profile, `text[start:end]`, that is near the line `part` (T, B1, E …) of the tension `tension`."""

    tension: str
    part: str
    start: int
    end: int


class TensionLines:
    """Lines of tensions as weighted hashed terms. I is left out, because it filters people and asks for nothing."""

    def __init__(self, tensions: Mapping[str, Tension]) -> None:
        lines = [
            (id, part, text) for id, one in tensions.items() for part, text in one.targets().items() if part != "I"
        ]
        counts = count_features([text for *_, text in lines] or ["-"], words)
        often = np.bincount(counts.indices, minlength=counts.shape[1])
        self.lines = [(id, part) for id, part, _ in lines]
        self._weights = np.log(1 + (1 + len(lines)) / (1 + often))
        self._features = np.unique(counts.indices)
        weighted = _weighted(counts, self._weights)
        compact = (weighted.data, np.searchsorted(self._features, weighted.indices), weighted.indptr)
        self._terms = csr_matrix(compact, shape=(weighted.shape[0], len(self._features))).tocsc()
        self._ids = list(dict.fromkeys(id for id, *_ in lines))
        self._starts = [n for n, (id, *_) in enumerate(lines) if n == 0 or id != lines[n - 1][0]]

    def cosines(self, pieces: Sequence[str]) -> Vectors:
        """Return the cosines between lines and pieces by their weighted terms, float[lines, pieces]."""
        own = _weighted(count_features(pieces, words), self._weights).tocoo()
        known = np.isin(own.col, self._features)
        columns, place = np.unique(np.searchsorted(self._features, own.col[known]), return_inverse=True)
        dense = np.zeros((len(columns), len(pieces)))
        dense[place, own.row[known]] = own.data[known]
        return np.asarray(self._terms[:, columns] @ dense, dtype=np.float32)

    def nearest(self, text: str, most: int) -> list[str]:
        """Ids of the `most` tensions nearest to a profile."""
        pieces = [text[chunk.start : chunk.end] for chunk in searchable_chunks(text)]
        if not self.lines or not pieces:
            return []
        best = np.maximum.reduceat(self.cosines(pieces).max(axis=1), self._starts)
        order = np.argsort(-best, kind="stable")[:most]
        return [self._ids[n] for n in order]


def own_words(text: str, tensions: Mapping[str, Tension]) -> list[Passage]:
    """Return for each tension that is near the profile the nearest passage of the profile, the nearest tension first.

    A term has a higher weight if fewer lines contain it.
    """
    there, chunks = TensionLines(tensions), searchable_chunks(text)
    if not there.lines or not chunks:
        return []
    near = there.cosines([text[chunk.start : chunk.end] for chunk in chunks])
    best: dict[str, tuple[float, Passage]] = {}
    for row, (id, part) in enumerate(there.lines):
        nearest = int(near[row].argmax())
        score = float(near[row, nearest])
        if score >= max(LEAST, best[id][0] if id in best else 0.0):
            best[id] = score, Passage(id, part, chunks[nearest].start, chunks[nearest].end)
    return [passage for _, passage in sorted(best.values(), key=lambda found: -found[0])]


def _weighted(counts: csr_matrix, weights: Any) -> csr_matrix:
    """Log counts times weights, each row of norm 1."""
    data = np.log1p(counts.data) * weights[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, data**2, minlength=counts.shape[0]))
    return csr_matrix((data / np.maximum(norms[rows], 1e-12), counts.indices, counts.indptr), shape=counts.shape)
