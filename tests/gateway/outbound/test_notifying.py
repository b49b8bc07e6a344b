"""People are told what waits for them: once, where they asked to be, and without anybody's words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked, room
from tests.support.kept import notifications_of
from tests.support.until import until
from tongyao.app.notifications.notifier import LogNotifier, NotSent, Outgoing
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.records.database import session


class Kept:
    """A notifier that keeps what it is given; with `failures`, the first ones do not get through."""

    def __init__(self, failures: int = 0, *, permanent: bool = False) -> None:
        self.sent: list[Outgoing] = []
        self.failures, self.permanent = failures, permanent

    async def send(self, outgoing: Outgoing) -> None:
        if self.failures:
            self.failures -= 1
            raise NotSent("not now", permanent=self.permanent)
        self.sent.append(outgoing)

    def of(self, process: str) -> list[str]:
        return [one.data["what"] for one in self.sent if one.data.get("process") == process]


async def told_by(
    gateway: GatewayHarness, notifying: NotificationSender, process: str, happened: Callable[[], Any]
) -> None:
    """Run the loop by hand until something has been told; what was put off comes due at once."""

    async def told() -> Any:
        async with session(gateway.context.repositories.pool) as connection:
            await connection.execute(
                "UPDATE notifications SET next_attempt_at = now() WHERE process_id = %s AND state = 'pending'",
                [process],
            )
        await notifying.once()
        return happened()

    await until(told)


async def webhook_of(gateway: GatewayHarness, person: Any) -> None:
    path = f"/profiles/{person['profile_id']}/channels/webhook"
    called = Kept()
    gateway = gateway.also(notifiers={"webhook": called})
    answer = await gateway.ask("PUT", path, person["token"], json={"url": "https://example.org/hook"})
    assert answer.status_code == 200 and answer.json()["secret"].startswith("whsec_")
    code = {"code": called.sent[0].data["code"]}
    assert (await gateway.ask("PUT", f"{path}/confirmation", person["token"], json=code)).json()["confirmed"]
    listed = await gateway.ask("GET", path.removesuffix("/webhook"), person["token"])
    assert "secret" not in listed.json()[0], "a secret is shown when it is made, and not again"


async def test_an_ask_is_told_once_over_each_channel_and_again_only_until_it_got_through(
    gateway: GatewayHarness,
) -> None:
    hook = Kept(failures=2)
    notifying = NotificationSender(
        gateway.context.repositories, {"webhook": hook, "log": Kept()}, public_url="https://example.org"
    )
    pid, _, people = await room(gateway)
    await webhook_of(gateway, people[1])
    await asked(gateway, people[1]["token"], "projection", 1)
    await told_by(gateway, notifying, pid, lambda: hook.of(pid))
    for _ in range(3):
        await notifying.once()
    (told,) = [one for one in hook.sent if one.data["process"] == pid]
    assert (told.data["what"], told.data["round"]) == ("projection", 1)
    assert told.data["due"] and "https://example.org" in told.text
    await gateway.stack.handle(pid).cancel()


async def test_what_was_answered_meanwhile_is_told_to_nobody(gateway: GatewayHarness) -> None:
    hook = Kept(failures=1)
    notifying = NotificationSender(gateway.context.repositories, {"webhook": hook, "log": Kept()})
    pid, demander, people = await room(gateway)
    await webhook_of(gateway, people[1])
    await asked(gateway, people[1]["token"], "projection", 1)
    await notifying.once()
    await gateway.ask("POST", f"/processes/{pid}/messages", demander, json={"kind": "cancel"})
    await gateway.stack.end(pid)

    async def dropped() -> bool:
        async with session(gateway.context.repositories.pool) as connection:
            await connection.execute("UPDATE notifications SET next_attempt_at = now() WHERE process_id = %s", [pid])
        await notifying.once()
        mine = await notifications_of(gateway.context.repositories.pool, pid)
        told = {one.state for one in mine if one.channel == "webhook" and one.about["what"] == "projection"}
        return told == {"dropped"}

    await until(dropped)
    assert "projection" not in hook.of(pid)


async def test_what_nobody_will_ever_take_is_given_up(gateway: GatewayHarness) -> None:
    hook = Kept(failures=100, permanent=True)
    notifying = NotificationSender(gateway.context.repositories, {"webhook": hook, "log": Kept()})
    pid, _, people = await room(gateway)
    await webhook_of(gateway, people[1])
    await asked(gateway, people[1]["token"], "projection", 1)

    async def given_up() -> bool:
        await notifying.once()
        told = await notifications_of(gateway.context.repositories.pool, pid)
        return any((one.channel, one.state) == ("webhook", "failed") for one in told)

    await until(given_up)
    await gateway.stack.handle(pid).cancel()


async def test_a_late_person_is_reminded_and_the_demander_told_when_they_lapse(gateway: GatewayHarness) -> None:
    kept = Kept()
    notifying = NotificationSender(gateway.context.repositories, {"log": kept})
    pid, demander, people = await room(gateway, turn_seconds=4, max_rounds=2)
    demander_id = (await gateway.ask("GET", "/me", demander)).json()["person"]
    await told_by(gateway, notifying, pid, lambda: "escalated" in kept.of(pid))
    records = {one.about["what"]: one.person for one in await notifications_of(gateway.context.repositories.pool, pid)}
    assert records["projection"] == records["reminder"] == people[1]["profile_id"]
    assert records["escalated"] == demander_id
    await gateway.stack.handle(pid).cancel()


async def test_no_notification_and_no_log_holds_anybodys_words_or_name(
    gateway: GatewayHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Kept()
    notifying = NotificationSender(gateway.context.repositories, {"webhook": kept, "log": LogNotifier()})
    pid, _, people = await room(gateway)
    await webhook_of(gateway, people[1])
    with structlog.testing.capture_logs() as logs:
        for round_number in (1, 2):
            await asked(gateway, people[1]["token"], "projection", round_number)
            await notifying.once()
            said = {"kind": "submit_projection", "round": round_number, "text": "CANARY-N knows the ice."}
            await gateway.ask("POST", f"/processes/{pid}/messages", people[1]["token"], json=said)
        leave = {"kind": "switch_endpoint", "endpoint": "proxy"}
        await gateway.ask("POST", f"/processes/{pid}/messages", people[1]["token"], json=leave)
        await gateway.stack.end(pid)
        await told_by(gateway, notifying, pid, lambda: "delivery_ready" in kept.of(pid))
    everything = json.dumps([one.model_dump(mode="json") for one in kept.sent]) + repr(logs) + capsys.readouterr().out
    assert any(line.get("event") == "notification" and line.get("process") == pid for line in logs)
    for word in ("CANARY-N", "Anna Example", "ferry", "wooden boats", "example.org"):
        assert word not in everything.replace("https://example.org/hook", "")


async def test_a_mail_address_is_used_once_its_owner_has_read_the_code(gateway: GatewayHarness) -> None:
    mail = Kept()
    gateway = gateway.also(notifiers={"mail": mail})
    joined = await gateway.join(await gateway.scene(), email="ida@example.org")
    path, token = f"/profiles/{joined['profile_id']}/channels", joined["token"]
    (first,) = mail.sent
    assert first.address == "ida@example.org"
    again = await gateway.ask("PUT", f"{path}/mail?language=zh", token, json={"address": "ida@example.net"})
    assert again.json() == {"kind": "mail", "address": "ida@example.net", "confirmed": False}
    code = mail.sent[1].text.split("：")[1].split()[0]
    old = await gateway.ask("PUT", f"{path}/mail/confirmation", token, json={"code": first.text.split()[11]})
    assert (old.status_code, old.json()["code"]) == (422, "wrong_code")
    confirmed = await gateway.ask("PUT", f"{path}/mail/confirmation", token, json={"code": code})
    assert confirmed.json()["confirmed"] is True
    assert (await gateway.ask("DELETE", f"{path}/mail", token)).status_code == 204
    assert (await gateway.ask("GET", path, token)).json() == []


async def test_where_no_mail_is_sent_an_address_is_refused(gateway: GatewayHarness) -> None:
    joined = await gateway.join(await gateway.scene())
    path = f"/profiles/{joined['profile_id']}/channels/mail"
    answer = await gateway.ask("PUT", path, joined["token"], json={"address": "ida@example.org"})
    assert (answer.status_code, answer.json()["code"]) == (422, "no_mail")
    plain = await gateway.ask(
        "PUT", path.replace("mail", "webhook"), joined["token"], json={"url": "http://example.org"}
    )
    assert (plain.status_code, plain.json()["code"]) == (422, "not_https")


async def test_mails_use_up_no_tokens_and_one_that_was_not_sent_leaves_no_link(gateway: GatewayHarness) -> None:
    few = gateway.also(options=gateway.context.options.model_copy(update={"most_tokens": 2}))
    mail = Kept()
    few = few.also(notifiers={"mail": mail})
    pid, _, people = await room(few)
    person, token = people[1]["profile_id"], people[1]["token"]
    place = f"/profiles/{person}/channels/mail"
    assert (await few.ask("PUT", place, token, json={"address": "anna@example.org"})).status_code == 200
    code = {"code": mail.sent[0].text.split(": ")[1].split()[0]}
    assert (await few.ask("PUT", f"{place}/confirmation", token, json=code)).json()["confirmed"]
    mail.failures = 2
    notifying = NotificationSender(
        few.context.repositories, {"mail": mail, "log": Kept()}, public_url="https://example.org"
    )
    await asked(few, token, "projection", 1)
    await told_by(few, notifying, pid, lambda: mail.of(pid))
    links = [one for one in await few.context.repositories.tokens.list(person=person) if one.kind == "link"]
    assert len(links) == 3 and len([one for one in links if one.revoked_at is None]) == 1
    assert (await few.ask("POST", "/tokens", token, json={"role": "person"})).status_code == 201
    assert (await few.ask("DELETE", place, token)).status_code == 204
    links = [one for one in await few.context.repositories.tokens.list(person=person) if one.kind == "link"]
    assert all(one.revoked_at for one in links), "a link in an old mail opens nothing once the address is removed"
    await few.stack.handle(pid).cancel()
