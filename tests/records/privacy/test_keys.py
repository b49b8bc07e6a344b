"""Texts are sealed at rest: without the master key, with a changed byte, or in another row they do not open."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest

from tests.records.conftest import KEYS
from tests.support.erasing import destroy_key
from tests.support.scan import find_in_database
from tongyao.records.database import Pool, open_pool, session
from tongyao.records.privacy.keys import BadKey, KeyMissing, Keyring, new_data_key, seal, unseal
from tongyao.records.privacy.master_keys import SchemaMissing, register_master_key, rewrap
from tongyao.records.privacy.texts import TextErased, Texts
from tongyao.runtime.master_key import keyring
from tongyao.runtime.settings import Settings

OTHER = Keyring(b"o" * 32)
WORDS = "织机 and a walk-in cold room"


def test_what_is_sealed_opens_with_its_own_key_in_its_own_place_alone() -> None:
    key = new_data_key()
    sealed = seal(key, WORDS, "row 1")
    assert unseal(key, sealed, "row 1") == WORDS
    assert seal(key, WORDS, "row 1") != sealed, "the same words never look the same twice"
    changed = bytes([*sealed[:-1], sealed[-1] ^ 1])
    for wrong_key, body, place in [
        (new_data_key(), sealed, "row 1"),
        (key, sealed, "row 2"),
        (key, changed, "row 1"),
        (key, b"", "row 1"),
    ]:
        with pytest.raises(BadKey):
            unseal(wrong_key, body, place)


@pytest.mark.parametrize("text", ["", "not base64!", base64.b64encode(b"short").decode()])
def test_what_is_no_master_key_is_refused(text: str) -> None:
    with pytest.raises(BadKey, match="openssl"):
        Keyring.read(text)


def test_a_home_makes_its_key_once_and_shows_it_to_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    first = keyring(settings)
    assert keyring(settings).ids == first.ids
    path = tmp_path / "home" / "master.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["master.key"], "nothing half-made is left behind"
    path.write_text("nonsense")
    with pytest.raises(BadKey):
        keyring(settings)


def test_a_key_of_the_settings_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONGYAO_MASTER_KEY", base64.b64encode(b"k" * 32).decode())
    settings = Settings(home=tmp_path / "home")
    assert keyring(settings).ids == KEYS.ids
    assert not (tmp_path / "home").exists()
    assert base64.b64encode(b"k" * 32).decode() not in repr(settings)


async def test_without_its_master_key_a_database_tells_nothing(pool: Pool, database_url: str) -> None:
    texts = Texts(pool)
    id = await texts.put("ada", "words", WORDS)
    for keys in (OTHER, None):
        stranger = await open_pool(database_url, keys=keys)
        try:
            with pytest.raises(KeyMissing, match=KEYS.active):
                await Texts(stranger).get(id)
            with pytest.raises(KeyMissing):
                await Texts(stranger).put("ada", "words", "more")
        finally:
            await stranger.close()
    assert await texts.get(id) == WORDS
    assert find_in_database(database_url, WORDS) == []


async def test_a_body_moved_to_another_row_does_not_open(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url, keys=KEYS)
    try:
        texts = Texts(pool)
        mine, theirs = await texts.put("ada", "words", "mine"), await texts.put("ada", "words", "theirs")
        async with session(pool) as connection:
            await connection.execute("ALTER TABLE texts DISABLE TRIGGER texts_append_only")
            await connection.execute(
                "UPDATE texts SET body = (SELECT body FROM texts WHERE id = %s) WHERE id = %s", [theirs, mine]
            )
        with pytest.raises(BadKey):
            await texts.get(mine)
    finally:
        await pool.close()


async def test_a_destroyed_key_makes_a_kept_copy_unreadable(fresh_database_url: str) -> None:
    """What remains of an erased text in a copy of the table (a dead row, a replica) no longer opens."""
    pool = await open_pool(fresh_database_url, keys=KEYS)
    try:
        texts = Texts(pool)
        id = await texts.put("ada", "words", WORDS)
        async with session(pool) as connection:
            await connection.execute("CREATE TABLE copy AS SELECT id, body FROM texts")
            await destroy_key(pool, "ada")
            await connection.execute("ALTER TABLE texts DISABLE TRIGGER texts_append_only")
            await connection.execute("UPDATE texts SET body = copy.body FROM copy WHERE copy.id = texts.id")
        with pytest.raises(TextErased):
            await texts.get(id)
    finally:
        await pool.close()


async def test_texts_from_before_there_were_keys_stay_readable_and_new_ones_are_sealed(fresh_database_url: str) -> None:
    plain = await open_pool(fresh_database_url)
    old = await Texts(plain).put("ada", "words", "from before")
    await plain.close()
    pool = await open_pool(fresh_database_url, keys=KEYS)
    try:
        new = await Texts(pool).put("ada", "words", WORDS)
        assert await Texts(pool).get_many([old, new]) == {old: "from before", new: WORDS}
        assert find_in_database(fresh_database_url, WORDS) == []
    finally:
        await pool.close()


async def test_a_second_worker_with_a_key_of_its_own_is_stopped_at_the_door(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url, keys=KEYS)
    try:
        await register_master_key(pool, KEYS)
        await register_master_key(pool, KEYS)
        with pytest.raises(KeyMissing, match="TONGYAO_MASTER_KEY"):
            await register_master_key(pool, OTHER)
    finally:
        await pool.close()


async def test_a_database_without_a_schema_says_what_to_do(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url, keys=KEYS)
    try:
        async with session(pool) as connection:
            await connection.execute("DROP TABLE master_keys")
        with pytest.raises(SchemaMissing, match="tongyao prepare"):
            await register_master_key(pool, KEYS)
    finally:
        await pool.close()


async def test_a_new_master_key_takes_over(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url, keys=KEYS)
    id = await Texts(pool).put("ada", "words", WORDS)
    await register_master_key(pool, KEYS)
    await pool.close()
    both = Keyring(b"o" * 32, [b"k" * 32])
    pool = await open_pool(fresh_database_url, keys=both)
    await register_master_key(pool, both)
    assert await rewrap(pool, both) == 1
    assert await rewrap(pool, both) == 0
    await pool.close()
    pool = await open_pool(fresh_database_url, keys=OTHER)
    try:
        await register_master_key(pool, OTHER)
        assert await Texts(pool).get(id) == WORDS
        with pytest.raises(KeyMissing):
            await register_master_key(pool, KEYS)
    finally:
        await pool.close()
