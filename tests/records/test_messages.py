"""Messages to processes: stored before it is delivered, delivered until it has a verdict, applied once."""

from __future__ import annotations

import asyncio

import pytest

from tests.records.conftest import Announce, NewId
from tongyao.protocol.model.messages import Author, Conclude, ConfirmTension, SubmitProjection
from tongyao.protocol.rules.refusals import ACCEPTED, Refusal, Verdict
from tongyao.records.database import BadValue, Pool, open_pool, transaction
from tongyao.records.privacy.texts import Texts, text_id
from tongyao.records.process.messages import (
    KeyReused,
    Messages,
    MessageText,
    MessageUnknown,
    StoredMessage,
    message_text_id,
)
from tongyao.records.process.processes import NewProcess, Processes, ProcessUnknown

DEMANDER = Author(role="demander", alias="P00")


def confirm(key: str) -> ConfirmTension:
    return ConfirmTension(key=key, author=DEMANDER)


def submit(process: str, key: str) -> SubmitProjection:
    return SubmitProjection(
        key=key, author=Author(role="participant", alias="P02"), alias="P02", round=1,
        text_id=message_text_id(process, "ada", key),
    )  # fmt: skip


async def put(messages: Messages, process: str, key: str) -> StoredMessage:
    return await messages.put(process, confirm(key), author_id=f"author of {key}", via="cli")


async def test_a_message_waits_with_its_words_and_is_read_back_whole(pool: Pool, announce: Announce) -> None:
    messages, process = Messages(pool), await announce()
    message = submit(process, "k1")
    words = MessageText(owner="ada", kind="words", text="我能修织机。")
    stored = await messages.put(process, message, author_id="ada", via="api", text=words)
    assert stored.message == message
    assert (stored.state, stored.verdict, stored.attempts, stored.via) == ("pending", None, 0, "api")
    assert stored.text_id == message.text_id
    assert await Texts(pool).get(message.text_id) == "我能修织机。"
    assert await messages.pending(process) == [stored]


async def test_the_same_key_is_the_same_message_and_gets_its_first_verdict(pool: Pool, announce: Announce) -> None:
    messages, process = Messages(pool), await announce()
    for number in range(200):
        stores = (put(messages, process, f"k{number}") for _ in range(5))
        assert len({stored.id for stored in await asyncio.gather(*stores)}) == 1, "at the same moment, too"
    first = await put(messages, process, "k1")
    await messages.verdict(first.id, ACCEPTED)
    decided = await messages.verdict(first.id, Verdict.refused(Refusal.NOT_NOW))
    assert decided.verdict == ACCEPTED, "the first verdict stays"
    again = await put(messages, process, "k1")
    assert (again.id, again.state, again.verdict) == (first.id, "decided", ACCEPTED)
    assert again.decided_at is not None
    assert first.id not in {one.id for one in await messages.pending(process)}


async def test_keys_belong_to_one_author_in_one_process(pool: Pool, announce: Announce) -> None:
    messages, one, other = Messages(pool), await announce(), await announce()
    ids = {
        (await messages.put(process, confirm("k1"), author_id=author, via="cli")).id
        for process in (one, other)
        for author in ("ada", "bo")
    }
    assert len(ids) == 4


async def test_a_key_used_for_something_else_is_refused(pool: Pool, announce: Announce) -> None:
    messages, process = Messages(pool), await announce()
    await messages.put(process, confirm("k1"), author_id="ada", via="cli")
    with pytest.raises(KeyReused, match="k1"):
        await messages.put(process, Conclude(key="k1", author=DEMANDER), author_id="ada", via="cli")
    said = MessageText(owner="ada", kind="words", text="first")
    await messages.put(process, submit(process, "k2"), author_id="ada", via="api", text=said)
    with pytest.raises(KeyReused, match="k2"):
        await messages.put(
            process,
            submit(process, "k2"),
            author_id="ada",
            via="api",
            text=said.model_copy(update={"text": "other"}),
        )
    assert await Texts(pool).get(message_text_id(process, "ada", "k2")) == "first"


async def test_deliverers_asking_at_once_get_different_messages(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url, max_size=6)
    try:
        messages = Messages(pool)
        process = await _process(pool)
        sent = [(await put(messages, process, f"k{number}")).id for number in range(12)]
        taken = await asyncio.gather(*(messages.due(limit=3) for _ in range(6)))
        ids = [message.id for batch in taken for message in batch]
        assert len(ids) == len(set(ids)), "nobody shares a message"
        ids += [message.id for message in await messages.due(limit=12)]
        assert sorted(ids) == sorted(sent)
        assert await messages.due() == [], "all are leased"
    finally:
        await pool.close()


async def test_a_deliverer_does_not_wait_for_what_another_is_taking(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url)
    try:
        messages = Messages(pool)
        process = await _process(pool)
        first, second = await put(messages, process, "k1"), await put(messages, process, "k2")
        async with transaction(pool) as other, asyncio.timeout(5):
            await other.execute("SELECT 1 FROM messages WHERE id = %s FOR UPDATE", [first.id])
            assert [message.id for message in await messages.due()] == [second.id]
    finally:
        await pool.close()


async def test_a_message_is_delivered_again_until_it_has_a_verdict(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url)
    try:
        messages = Messages(pool)
        process = await _process(pool)
        first, second = await put(messages, process, "k1"), await put(messages, process, "k2")
        assert [message.id for message in await messages.due(lease=0)] == [first.id, second.id]
        assert [message.attempts for message in await messages.due(lease=3600)] == [2, 2]
        assert await messages.due() == []
        await messages.postpone(first.id, 0)
        assert [message.id for message in await messages.due(lease=0)] == [first.id]
        await messages.verdict(first.id, Verdict.refused(Refusal.NOT_NOW))
        await messages.postpone(first.id, 0)
        assert await messages.due() == [], "what is decided is never delivered again"
        assert [message.id for message in await messages.pending(process)] == [second.id]
    finally:
        await pool.close()


async def test_of_one_author_nothing_overtakes_what_was_sent_before(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url)
    messages, process = Messages(pool), await _process(pool)
    first, second = [
        await messages.put(process, confirm(key), author_id="ada", via="cli") for key in ("said", "corrected")
    ]
    other = await messages.put(process, confirm("said"), author_id="bo", via="cli")
    assert {one.id for one in await messages.due()} == {first.id, other.id}
    await messages.postpone(first.id, 60)
    assert await messages.due() == [], "what waits for its next try holds back what came after it"
    assert await messages.is_behind(second.id) and not await messages.is_behind(first.id)
    await messages.verdict(first.id, ACCEPTED)
    assert [one.id for one in await messages.due()] == [second.id]
    await pool.close()


async def test_what_does_not_exist_is_named(pool: Pool, new_id: NewId, announce: Announce) -> None:
    messages, process = Messages(pool), new_id("process")
    with pytest.raises(ProcessUnknown, match=process):
        await put(messages, process, "k1")
    with pytest.raises(MessageUnknown):
        await messages.verdict(text_id(process), ACCEPTED)
    with pytest.raises(BadValue):
        await messages.get("no id at all")


async def _process(pool: Pool) -> str:

    return (await Processes(pool).create(NewProcess(id="p", demander="d", language="en", intent_text_id=None))).id
