"""Module 1: a tension goes in, the people near it come out, seen from three perspectives (docs/field.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tongyao.field.perspectives import Found, View, union
from tongyao.field.relevance import relevant
from tongyao.field.scene import Scene
from tongyao.protocol.tension import Tension
from tongyao.records.database import Pool
from tongyao.records.profiles import Profiles
from tongyao.records.room import CandidateRow
from tongyao.records.texts import Texts


class IntentField:
    """Searches the scenes of one database. No model is asked."""

    def __init__(self, pool: Pool) -> None:
        self._profiles = Profiles(pool)
        self._texts = Texts(pool)
        self._scenes: dict[str, tuple[list[tuple[str, int]], Scene]] = {}
        self._loading = asyncio.Lock()

    async def discover(
        self, tension: Tension, *, scene: str, limit: int, excluded: Sequence[str]
    ) -> Sequence[CandidateRow]:
        """Candidates of all perspectives; the first `limit` distinct people are the union's top."""
        held = await self._scene(scene)
        lists = await asyncio.to_thread(_lists, held, tension, limit, excluded)
        ranks = {
            (one.perspective, one.profile_id): rank for found in lists.values() for rank, one in enumerate(found, 1)
        }
        return [
            CandidateRow(
                perspective=one.perspective,
                rank=ranks[one.perspective, one.profile_id],
                profile_id=one.profile_id,
                score=one.score,
                reasons=list(one.reasons),
            )
            for one in union(lists, limit)
        ]

    async def relevant(self, needs: Sequence[str], *, scene: str, top: int) -> list[list[Found]]:
        """For each raw text the nearest people, best first. Raises `SceneUnknown`."""
        await self._profiles.scene(scene)
        held = await self._scene(scene)
        return await asyncio.to_thread(relevant, held, needs, top=top)

    async def perspectives(self, tension: Tension, *, scene: str, top: int) -> dict[str, list[Found]]:
        """Each perspective's own list for a formulated tension. Raises `SceneUnknown`."""
        await self._profiles.scene(scene)
        return await asyncio.to_thread(_lists, await self._scene(scene), tension, top, ())

    async def _scene(self, scene: str) -> Scene:
        async with self._loading:
            versions = await self._profiles.of_scene(scene)
            key = [(version.profile_id, version.version) for version in versions]
            held = self._scenes.get(scene)
            if held is None or held[0] != key:
                texts = await self._texts.get_many([version.text_id for version in versions], erased="")
                made = await asyncio.to_thread(Scene.of, {v.profile_id: texts[v.text_id] for v in versions})
                held = self._scenes[scene] = (key, made)
            return held[1]


def _lists(scene: Scene, tension: Tension, limit: int, excluded: Sequence[str]) -> dict[str, list[Found]]:
    return View(scene, tension, excluded).lists(limit)
