"""Texts are stored once, never changed, and only erasure removes them."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from tests.records.conftest import NewId
from tests.support.erasing import erase_from_records
from tongyao.records.database import Pool, session, transaction
from tongyao.records.privacy.texts import TextConflict, TextErased, Texts, TextUnknown, put_text, text_id


async def test_a_text_comes_back_as_it_was_put(pool: Pool, new_id: NewId) -> None:
    texts = Texts(pool)
    words = "织机 looms\n\x00 — “quoted” \\ 'single' 🧵"
    assert await texts.get(await texts.put(new_id("owner"), "words", words)) == words


async def test_the_same_put_again_changes_nothing(pool: Pool, new_id: NewId) -> None:
    texts, owner = Texts(pool), new_id("owner")
    id = text_id(owner, "project", 2, "P03")
    assert await texts.put(owner, "words", "first", id=id) == await texts.put(owner, "words", "first", id=id) == id


@pytest.mark.parametrize(("kind", "text"), [("words", "second"), ("answer", "first")])
async def test_an_id_that_stands_for_something_else_is_refused(pool: Pool, new_id: NewId, kind: str, text: str) -> None:
    texts, owner = Texts(pool), new_id("owner")
    id = await texts.put(owner, "words", "first", id=text_id(owner))
    with pytest.raises(TextConflict, match=id) as refused:
        await texts.put(owner, kind, text, id=id)
    assert "first" not in str(refused.value)
    assert await texts.get(id) == "first"


async def test_concurrent_puts_under_one_id_store_one_text(pool: Pool, new_id: NewId) -> None:
    texts, owner = Texts(pool), new_id("owner")
    puts = (texts.put(owner, "words", "same", id=text_id(owner)) for _ in range(6))
    assert len(set(await asyncio.gather(*puts))) == 1


async def test_texts_are_read_together_whatever_their_order(pool: Pool, new_id: NewId) -> None:
    texts, owner = Texts(pool), new_id("owner")
    ids = [await texts.put(owner, "words", word) for word in ("a", "b", "c")]
    assert await texts.get_many([*reversed(ids), ids[0]]) == dict(zip(ids, ("a", "b", "c"), strict=True))
    assert await texts.get_many([]) == {}
    with pytest.raises(TextUnknown):
        await texts.get_many([*ids, text_id("nobody", "put", "this")])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE texts SET body = '\\x00' WHERE id = %s",
        "UPDATE texts SET owner = 'thief' WHERE id = %s",
        "DELETE FROM texts WHERE id = %s",
        "TRUNCATE texts CASCADE; -- %s",
    ],
)
async def test_the_database_itself_refuses_to_change_a_text(pool: Pool, new_id: NewId, statement: str) -> None:
    texts = Texts(pool)
    id = await texts.put(new_id("owner"), "words", "for good")
    with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
        async with session(pool) as connection:
            await connection.execute(statement.replace("%s", f"'{id}'").encode())
    assert await texts.get(id) == "for good"


async def test_erasure_removes_the_words_of_one_owner_and_leaves_the_rows(pool: Pool, new_id: NewId) -> None:
    texts, one, other = Texts(pool), new_id("owner"), new_id("owner")
    gone = await texts.put(one, "words", "gone", id=text_id(one))
    kept = await texts.put(other, "words", "kept")
    assert await erase_from_records(pool, one) == 1
    assert await texts.get(kept) == "kept"
    with pytest.raises(TextErased, match=gone):
        await texts.get(gone)
    with pytest.raises(TextErased):
        await texts.put(one, "words", "gone", id=gone)
    assert await texts.get_many([gone, kept], erased="[erased]") == {gone: "[erased]", kept: "kept"}
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT destroyed_at, wrapped FROM data_keys WHERE owner = %s", [one])
        (key,) = await cursor.fetchall()
    assert key["destroyed_at"] is not None
    assert key["wrapped"] is None


async def test_erasure_waits_for_a_text_that_is_just_being_stored(pool: Pool, new_id: NewId) -> None:
    """Else a text stored in that moment would survive under a destroyed key."""
    texts, owner = Texts(pool), new_id("owner")
    await texts.put(owner, "words", "before")
    async with transaction(pool) as storing:
        late = await put_text(storing, owner, "words", "in that moment")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            async with session(pool) as erasing:
                await erasing.execute("SET lock_timeout = '50ms'; SELECT erase_texts('" + owner + "')")
    assert await texts.get(late) == "in that moment"
    assert await erase_from_records(pool, owner) == 2


async def test_even_while_erasing_a_body_can_only_become_nothing(pool: Pool, new_id: NewId) -> None:
    texts = Texts(pool)
    id = await texts.put(new_id("owner"), "words", "mine")
    async with session(pool) as connection, connection.transaction():
        await connection.execute("SET LOCAL tongyao.erasing = 'on'")
        await connection.execute("UPDATE texts SET body = 'forged' WHERE id = %s", [id])
    with pytest.raises(TextErased):
        await texts.get(id)


async def test_of_two_attempts_at_a_text_the_first_one_stands(pool: Pool, new_id: NewId) -> None:
    texts, owner = Texts(pool), new_id("owner")
    id = text_id(owner, "delivery")
    assert (
        await texts.first(owner, "delivery", "what the first attempt came to", id=id)
        == "what the first attempt came to"
    )
    assert await texts.first(owner, "delivery", "what the second would say", id=id) == "what the first attempt came to"
    with pytest.raises(TextConflict):
        await texts.first(owner, "plan", "of another kind", id=id)
    await erase_from_records(pool, owner)
    with pytest.raises(TextErased):
        await texts.first(owner, "delivery", "once more", id=id)
