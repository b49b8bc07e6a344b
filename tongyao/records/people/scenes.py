"""Scenes: named collections of profiles, with their settings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, RecordsError, fetch_all, reading, session


class SceneUnknown(RecordsError):
    """No scene has this id."""


class Scene(Value):
    id: str
    title: str
    settings: dict[str, Any]
    created_at: datetime


class Scenes:
    """The scenes of an installation, by id."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, id: str, title: str, settings: dict[str, Any] | None = None) -> None:
        """Make the scene, or give it this title; `settings` of an existing one are kept when None."""
        async with session(self._pool) as connection:
            await connection.execute(
                """INSERT INTO scenes (id, title, settings)
                   VALUES (%(id)s, %(title)s, COALESCE(%(settings)s::jsonb, '{}'))
                   ON CONFLICT (id) DO UPDATE
                   SET title = excluded.title, settings = COALESCE(%(settings)s::jsonb, scenes.settings)""",
                {"id": id, "title": title, "settings": Jsonb(settings) if settings is not None else None},
            )

    async def get(self, id: str) -> Scene:
        """Raises `SceneUnknown`."""
        async with reading(self._pool, Scene) as cursor:
            await cursor.execute("SELECT id, title, settings, created_at FROM scenes WHERE id = %s", [id])
            scene = await cursor.fetchone()
        if scene is None:
            raise SceneUnknown(f"there is no scene {id!r}")
        return scene

    async def all(self) -> list[Scene]:
        """All scenes, by id."""
        return await fetch_all(self._pool, Scene, "SELECT id, title, settings, created_at FROM scenes ORDER BY id")

    async def people(self) -> dict[str, int]:
        """How many people each scene holds; scenes without anybody are left out."""
        async with session(self._pool) as connection:
            cursor = await connection.execute("SELECT scene_id, count(*) AS people FROM profiles GROUP BY scene_id")
            return {row["scene_id"]: row["people"] for row in await cursor.fetchall()}
