"""A body stands in `texts`, a name or an address in one column, and all of them sealed, whichever way they came in (docs/erasure.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal

import pytest

from tests.records.conftest import KEYS, Announce
from tests.records.test_ledger import USAGE
from tests.support.scan import find_in_database
from tongyao.llm.engine import CallKey
from tongyao.protocol.model.messages import Author, SubmitProjection
from tongyao.records.database import Pool, open_pool, session
from tongyao.records.model_calls import CallClaim, Ledger
from tongyao.records.people.notifications import Channel, Notifications
from tongyao.records.people.profiles import NewProfile, Profiles, ProfileVersion
from tongyao.records.people.scenes import Scenes
from tongyao.records.people.sources import Sources
from tongyao.records.privacy.keys import Keyring
from tongyao.records.process.messages import Messages, MessageText, message_text_id
from tongyao.records.process.process_rows import NewProcess, Processes

CANARY = '“金丝雀” canary/7 "quoted" \\ back'


WHERE = ["channels.body", "profiles.identity", "sources.config", "texts.body"]


@pytest.mark.parametrize(("keys", "found"), [(None, WHERE), (KEYS, [])])
async def test_words_stand_in_texts_names_and_addresses_in_their_columns_and_all_are_sealed(
    fresh_database_url: str, keys: Keyring | None, found: list[str]
) -> None:
    """Without a master key they show where they stand; with one they show nowhere."""
    pool = await open_pool(fresh_database_url, keys=keys)
    try:
        await say_everything(pool)
    finally:
        await pool.close()
    assert find_in_database(fresh_database_url, CANARY) == found


async def say_everything(pool: Pool) -> None:
    process = "process"
    await Processes(pool).create(NewProcess(id=process, demander="somebody", language="en", intent_text_id=None))
    await Scenes(pool).put("scene", "A scene")
    await Profiles(pool).save(
        "ada", scene_id="scene", display_name=f"Ada {CANARY}", text=f"A profile with {CANARY} in it.", grade="B", language="en",
        contact={"email": f"{CANARY}@example.org"},
    )  # fmt: skip
    bo = NewProfile(
        id="bo", display_name=f"Bo {CANARY}", text="Rows.", grade="B", language="en", contact={"phone": CANARY}
    )
    await Profiles(pool).add("scene", [bo])
    for person in ("ada", "a demander without a profile"):
        await Notifications(pool).set_channel(
            Channel(person=person, kind="webhook", address=f"https://example.org/{CANARY}", secret=CANARY)
        )
    await Sources(pool).put("ada", "http", {"chat_url": f"https://example.org/{CANARY}"}, {"access_token": CANARY})
    message = SubmitProjection(
        key="canary", author=Author(role="participant", alias="P01"), alias="P01", round=1,
        text_id=message_text_id(process, "ada", "canary"),
    )  # fmt: skip
    await Messages(pool).put(
        process, message, author_id="ada", via="api", text=MessageText(owner="ada", kind="words", text=CANARY)
    )
    ledger, key = Ledger(pool), CallKey(process, "project", round=1, alias="P01")
    attempt = await ledger.claim(key, input_hash="h", engine="e", model="m", worker="w")
    assert isinstance(attempt, CallClaim)
    await ledger.settle(
        key, attempt, owner="ada", text=CANARY, draft_json=f'{{"claim": "{CANARY}"}}', engine="e", model="m",
        usage=USAGE, cost=Decimal(0),
    )  # fmt: skip


async def test_the_scan_sees_every_kind_of_column(
    pool: Pool, database_url: str, announce: Announce, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    """A canary test is worth what its scan can find: here the words are put where they must not be."""
    process, leak, someone = await announce(), '漏 leak "q" \\ 9', await person()
    await Scenes(pool).put("scene of the scan", leak, {"nested": [{"deep": leak}]})
    async with session(pool) as connection:
        await connection.execute(
            "UPDATE processes SET suspended = %s WHERE id = %s", [["budget", f"R1/{leak}"], process]
        )
        await connection.execute("UPDATE data_keys SET wrapped = %s WHERE owner = %s", [
            b"\xff\x00" + leak.encode(), someone.profile_id])  # fmt: skip
    assert find_in_database(database_url, leak) == [
        "data_keys.wrapped", "processes.suspended", "scenes.settings", "scenes.title",
    ]  # fmt: skip
    assert find_in_database(database_url, "never written anywhere") == []
