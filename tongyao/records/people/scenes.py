"""Scenes: named collections of profiles, with their settings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from tongyao.protocol.model.value import Value
from tongyao.records.database import RecordsError, Repository


class SceneUnknown(RecordsError):
    """No scene has this id."""


class SceneRow(Value):
    id: str
    title: str
    settings: dict[str, Any]
    created_at: datetime


class Scenes(Repository):
    """The scenes of an installation, by id."""

    async def put(self, id: str, title: str, settings: dict[str, Any] | None = None) -> None:
        """Create the scene, or give it this title. If `settings` is None, existing settings are kept."""
        await self._run(
            """INSERT INTO scenes (id, title, settings)
               VALUES (%(id)s, %(title)s, COALESCE(%(settings)s::jsonb, '{}'))
               ON CONFLICT (id) DO UPDATE
               SET title = excluded.title, settings = COALESCE(%(settings)s::jsonb, scenes.settings)""",
            {"id": id, "title": title, "settings": Jsonb(settings) if settings is not None else None},
        )

    async def get(self, id: str) -> SceneRow:
        """Return one scene. Raises `SceneUnknown`."""
        scene = await self._one(SceneRow, "SELECT id, title, settings, created_at FROM scenes WHERE id = %s", [id])
        if scene is None:
            raise SceneUnknown(f"there is no scene {id!r}")
        return scene

    async def all(self) -> list[SceneRow]:
        """All scenes, by id."""
        return await self._all(SceneRow, "SELECT id, title, settings, created_at FROM scenes ORDER BY id")

    async def people(self) -> dict[str, int]:
        """The number of profiles in each scene, deleted ones included. Scenes without profiles are left out."""
        return await self._mapping("SELECT scene_id, count(*) AS people FROM profiles GROUP BY scene_id")
