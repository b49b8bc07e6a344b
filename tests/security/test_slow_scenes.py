"""A scene with very long profiles is searched late, and not never; searches in other scenes do not wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from tongyao.field.intent_field import IntentField
from tongyao.field.scene import Scene
from tongyao.records.database import Pool, open_pool
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes

SLOW, QUICK = "slow", "quick"
LONG = "I restore water wheels of the slow scene."


@pytest.fixture
async def pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url)
    profiles = Profiles(pool)
    for scene, text in ((SLOW, LONG), (QUICK, "I bake bread.")):
        await Scenes(pool).put(scene, scene)
        await profiles.save(scene, scene_id=scene, display_name="", text=text, grade="B", language="en")
    yield pool
    await pool.close()


class Fitting:
    """`Scene.of`, which takes as long as the test wants for the slow scene."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.times = threading.Event(), threading.Event(), 0

    def of(self, texts: dict[str, str], *, samples: Sequence[str] = ()) -> Scene:
        if SLOW in texts:
            self.times += 1
            self.begun.set()
            assert self.may_end.wait(60)
        return _OF(texts, samples=samples)


_OF: Callable[..., Scene] = Scene.of


@pytest.fixture
def fitting(monkeypatch: pytest.MonkeyPatch) -> Fitting:
    made = Fitting()
    monkeypatch.setattr(Scene, "of", made.of)
    return made


async def _found(field: IntentField, scene: str) -> list[str]:
    [found] = await field.relevant(["water wheels and bread"], scene=scene, top=3)
    return [one.profile_id for one in found]


async def test_what_was_fitted_for_a_step_whose_time_was_over_is_there_for_its_next_try(
    pool: Pool, fitting: Fitting
) -> None:
    field = IntentField(pool)
    for _ in range(3):
        first_try = asyncio.ensure_future(_found(field, SLOW))
        assert await asyncio.to_thread(fitting.begun.wait, 60)
        first_try.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first_try
    last_try = asyncio.ensure_future(_found(field, SLOW))
    fitting.may_end.set()
    assert await last_try == [SLOW]
    assert await _found(field, SLOW) == [SLOW]
    assert fitting.times == 1


async def test_another_scene_is_searched_while_one_is_fitted(pool: Pool, fitting: Fitting) -> None:
    field = IntentField(pool)
    slow = asyncio.ensure_future(_found(field, SLOW))
    assert await asyncio.to_thread(fitting.begun.wait, 60)
    await Profiles(pool).save(SLOW, scene_id=SLOW, display_name="", text=LONG + " So.", grade="B", language="en")
    again = asyncio.ensure_future(_found(IntentField(pool), SLOW))
    await asyncio.sleep(0)
    assert await _found(field, QUICK) == [QUICK]
    fitting.may_end.set()
    assert await slow == [SLOW] == await again
