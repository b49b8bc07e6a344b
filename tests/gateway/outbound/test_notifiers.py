"""Each notifier against a real server of its kind."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.serving import served
from tongyao.app.notifications.notifier import BadSignature, NotSent, Outgoing, new_secret, sign, verify
from tongyao.gateway.outbound.http_client import is_public
from tongyao.gateway.outbound.notifications import MailNotifier, WebhookNotifier
from tongyao.runtime.local.server_process import free_port

SECRET = new_secret()
OUT = Outgoing(
    id="2f1f0a6e-0000-4000-8000-000000000001",
    address="ida@example.org",
    subject="通爻：第 2 轮轮到你发言",
    text="第 2 轮轮到你发言\n",
    data={"what": "projection", "process": "c-1", "round": 2},
    secret=SecretStr(SECRET),
)


class Postbox:
    """Takes mail, or answers what `refuse` says."""

    def __init__(self) -> None:
        self.port = free_port()
        self.mails: list[Any] = []
        self.refuse = ""

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if self.refuse:
            return self.refuse
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"


@pytest.fixture
def postbox() -> Iterator[Postbox]:
    box = Postbox()
    controller = Controller(box, hostname="127.0.0.1", port=box.port)
    controller.start()
    yield box
    controller.stop()


def mailer(box: Postbox) -> MailNotifier:
    return MailNotifier("127.0.0.1", port=box.port, sender="tongyao@example.org", encryption="none")


async def test_a_mail_arrives_whole_and_its_id_is_the_notifications(postbox: Postbox) -> None:
    await mailer(postbox).send(OUT)
    (mail,) = postbox.mails
    assert (mail["To"], mail["Subject"]) == (OUT.address, OUT.subject)
    assert mail["Message-ID"] == f"<{OUT.id}@example.org>"
    assert mail.get_content().replace("\r\n", "\n") == OUT.text


@pytest.mark.parametrize(("said", "permanent"), [("550 no such mailbox", True), ("451 try again later", False)])
async def test_a_refused_recipient_is_final_only_when_the_server_says_so(
    postbox: Postbox, said: str, permanent: bool
) -> None:
    postbox.refuse = said
    with pytest.raises(NotSent) as caught:
        await mailer(postbox).send(OUT)
    assert caught.value.permanent is permanent
    assert "ida" not in str(caught.value)


async def test_a_mail_server_that_is_away_is_tried_again() -> None:
    with pytest.raises(NotSent) as caught:
        await MailNotifier("127.0.0.1", port=free_port(), sender="a@b.c", encryption="none").send(OUT)
    assert not caught.value.permanent


@asynccontextmanager
async def hook(answer: Callable[[Request, bytes], int]) -> AsyncIterator[str]:
    async def take(request: Request) -> Response:
        return Response(status_code=answer(request, await request.body()))

    async with served(Starlette(routes=[Route("/hook", take, methods=["POST"])])) as url:
        yield f"{url}/hook"


async def test_a_receiver_verifies_a_webhook_and_hears_of_each_thing_once() -> None:
    seen: list[tuple[str, Any]] = []

    def answer(request: Request, body: bytes) -> int:
        seen.append((verify(SECRET, dict(request.headers), body), json.loads(body)))
        return 204

    async with hook(answer) as url:
        notifier = WebhookNotifier(private_allowed=True)
        await notifier.send(OUT.model_copy(update={"address": url}))
        await notifier.send(OUT.model_copy(update={"address": url}))
    assert seen == [(OUT.id, OUT.data)] * 2, "the same id: whoever keeps ids hears it once"


@pytest.mark.parametrize(("status", "permanent"), [(500, False), (429, False), (410, True), (302, False)])
async def test_what_a_webhook_answers_decides_whether_it_is_tried_again(status: int, permanent: bool) -> None:
    async with hook(lambda request, body: status) as url:
        with pytest.raises(NotSent) as caught:
            await WebhookNotifier(private_allowed=True).send(OUT.model_copy(update={"address": url}))
    assert caught.value.permanent is permanent


@pytest.mark.parametrize("address", ["https://127.0.0.1:1/x", "https://localhost/x", "http://example.org/x"])
async def test_nobody_sends_the_installation_into_its_own_network(address: str) -> None:
    with pytest.raises(NotSent) as caught:
        await WebhookNotifier().send(OUT.model_copy(update={"address": address}))
    assert caught.value.permanent and "forbidden" in str(caught.value)


def test_what_counts_as_public() -> None:
    private = ["10.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:127.0.0.1", "0.0.0.0", "224.0.0.1"]
    private += ["192.0.0.192"]  # where machines of one provider read their secrets
    assert not any(is_public(one) for one in private)
    assert is_public("93.184.215.14") and is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")


def test_an_old_a_changed_and_a_foreign_delivery_are_refused() -> None:
    body, now = b'{"what": "projection"}', 1_700_000_000.0
    headers = sign(SECRET, "one", body, at=now)
    assert verify(SECRET, headers, body, at=now + 299) == "one"
    for secret, said, changed, at in [
        (SECRET, headers, body, now + 301),
        (SECRET, headers, body + b" ", now),
        (SECRET, {**headers, "webhook-id": "two"}, body, now),
        (SECRET, {**headers, "webhook-timestamp": str(int(now) + 200)}, body, now),
        (new_secret(), headers, body, now),
        (SECRET, {}, body, now),
    ]:
        with pytest.raises(BadSignature):
            verify(secret, said, changed, at=at)


def test_the_signature_is_that_of_the_published_specification() -> None:
    """The example in the specification's own test vectors (Standard Webhooks, libraries/python)."""
    headers = sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', at=1614265330
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
