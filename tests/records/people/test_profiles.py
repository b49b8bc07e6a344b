"""Profiles are versioned by their text; identities and mandates stand beside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.records.conftest import NewId
from tongyao.records.database import Pool
from tongyao.records.people.profiles import MandateRows, Profiles, ProfileUnknown, ProfileVersion
from tongyao.records.people.scenes import Scenes, SceneUnknown
from tongyao.records.privacy.texts import Texts, text_id

Person = Callable[..., Awaitable[ProfileVersion]]


async def test_an_import_is_idempotent_and_a_new_text_is_a_new_version(pool: Pool, new_id: NewId) -> None:
    profiles, scene, id = Profiles(pool), new_id("scene"), new_id("profile")
    await Scenes(pool).put(scene, "Weavers", {"language": "en"})

    async def save(text: str, name: str = "Ada Lind") -> ProfileVersion:
        return await profiles.save(id, scene_id=scene, display_name=name, text=text, grade="A", language="en")

    first = await save("Mends looms.")
    assert (first.version, first.chars) == (1, 12)
    assert await save("Mends looms.", name="Ada Lindh") == first
    assert (await profiles.get(id)).display_name == "Ada Lindh"
    second = await save("Mends looms and sails.")
    assert second.version == (await profiles.get(id)).current_version == 2
    assert (await save("Mends looms.")).version == 3, "going back to an earlier text is a change like any other"
    assert await profiles.version(id, 1) == first
    assert await Texts(pool).get(first.text_id) == "Mends looms."
    assert [version.profile_id for version in await profiles.of_scene(scene)] == [id]


async def test_every_string_that_names_a_person_is_an_identity(pool: Pool, new_id: NewId) -> None:
    profiles, scene, id = Profiles(pool), new_id("scene"), new_id("profile")
    await Scenes(pool).put(scene, "Weavers")
    contact = {
        "mail": "ada@example.org",
        "handles": [{"forum": "adaloom"}, ""],
        "year": 1980,
        "again": "Ada Lind",
    }
    await profiles.save(
        id, scene_id=scene, display_name="Ada Lind", text="x", grade="C", language="en", contact=contact
    )
    assert (await profiles.summaries([(id, 1)]))[id, 1].identities == ("Ada Lind", "ada@example.org", "adaloom")
    await profiles.delete(id)
    left = (await profiles.summaries([(id, 1)]))[id, 1]
    assert "Ada Lind" in left.identities, "whoever left is still not to be named"


async def test_a_deleted_profile_leaves_its_scene_but_not_the_processes_that_froze_it(
    pool: Pool, person: Person
) -> None:
    profiles, version = Profiles(pool), await person()
    scene = (await profiles.get(version.profile_id)).scene_id
    await profiles.delete(version.profile_id)
    assert await profiles.of_scene(scene) == []
    assert await profiles.version(version.profile_id, 1) == version
    with pytest.raises(ProfileUnknown, match=version.profile_id):
        await profiles.get(version.profile_id)
    with pytest.raises(ProfileUnknown):
        await profiles.save(version.profile_id, scene_id=scene, display_name="x", text="x", grade="C", language="en")


async def test_a_profile_stays_in_its_scene(pool: Pool, person: Person, new_id: NewId) -> None:
    profiles, version, elsewhere = Profiles(pool), await person(), new_id("scene")
    with pytest.raises(SceneUnknown, match=elsewhere):
        await profiles.save(
            version.profile_id, scene_id=elsewhere, display_name="x", text="x", grade="C", language="en"
        )
    await Scenes(pool).put(elsewhere, "Elsewhere")
    with pytest.raises(ProfileUnknown, match="another scene"):
        await profiles.save(
            version.profile_id, scene_id=elsewhere, display_name="x", text="x", grade="C", language="en"
        )
    assert (await profiles.get(version.profile_id)).display_name == "Ada Lind"


async def test_a_scene_keeps_its_settings_when_only_its_title_changes(pool: Pool, new_id: NewId) -> None:
    scenes, scene = Scenes(pool), new_id("scene")
    await scenes.put(scene, "Old", {"engine": "extractive"})
    await scenes.put(scene, "New")
    stored = await scenes.get(scene)
    assert (stored.title, stored.settings) == ("New", {"engine": "extractive"})
    assert scene in [known.id for known in await scenes.all()]
    with pytest.raises(SceneUnknown):
        await scenes.get(new_id("scene"))


async def test_without_a_mandate_everything_is_allowed_and_the_last_one_counts(pool: Pool, person: Person) -> None:
    mandates, id = MandateRows(pool), (await person()).profile_id
    mandate = (await mandates.get_many([id]))[id]
    assert (mandate.may_speak, mandate.text_id) == (True, None)
    words = await Texts(pool).put(id, "mandate", '{"never": ["health"]}', id=text_id(id, "mandate", 1))
    await mandates.put(id, may_speak=True, text_id=words)
    assert (await mandates.get_many([id]))[id].text_id == words
    await mandates.put(id, may_speak=False)
    mandate = (await mandates.get_many([id]))[id]
    assert (mandate.may_speak, mandate.text_id) == (False, None)
