"""Tokens are kept by their hash alone; they end by time, by revocation, and with their person."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.records.conftest import Announce, NewId
from tongyao.records.database import Pool, session
from tongyao.records.people.tokens import PREFIX, Tokens, TokenUnknown


@pytest.fixture
def tokens(pool: Pool) -> Tokens:
    return Tokens(pool)


async def test_a_secret_finds_its_token_and_is_nowhere_in_the_records(
    pool: Pool, tokens: Tokens, new_id: NewId
) -> None:
    person = new_id("person")
    issued = await tokens.issue("person", person=person, label="phone")
    assert issued.secret.startswith(PREFIX) and len(issued.secret) > 40
    found = await tokens.find(issued.secret)
    assert found is not None and (found.id, found.person, found.expired) == (issued.token.id, person, False)
    async with session(pool) as connection:
        rows = await (await connection.execute("SELECT row_to_json(t)::text AS row FROM tokens t")).fetchall()
    assert all(issued.secret[3:] not in row["row"] for row in rows)
    assert await tokens.find(issued.secret[:-1]) is None
    assert await tokens.find("") is None


async def test_its_first_use_is_noted_once(tokens: Tokens, new_id: NewId) -> None:
    issued = await tokens.issue("person", person=new_id("person"))
    assert (await tokens.get(issued.token.id)).used_at is None
    await tokens.find(issued.secret)
    first = (await tokens.get(issued.token.id)).used_at
    await tokens.find(issued.secret)
    assert first is not None and (await tokens.get(issued.token.id)).used_at == first


async def test_time_revocation_and_the_end_of_a_person_end_it(tokens: Tokens, new_id: NewId) -> None:
    person = new_id("person")
    old = await tokens.issue("person", person=person, lasts=timedelta(seconds=-1))
    found = await tokens.find(old.secret)
    assert found is not None and found.expired
    one = await tokens.issue("person", person=person)
    first = (await tokens.revoke(one.token.id)).revoked_at
    assert first is not None and (await tokens.revoke(one.token.id)).revoked_at == first
    await tokens.issue("person", person=person)
    assert await tokens.revoke_all(person) == 2
    assert all(token.revoked_at for token in await tokens.list(person=person))
    with pytest.raises(TokenUnknown):
        await tokens.revoke("t-none")


async def test_the_records_refuse_a_token_that_is_nobodys_or_everybodys(
    tokens: Tokens, announce: Announce, new_id: NewId
) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        await tokens.issue("person")
    with pytest.raises(psycopg.errors.CheckViolation):
        await tokens.issue("operator", person=new_id("person"))
    with pytest.raises(psycopg.errors.CheckViolation):
        await tokens.issue("participant", person=new_id("person"), process_id=await announce())
