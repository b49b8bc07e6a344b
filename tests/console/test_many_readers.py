"""Many who read the page of one process at the same time: few statements, and nobody gets what another may see."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import AsyncCursor

from tests.console.room import Ferry, ferry
from tests.console.test_access import FORM_TOKEN
from tests.gateway.conftest import GatewayHarness, gateway
from tests.support.erasing import destroy_key
from tests.support.until import until
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.privacy.erasure import Erasing

__all__ = ["gateway"]

OWN = re.compile(r'(name="(?:form_token|key)" value=")[^"]*')
KEY = re.compile(r'name="key" value="([^"]*)"')
MOST_STATEMENTS = 24
"""Of one page of a live process, with the visitor's session."""
counted: ContextVar[Counter[str] | None] = ContextVar("counted", default=None)


async def in_round_3(gateway: GatewayHarness) -> AsyncIterator[Ferry]:
    """A process in its third round, in which all proxies have spoken and one person is asked: nothing changes by itself."""
    found = await ferry(gateway)
    await found.start()
    await found.until_round(3)

    async def proxies_have_spoken() -> bool:
        received = await found.stack.repositories.events.of_kind(found.pid, EventKind.PROJECTION_RECEIVED)
        return {one.data["alias"] for one in received if one.data["round"] == 3} == set(found.seats) - {found.human}

    await until(proxies_have_spoken)
    yield found
    await found.stack.say(found.pid, "cancel")


house = pytest.fixture(scope="module", name="house")(in_round_3)
"""For tests that only read it."""
own_house = pytest.fixture(name="own_house")(in_round_3)


@asynccontextmanager
async def browsers(gateway: GatewayHarness, *secrets: str) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Browsers that are signed in with these tokens."""
    async with AsyncExitStack() as closing:
        visitors = [await closing.enter_async_context(gateway.visitor(secret)) for secret in secrets]
        for one in visitors:
            one.http.follow_redirects = False
        yield [one.http for one in visitors]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every statement of what the test itself asks for, and none of the workers'."""
    execute, found = AsyncCursor.execute, Counter[str]()

    async def counting(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        if (mine := counted.get()) is not None:
            mine[" ".join(str(query).split())] += 1
        return await execute(self, query, *more, **named)

    monkeypatch.setattr(AsyncCursor, "execute", counting)
    return found


async def read(http: httpx.AsyncClient, path: str) -> str:
    answer = await http.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_a_page_of_a_live_process_takes_few_statements_and_thirty_readers_little_more(
    gateway: GatewayHarness, house: Ferry, statements: Counter[str]
) -> None:
    path = f"/console/processes/{house.pid}"
    secrets = (house.tokens[DEMANDER], house.tokens[house.human], await gateway.operator())
    async with browsers(gateway, *secrets) as (*people, operator):
        for http in (*people, operator):
            await read(http, path)
            counted.set(statements)
            statements.clear()
            await read(http, path)
            counted.set(None)
            assert 1 <= statements.total() <= MOST_STATEMENTS, statements
        counted.set(statements)
        statements.clear()
        await asyncio.gather(*(read(http, path) for http in people for _ in range(15)))
        counted.set(None)
    readers = 30
    assert statements.total() <= readers + len(people) * 3 * MOST_STATEMENTS, statements


async def test_readers_at_the_same_time_each_get_their_own_page(gateway: GatewayHarness, house: Ferry) -> None:
    path = f"/console/processes/{house.pid}"
    scoped = await gateway.context.repositories.tokens.issue(
        "participant", person=house.people[house.human], process_id=house.pid, alias=house.human
    )
    secrets = [*house.tokens.values(), scoped.secret, await gateway.operator()]
    async with browsers(gateway, *secrets) as all_of_them:
        all_of_them[1].cookies.set("tongyao_language", "zh", path="/console")
        alone = [await read(http, path) for http in all_of_them]
        together = await asyncio.gather(*(read(http, path) for _ in range(3) for http in all_of_them))
    shown = [OWN.sub(r"\1", page) for page in together]
    assert shown == 3 * [OWN.sub(r"\1", page) for page in alone]
    assert len(set(shown[: len(house.tokens)])) == len(house.tokens)
    for alias, page in zip(house.tokens, alone, strict=False):
        others = {one for one in house.seats if one != alias}
        assert not any(f"You are {one}" in page for one in others)
    forms = [KEY.findall(page) for page in together]
    keys = [key for page in forms for key in page]
    assert all(forms) and len(set(keys)) == len(keys), "each form is a message of its own"


async def test_two_sessions_of_one_person_get_forms_of_their_own(gateway: GatewayHarness, house: Ferry) -> None:
    path = f"/console/processes/{house.pid}"
    async with browsers(gateway, house.tokens[DEMANDER], house.tokens[DEMANDER]) as two:
        pages = await asyncio.gather(*(read(http, path) for http in two))
        tokens = [FORM_TOKEN.findall(page)[0] for page in pages]
        for http, own, foreign in ((two[0], *tokens), (two[1], *reversed(tokens))):
            sent = {"do": "cancel"}  # asked twice: nothing happens yet
            assert (await http.post(path, data={**sent, "form_token": foreign})).status_code == 403
            assert (await http.post(path, data={**sent, "form_token": own})).status_code == 303


async def test_whoever_asks_after_an_erasure_gets_nothing_that_was_read_before(
    gateway: GatewayHarness, own_house: Ferry, database_url: str
) -> None:
    """The first reader's page is held back after its texts were read; the second asks when they are erased."""
    house = own_house
    path, repositories = f"/console/processes/{house.pid}", gateway.context.repositories
    words = house.case.intent.split(".")[0]
    waiting = "SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND relation = 'inbox'::regclass"
    async with (
        browsers(gateway, house.tokens[DEMANDER], house.tokens[DEMANDER]) as (first, second),
        await psycopg.AsyncConnection.connect(database_url, autocommit=True) as looking,
        await psycopg.AsyncConnection.connect(database_url) as holding,
    ):
        await holding.execute("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE")
        early = asyncio.create_task(read(first, path))

        async def held() -> bool:
            row = await (await looking.execute(waiting)).fetchone()
            return bool(row and row[0])

        await until(held)
        await Erasing(repositories.pool).rewrite(house.people[DEMANDER])
        await destroy_key(repositories.pool, house.people[DEMANDER])
        late = asyncio.create_task(read(second, path))
        await asyncio.sleep(0)
        await holding.rollback()
        assert words in await early
        assert words not in await late


async def test_whoever_lost_their_right_gets_no_page_that_others_of_the_party_wait_for(
    gateway: GatewayHarness, house: Ferry
) -> None:
    path, tokens = f"/console/processes/{house.pid}", gateway.context.repositories.tokens
    issued = await tokens.issue("person", person=house.people[house.human])
    async with browsers(gateway, issued.secret, house.tokens[house.human]) as (revoked, good):
        await tokens.revoke(issued.token.id)
        answers = await asyncio.gather(*(http.get(path) for _ in range(3) for http in (revoked, good)))
    assert [one.status_code for one in answers] == 3 * [303, 200]
