"""Nobody may act in a process by reaching Temporal: what acts for somebody carries the installation's signature."""

from __future__ import annotations

import base64
import uuid
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from tests.simulation.rooms import Room
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import OPERATOR, Stack, open_stack
from tests.workflows.test_people import with_people
from tongyao.app.operators.signals import signed_payload
from tongyao.protocol.contracts.signatures import signal_bytes
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.privacy.keys import Keyring

HUMAN = EndpointKind.HUMAN
KEY = "MCowBQYDK2VwAyEA"


@pytest.fixture(scope="module")
async def here(temporal: Client, database_url: str) -> AsyncIterator[Stack]:
    """An installation whose Temporal lets in everybody on the machine."""
    keys = Keyring(b"s" * 32)
    async with open_stack(temporal, database_url, ScriptedEngine(Script()), keys=keys, signed=True) as stack:
        yield stack


HARMFUL: dict[str, dict[str, Any]] = {
    "submit_projection": {"alias": "P01", "round": 1, "text": "words that P01 never said"},
    "switch_endpoint": {"alias": "P01", "endpoint": "proxy"},
    "leave": {"alias": "P01"},
    "set_mandate": {"alias": "P01"},
    "extend_deadline": {"alias": "P01", "seconds": 3600},
    "conclude": {},
    "cancel": {},
    "upgrade": {},
}


@pytest.mark.parametrize("kind", HARMFUL)
def test_a_signal_without_a_signature_changes_nothing_and_is_visible(kind: str) -> None:
    room = Room(HUMAN, HUMAN, signal_key=KEY)
    before = room.state.model_dump(exclude={"outbox", "seq", "urgent"})
    unsigned: list[dict[str, Any]] = [{}, {"signed": {}}]
    for forged in (*unsigned, {"signed": {"nonce": "n" * 16, "expires": 2**40, "signature": "AAAA"}}):
        room.activate(room.signal(kind, {**HARMFUL[kind], **forged}))
        assert room.state.outbox[-1].data == {"message": kind, "code": "not_signed"}
    after = room.state.model_dump(exclude={"outbox", "seq", "urgent"})
    assert after == before
    assert room.state.signalled == []


def test_a_bare_resume_is_taken_and_what_it_carries_is_not_read() -> None:
    room = Room(HUMAN, HUMAN, signal_key=KEY)
    lanes = dict(room.state.lanes)
    forged = {"author": {"role": "participant", "alias": "P01"}, "lane": "P01", "number": 999, "signed": {}}
    room.activate(room.signal("resume", forged))
    assert room.state.outbox[-1].data == {"message": "resume", "code": "not_suspended"}
    assert room.state.lanes == lanes


async def test_words_are_put_into_a_seat_by_a_signed_signal_only_once_and_only_there(here: Stack) -> None:
    pid, seats = await with_people(here, humans=("bo", "cy"), max_rounds=2)
    bo, cy = seats["bo"], seats["cy"]
    other, _ = await with_people(here, humans=("bo", "cy"), max_rounds=2)
    said: dict[str, Any] = {"alias": bo, "round": 1, "text": "The ramp is 4 m wide."}
    signed = await signed_payload(here.context, OPERATOR, pid, "submit_projection", said)

    await here.handle(other).signal("submit_projection", signed)
    await here.handle(pid).signal("answer_plan", signed)
    await here.handle(pid).signal("submit_projection", {**signed, "alias": cy})
    await here.handle(pid).signal("submit_projection", signed)
    await here.handle(pid).signal("submit_projection", signed)
    assert (await here.say(pid, "submit_projection", alias=cy, round=1, nothing_new=True)).accepted
    await here.asked(pid, bo, 2)
    record = await here.repositories.record(pid)
    said_by = {one.alias: one.text for one in record.projections if one.round == 1}
    assert (said_by[bo], said_by[cy]) == ("The ramp is 4 m wide.", "")
    assert (await here.kinds(pid)).count("message_refused") == 3
    for one in (pid, other):
        assert (await here.say(one, "cancel")).accepted


def test_an_expired_signature_and_one_for_too_long_are_none() -> None:
    private = Ed25519PrivateKey.generate()
    public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
    room = Room(HUMAN, HUMAN, signal_key=public)

    def signed(expires: datetime) -> dict[str, Any]:
        nonce, until = uuid.uuid4().hex, int(expires.timestamp())
        signature = base64.b64encode(private.sign(signal_bytes("c-1", "conclude", {}, nonce, until))).decode()
        return {"signed": {"nonce": nonce, "expires": until, "signature": signature}}

    for expires in (room.now - timedelta(seconds=1), room.now + timedelta(days=8)):
        room.activate(room.signal("conclude", signed(expires)))
        assert room.state.outbox[-1].data == {"message": "conclude", "code": "not_signed"}
    room.activate(room.signal("conclude", signed(room.now + timedelta(hours=1))))
    assert room.state.concluded


async def test_an_update_without_a_signature_is_not_applied(here: Stack) -> None:
    pid, seats = await with_people(here, humans=("bo", "cy"), max_rounds=2)
    bo = seats["bo"]
    author = m.Author(role="participant", alias=bo)
    for signature in ("", "AAAA"):
        forged = m.Leave(key="k", author=author, lane=f"{bo}/control", number=1, alias=bo, signature=signature)
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await here.handle(pid).execute_update("leave", forged)
        assert isinstance(failed.value.cause, ApplicationError)
        assert failed.value.cause.type == "NotSigned"
    assert (await here.say(pid, "leave", alias=bo)).accepted, "what the relay delivers is signed"
    assert (await here.say(pid, "cancel")).accepted


async def test_a_child_trusts_the_same_key_as_its_parent(here: Stack) -> None:
    pid, _ = await with_people(here, humans=("bo", "cy"), max_rounds=2)
    start = (await here.repositories.seats.manifest(pid))["start"]
    assert start["signal_key"] == await here.context.signal_key() != ""
    assert (await here.say(pid, "cancel")).accepted
