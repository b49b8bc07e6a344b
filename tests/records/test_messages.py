"""Messages to processes: stored before it is delivered, delivered until it has a verdict, applied once."""

from __future__ import annotations

import asyncio

import pytest

from tests.records.conftest import Announce, NewId
from tests.support.kept import pending_messages
from tongyao.protocol.model.messages import (
    Author,
    Cancel,
    ChildEnded,
    Conclude,
    ConfirmTension,
    ConsentAnswer,
    Leave,
    Message,
    Resume,
    SubmitProjection,
)
from tongyao.protocol.rules.refusals import ACCEPTED, MessageVerdict, Refusal
from tongyao.records.database import BadValue, Pool, open_pool, transaction
from tongyao.records.privacy.texts import Texts, text_id
from tongyao.records.process.messages import (
    KeyReused,
    Messages,
    MessageText,
    MessageUnknown,
    StoredMessage,
    TooManyMessages,
    message_text_id,
)
from tongyao.records.process.process_rows import NewProcess, Processes, ProcessUnknown

DEMANDER = Author(role="demander", alias="P00")
OPERATOR = Author(role="operator")


def confirm(key: str) -> ConfirmTension:
    return ConfirmTension(key=key, author=DEMANDER)


def submit(process: str, key: str, alias: str = "P02") -> SubmitProjection:
    return SubmitProjection(
        key=key, author=Author(role="participant", alias=alias), alias=alias, round=1,
        text_id=message_text_id(process, "ada", key),
    )  # fmt: skip


async def put(messages: Messages, process: str, key: str, alias: str = "P00") -> StoredMessage:
    """A message by the lane of `alias`."""
    message = confirm(key) if alias == "P00" else submit(process, key, alias)
    return await messages.put(process, message, author_id=f"author of {key}", via="cli")


async def send(
    messages: Messages, process: str, message: Message, *, via: str = "api", login: str = ""
) -> StoredMessage:
    return await messages.put(process, message, author_id=f"{message.author.role}{login}", via=via, login=login)


async def test_a_message_waits_with_its_words_and_is_read_back_whole(pool: Pool, announce: Announce) -> None:
    messages, process = Messages(pool), await announce()
    message = submit(process, "k1")
    words = MessageText(owner="ada", kind="words", text="我能修织机。")
    stored = await messages.put(process, message, author_id="ada", via="api", text=words)
    assert stored.message == message.model_copy(update={"lane": "P02", "number": 1})
    assert (stored.state, stored.verdict, stored.attempts, stored.via) == ("pending", None, 0, "api")
    assert stored.text_id == message.text_id
    assert await Texts(pool).get(message.text_id) == "我能修织机。"
    assert await pending_messages(pool, process) == [stored]


async def test_the_same_key_is_the_same_message_and_gets_its_first_verdict(pool: Pool, announce: Announce) -> None:
    messages, process = Messages(pool), await announce()
    for number in range(200):
        stores = (put(messages, process, f"k{number}") for _ in range(5))
        assert len({stored.id for stored in await asyncio.gather(*stores)}) == 1, "at the same moment, too"
    first = await put(messages, process, "k1")
    await messages.verdict(first, ACCEPTED)
    decided = await messages.verdict(first, MessageVerdict.refused(Refusal.NOT_NOW))
    assert decided.verdict == ACCEPTED, "the first verdict stays"
    again = await put(messages, process, "k1")
    assert (again.id, again.state, again.verdict) == (first.id, "decided", ACCEPTED)
    assert again.decided_at is not None
    assert first.id not in {one.id for one in await pending_messages(pool, process)}


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


async def test_messages_are_numbered_within_their_lane(pool: Pool, announce: Announce) -> None:
    messages, process = Messages(pool), await announce()
    participant = Author(role="participant", alias="P01")
    said = submit(process, "said", "P01")
    sent = [
        await send(messages, process, confirm("one")),
        await send(messages, process, confirm("two")),
        await send(messages, process, said, via="api"),
        await send(messages, process, said.model_copy(update={"key": "by my agent"}), via="mcp"),
        await send(messages, process, said.model_copy(update={"key": "by my platform"}), via="source"),
        await send(messages, process, Leave(key="leave", author=participant, alias="P01")),
        await send(messages, process, Cancel(key="cancel", author=DEMANDER)),
        await send(messages, process, Resume(key="resume", author=OPERATOR), login="kim"),
        await send(messages, process, Conclude(key="conclude", author=OPERATOR), login="lee"),
        await send(messages, process, ChildEnded(key="ended", author=Author(role="child", alias="c.1-1"), child="c.1-1", outcome="completed")),
        await send(messages, process, ConsentAnswer(key="yes", author=Author(role="invited", alias="invited/3"), invitation=3, allow=True)),
    ]  # fmt: skip
    assert [(one.message.lane, one.message.number) for one in sent] == [
        ("P00", 1),
        ("P00", 2),
        ("P01", 1),
        ("P01/agent", 1),
        ("P01/agent", 2),
        ("P01/control", 1),
        ("P00/control", 1),
        ("operator/control", 1),
        ("operator", 1),
        ("c.1-1", 1),
        ("invited/3", 1),
    ]
    assert sent[7].login == "kim" and "kim" not in sent[7].message.model_dump_json(), "a login stays in its row"


async def test_messages_sent_at_once_get_numbers_without_holes(pool: Pool, announce: Announce) -> None:
    messages, process = Messages(pool), await announce()
    await asyncio.gather(*(put(messages, process, f"k{number}") for number in range(30)))
    assert sorted(one.number for one in await pending_messages(pool, process)) == list(range(1, 31))
    await put(messages, process, "k7")
    assert (await put(messages, process, "new")).number == 31, "a repetition takes no number"


async def test_two_operators_using_the_same_key_each_get_their_own(pool: Pool, announce: Announce) -> None:
    messages, process = Messages(pool), await announce()
    resume = Resume(key="k", author=OPERATOR)
    kim, lee = [await send(messages, process, resume, login=login) for login in ("kim", "lee")]
    assert kim.id != lee.id and (kim.number, lee.number) == (1, 2)


async def test_a_full_lane_takes_no_more_but_what_is_always_heard(
    pool: Pool, announce: Announce, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongyao.records.process.messages.MAX_MESSAGES", 2)
    messages, process = Messages(pool), await announce()
    first = await put(messages, process, "k1")
    await put(messages, process, "k2")
    with pytest.raises(TooManyMessages, match="P00"):
        await put(messages, process, "k3")
    assert [one.key for one in await pending_messages(pool, process)] == ["k1", "k2"], "nothing is kept of it"
    assert (await put(messages, process, "k1")).id == first.id, "a repetition is not one more"
    await put(messages, process, "k3", alias="P01")
    for number in range(3):
        await send(messages, process, Cancel(key=f"c{number}", author=DEMANDER))
        await send(messages, process, Conclude(key=f"o{number}", author=OPERATOR), login="kim")


async def test_relays_asking_at_once_get_different_messages(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url, max_size=6)
    try:
        messages = Messages(pool)
        process = await _process(pool)
        sent = [(await put(messages, process, f"k{number}", f"P{number:02d}")).id for number in range(12)]
        taken = await asyncio.gather(*(messages.due(limit=3) for _ in range(6)))
        ids = [message.id for batch in taken for message in batch]
        assert len(ids) == len(set(ids)), "nobody shares a message"
        ids += [message.id for message in await messages.due(limit=12)]
        assert sorted(ids) == sorted(sent)
        assert await messages.due() == [], "all are leased"
    finally:
        await pool.close()


async def test_a_relay_does_not_wait_for_what_another_is_taking(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url)
    try:
        messages = Messages(pool)
        process = await _process(pool)
        first, second = await put(messages, process, "k1"), await put(messages, process, "k2", "P01")
        async with transaction(pool) as other, asyncio.timeout(60):
            await other.execute("SELECT 1 FROM messages WHERE id = %s FOR UPDATE", [first.id])
            assert [message.id for message in await messages.due()] == [second.id]
    finally:
        await pool.close()


async def test_a_message_is_delivered_again_until_it_has_a_verdict(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url)
    try:
        messages = Messages(pool)
        process = await _process(pool)
        first, second = await put(messages, process, "k1"), await put(messages, process, "k2", "P01")
        assert [message.id for message in await messages.due(lease=-1)] == [first.id, second.id]
        assert [message.attempts for message in await messages.due(lease=3600)] == [2, 2], "a lease that is over"
        assert await messages.due() == [] and await messages.take(first.id) is None
        await messages.postpone(first.id, 0, trouble="no_worker")
        again = await messages.take(first.id)
        assert again is not None and (again.attempts, again.trouble, again.failures) == (3, "no_worker", 0)
        await messages.verdict(first, MessageVerdict.refused(Refusal.NOT_NOW))
        await messages.postpone(first.id, 0, trouble="no_worker")
        assert await messages.due() == [] and await messages.take(first.id) is None, (
            "what is decided is never sent again"
        )
        assert [message.id for message in await pending_messages(pool, process)] == [second.id]
    finally:
        await pool.close()


async def test_of_one_lane_nothing_overtakes_what_was_sent_before(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url)
    messages, process = Messages(pool), await _process(pool)
    first, second = [await put(messages, process, key) for key in ("said", "corrected")]
    other = await put(messages, process, "said by another", "P01")
    cancel = await send(messages, process, Cancel(key="cancel", author=DEMANDER))
    assert {one.id for one in await messages.due()} == {first.id, other.id, cancel.id}, "cancel waits behind nothing"
    await messages.postpone(first.id, 60, trouble="no_worker")
    assert await messages.due() == [], "what waits for its next try holds back what came after it"
    assert await messages.take(second.id) is None
    await messages.verdict(first, ACCEPTED)
    assert [one.id for one in await messages.due()] == [second.id]
    await pool.close()


async def test_behind_what_was_set_aside_the_next_of_the_lane_goes_on(fresh_database_url: str) -> None:
    pool = await open_pool(fresh_database_url)
    messages, process = Messages(pool), await _process(pool)
    first, second, third = [await put(messages, process, key) for key in ("one", "two", "three")]
    for one in (first, second):
        assert (await messages.take(one.id)) is not None
        await messages.postpone(one.id, 0, trouble="ValueError", failed=True, set_aside=True)
    assert not await messages.undelivered(process, ["P01"]) and await messages.undelivered(process, ["P00", "P01"])
    assert [one.id for one in await messages.due()] == [third.id], "one of a lane at a time"
    assert await messages.take(first.id) is None, "while another of its lane is on its way"
    await messages.verdict(third, MessageVerdict.refused(Refusal.NOT_NOW))
    assert not await messages.undelivered(process, ["P00"]), "nobody waits for what was set aside"
    assert [one.id for one in await messages.due()] == [first.id], "tried again, the earliest first"
    assert [one.id for one in await messages.set_aside_before(third)] == [first.id, second.id]
    await pool.close()


async def test_what_does_not_exist_is_named(pool: Pool, new_id: NewId, announce: Announce) -> None:
    messages, process = Messages(pool), new_id("process")
    with pytest.raises(ProcessUnknown, match=process):
        await put(messages, process, "k1")
    with pytest.raises(MessageUnknown):
        await messages.get(text_id(process))
    with pytest.raises(BadValue):
        await messages.get("no id at all")


async def _process(pool: Pool) -> str:
    return (await Processes(pool).create(NewProcess(id="p", demander="d", language="en", intent_text_id=None))).id
