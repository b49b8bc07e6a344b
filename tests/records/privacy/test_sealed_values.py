"""Names and addresses in columns: sealed for their owner and their place, and gone with the key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.erasing import destroy_key
from tongyao.records.database import Pool, session, transaction
from tongyao.records.people.notifications import Channel, Notifications
from tongyao.records.privacy.keys import BadKey
from tongyao.records.privacy.sealed_values import open_values, seal_value

VALUE = {"address": "ada@example.org", "deep": ["漏", None]}


async def test_a_value_is_sealed_and_opens_again(pool: Pool, new_id: Callable[[str], str]) -> None:
    owner = new_id("person")
    async with transaction(pool) as connection:
        stored = await seal_value(connection, owner, "channel/mail", VALUE)
        assert stored.sealed
        assert stored.body is not None
        assert b"ada@" not in stored.body
        assert await open_values(connection, [stored]) == [VALUE]


async def test_a_value_that_was_copied_to_another_place_does_not_open(pool: Pool, new_id: Callable[[str], str]) -> None:
    owner = new_id("person")
    async with transaction(pool) as connection:
        stored = await seal_value(connection, owner, "channel/mail", VALUE)
        with pytest.raises(BadKey):
            await open_values(connection, [stored._replace(place="identity")])


async def test_a_channel_of_somebody_whose_key_is_destroyed_is_no_channel(
    pool: Pool, new_id: Callable[[str], str]
) -> None:
    person, notifications = new_id("person"), Notifications(pool)
    await notifications.set_channel(Channel(person=person, kind="mail", address="a@example.org"))
    assert [one.address for one in await notifications.channels(person)] == ["a@example.org"]
    await destroy_key(pool, person)
    assert await notifications.channels(person) == []
    async with session(pool) as connection:
        assert (await connection.execute("SELECT 1 FROM channels WHERE person = %s", [person])).rowcount
