"""One pool for a file of this folder, and the few rows that others stand on; every test makes its own ids."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import uuid4

import pytest

from tongyao.records.database import Pool, open_pool
from tongyao.records.people.profiles import Profiles, ProfileVersion
from tongyao.records.people.scenes import Scenes
from tongyao.records.privacy.keys import Keyring
from tongyao.records.process.process_rows import NewProcess, Processes

KEYS = Keyring(b"k" * 32)
NewId = Callable[[str], str]
Announce = Callable[[], Awaitable[str]]


@pytest.fixture(scope="module")
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, max_size=8, application_name="tests", keys=KEYS)
    yield pool
    await pool.close()


@pytest.fixture(scope="module")
def new_id() -> NewId:
    return lambda prefix: f"{prefix}-{uuid4().hex[:12]}"


@pytest.fixture(scope="module")
def announce(pool: Pool, new_id: NewId) -> Announce:
    """Makes the row of a new process and returns its id."""

    async def make() -> str:
        new = NewProcess(id=new_id("process"), demander="somebody", language="en", intent_text_id=None)
        return (await Processes(pool).create(new)).id

    return make


@pytest.fixture(scope="module")
def person(pool: Pool, new_id: NewId) -> Callable[..., Awaitable[ProfileVersion]]:
    """Imports a profile into a scene of its own."""

    async def make(text: str = "Repairs looms.", name: str = "Ada Lind") -> ProfileVersion:
        scene = new_id("scene")
        profiles = Profiles(pool)
        await Scenes(pool).put(scene, "A scene")
        return await profiles.save(
            new_id("profile"), scene_id=scene, display_name=name, text=text, grade="B", language="en"
        )

    return make
