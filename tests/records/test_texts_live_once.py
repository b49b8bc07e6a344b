"""A body stands in `texts` and in no other table, whichever way it came in (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal

from tests.records.conftest import Announce
from tests.records.test_ledger import USAGE
from tests.support.scan import find_in_database
from tongyao.llm.engine import CallKey
from tongyao.protocol.messages import Author, SubmitProjection
from tongyao.records.database import Pool, session
from tongyao.records.ledger import Ledger
from tongyao.records.messages import Messages, Words, words_id
from tongyao.records.profiles import Profiles, ProfileVersion

CANARY = '“金丝雀” canary/7 "quoted" \\ back'


async def test_every_way_in_leaves_the_words_in_texts_alone(
    pool: Pool, database_url: str, announce: Announce, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    process = await announce()
    await person(text=f"A profile with {CANARY} in it.")
    message = SubmitProjection(
        key="canary", author=Author(role="participant", alias="P01"), alias="P01", round=1,
        text_id=words_id(process, "ada", "canary"),
    )  # fmt: skip
    await Messages(pool).put(
        process, message, author_id="ada", door="api", words=Words(owner="ada", kind="words", text=CANARY)
    )
    ledger, key = Ledger(pool), CallKey(process, "project", round=1, alias="P01")
    attempt = await ledger.claim(key, input_hash="h", engine="e", model="m", worker="w")
    await ledger.settle(
        key, attempt, owner="ada", text=CANARY, draft_json=f'{{"claim": "{CANARY}"}}', engine="e", model="m",
        usage=USAGE, cost=Decimal(0),
    )  # fmt: skip
    assert find_in_database(database_url, CANARY) == ["texts.body"]


async def test_the_scan_sees_every_kind_of_column(
    pool: Pool, database_url: str, announce: Announce, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    """A canary test is worth what its scan can find: here the words are put where they must not be."""
    process, leak = await announce(), '漏 leak "q" \\ 9'
    await person(name=leak)
    profiles, someone = Profiles(pool), await person()
    await profiles.save(
        someone.profile_id,
        scene_id=(await profiles.get(someone.profile_id)).scene_id,
        display_name="x",
        text="x",
        grade="C",
        language="en",
        contact={"nested": [{"deep": leak}]},
    )
    async with session(pool) as connection:
        await connection.execute(
            """INSERT INTO relations (process_id, round, a, b, kind, sources)
               VALUES (%s, 1, 'P01', 'P02', 'aligned', %s)""",
            [process, ["R1/P01/1", f"R1/{leak}"]],
        )
        await connection.execute("UPDATE data_keys SET wrapped = %s WHERE owner = %s", [
            b"\xff\x00" + leak.encode(), someone.profile_id])  # fmt: skip
    assert find_in_database(database_url, leak) == [
        "data_keys.wrapped", "profiles.contact", "profiles.display_name", "relations.sources",
    ]  # fmt: skip
    assert find_in_database(database_url, "never written anywhere") == []
