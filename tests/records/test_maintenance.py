"""What nobody needs any more is deleted, and what must be known for ever is not."""

from __future__ import annotations

from datetime import timedelta

from tests.records.conftest import NewId
from tongyao.records.database import Pool, session
from tongyao.records.maintenance import delete_old_rows
from tongyao.records.people.tokens import Tokens


async def test_a_token_that_ended_long_ago_is_deleted_but_for_that_of_a_registration(pool: Pool, new_id: NewId) -> None:
    """Were it forgotten that a registration's token was used, a repetition of the registration would issue another."""
    tokens, person = Tokens(pool), new_id("person")
    owner = await tokens.issue("person", person=person, label="owner")
    revoked = await tokens.issue("person", person=person, label="phone")
    lately = await tokens.issue("person", person=person, label="laptop")
    good = await tokens.issue("person", person=person, label="tablet")
    expired = await tokens.issue("person", person=person, label="watch", lasts=timedelta(hours=1))
    for one in (owner, revoked, lately):
        await tokens.revoke(one.token.id)
    async with session(pool) as connection:
        await connection.execute(
            """UPDATE tokens SET revoked_at = revoked_at - interval '91 days', expires_at = expires_at - interval '91 days'
               WHERE id = ANY(%s)""",
            [[owner.token.id, revoked.token.id, expired.token.id]],
        )
    assert (await delete_old_rows(pool, timedelta(days=90)))["tokens"] >= 2
    assert {one.id for one in await tokens.list(person=person)} == {owner.token.id, lately.token.id, good.token.id}
