"""What a mail address may be used for: it opens no account for longer than whoever set it had, and nobody is sent codes without end."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.gateway.outbound.test_notifying import Kept
from tests.security.conftest import limited, whole
from tests.security.test_long_fields_and_answers import PLACE, sent
from tongyao.app.people.sessions import open_session
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.records.database import session
from tongyao.records.people.notifications import Notice

__all__ = ["whole"]


async def link_in_a_mail(house: GatewayHarness, mail: Kept, person: str) -> str:
    """The personal link in the next mail that tells this person something; empty: it has none."""
    told = Notice(source=f"test/{uuid.uuid4().hex}", person=person, about={"what": "demanded"})
    await house.context.repositories.notifications.tell(told)
    mail.sent.clear()
    sender = NotificationSender(house.context.repositories, {"mail": mail, "log": Kept()}, public_url=PLACE)
    await sender.once()
    text = next(one.text for one in mail.sent if one.address == f"{person}@example.org")
    assert PLACE in text
    found = re.search(r"link=(\S+)", text)
    return found[1] if found else ""


async def set_address(house: GatewayHarness, mail: Kept, person: str, token: str) -> None:
    place = f"/profiles/{person}/channels/mail"
    assert (await house.ask("PUT", place, token, json={"address": f"{person}@example.org"})).status_code == 200
    code = {"code": mail.sent[-1].text.split(": ")[1].split()[0]}
    assert (await house.ask("PUT", f"{place}/confirmation", token, json=code)).json()["confirmed"]


@pytest.mark.parametrize("end", ["expired", "revoked"])
async def test_no_mail_opens_an_account_after_the_end_of_the_token_that_set_its_address(
    whole: GatewayHarness, end: str
) -> None:
    mail = Kept()
    house = whole.also(notifiers={"mail": mail})
    joined: Any = await house.join(await house.scene())
    person = joined["profile_id"]
    made = (await house.ask("POST", "/tokens", joined["token"], json={"role": "person", "seconds": 3_600})).json()
    await set_address(house, mail, person, made["secret"])
    link = await link_in_a_mail(house, mail, person)
    opened = await open_session(house.context, link, place=PLACE)
    ends = datetime.fromisoformat(made["token"]["expires_at"])
    assert opened.token.expires_at is not None and opened.token.expires_at < ends + timedelta(minutes=1)
    unused = await link_in_a_mail(house, mail, person)
    if end == "expired":
        async with session(house.context.repositories.pool) as connection:
            await connection.execute("UPDATE tokens SET expires_at = now() WHERE id = %s", [made["token"]["id"]])
    else:
        await house.context.repositories.tokens.revoke(made["token"]["id"])
        assert await house.context.repositories.tokens.spend(unused) is None
    assert await link_in_a_mail(house, mail, person) == "", "the mail says what waits, and opens nothing"
    await set_address(house, mail, person, joined["token"])
    assert await link_in_a_mail(house, mail, person)


async def test_codes_that_are_asked_for_in_the_console_are_limited_like_all_others(whole: GatewayHarness) -> None:
    mail = Kept()
    joined = await whole.join(await whole.scene())
    few = limited(whole.also(notifiers={"mail": mail}), join_rate="2/hour")
    answers = [await sent(few, joined, "/console/me", do="mail", address=f"a{n}@example.org") for n in range(3)]
    assert [one.status_code for one in answers] == [303, 303, 429]
    assert len(mail.sent) == 2
