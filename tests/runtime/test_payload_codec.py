"""What stands in Temporal is encrypted: payloads, failures and what caused them; old keys go on opening what they sealed."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.converter import DataConverter, WorkflowSerializationContext
from temporalio.exceptions import ApplicationError

from tongyao.protocol.contracts.process import Readable
from tongyao.records.privacy.keys import BadKey, KeyMissing, Keyring, put_in_front
from tongyao.runtime.temporal.payload_codec import KEY_ID, PayloadEncryption, converter_with
from tongyao.runtime.temporal.payload_converter import UNREADABLE, Unsealed

CANARY = "the lighthouse keeper's daughter"
OLD, NEW = b"o" * 32, b"n" * 32


def converter(keys: Keyring, *, encrypts: bool = True) -> DataConverter:
    return converter_with(PayloadEncryption(keys, encrypts=encrypts))


async def test_a_payload_shows_nothing_but_the_id_of_its_key_and_comes_back() -> None:
    keys = Keyring(OLD)
    [payload] = await converter(keys).encode([{"said": CANARY}])
    assert CANARY.encode() not in payload.SerializeToString() and b"json" not in payload.SerializeToString()
    assert dict(payload.metadata) == {"encoding": b"binary/encrypted", KEY_ID: keys.active.encode()}
    assert await converter(keys).decode([payload]) == [{"said": CANARY}]


async def test_the_key_of_payloads_is_not_the_master_key() -> None:
    keys = Keyring(OLD)
    assert keys.derive(keys.active, "one purpose") not in (OLD, keys.derive(keys.active, "another purpose"))


@pytest.mark.parametrize("size", [0, 1, 100_000])
async def test_payloads_of_every_size_come_back(size: int) -> None:
    random = base64.b64encode(os.urandom(size)).decode()
    for text in (random, "a" * size):
        encoded = await converter(Keyring(OLD)).encode([text])
        assert await converter(Keyring(OLD)).decode(encoded) == [text]


async def test_after_a_rotation_old_payloads_open_and_new_ones_are_of_the_new_key() -> None:
    old = await converter(Keyring(OLD)).encode([CANARY])
    both = Keyring(NEW, [OLD])
    assert await converter(both).decode(old) == [CANARY]
    new = await converter(both).encode([CANARY])
    assert await converter(Keyring(NEW)).decode(new) == [CANARY]
    with pytest.raises(KeyMissing, match=r"sealed with master key [0-9a-f]{16}.*TONGYAO_MASTER_KEY"):
        await converter(Keyring(NEW)).decode(old)


async def test_a_process_that_runs_follows_a_new_key_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    here, there = Keyring.of_file(path), Keyring.of_file(path)
    before = await converter(here).encode([CANARY])
    put_in_front(path)
    after = await converter(there).encode([CANARY])
    assert after[0].metadata[KEY_ID] != before[0].metadata[KEY_ID]
    assert await converter(here).decode([*before, *after]) == [CANARY, CANARY]
    assert here.active == after[0].metadata[KEY_ID].decode()
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_changed_payload_is_refused_without_quoting_it() -> None:
    [payload] = await converter(Keyring(OLD)).encode([CANARY])
    changed = Payload(metadata=payload.metadata, data=payload.data[:-1] + bytes([payload.data[-1] ^ 1]))
    with pytest.raises(BadKey, match="was changed"):
        await converter(Keyring(OLD)).decode([changed])


async def test_in_a_workflow_what_does_not_open_is_marked_and_the_rest_of_its_task_is_read() -> None:
    context = WorkflowSerializationContext(namespace="default", workflow_id="c-1")
    ours = converter(Keyring(NEW)).with_context(context)
    [good] = await ours.encode([CANARY])
    [other_key] = await converter(Keyring(OLD)).with_context(context).encode([CANARY])
    changed = Payload(metadata=good.metadata, data=good.data[:-1] + bytes([good.data[-1] ^ 1]))
    assert ours.payload_codec is not None
    opened = await ours.payload_codec.decode([good, other_key, changed])
    assert [one.metadata["encoding"] for one in opened] == [b"json/plain", UNREADABLE, UNREADABLE]
    for unreadable in (other_key, changed):
        with pytest.raises(Unsealed, match=r"KeyMissing|BadKey"):
            await ours.decode([unreadable])


async def test_plain_payloads_are_read_too_and_written_where_encryption_is_off() -> None:
    keys = Keyring(OLD)
    plain = await converter(keys, encrypts=False).encode([CANARY])
    assert plain[0].metadata["encoding"] == b"json/plain"
    assert await converter(keys).decode(plain) == [CANARY]
    encrypted = await converter(keys).encode([CANARY])
    assert await converter(keys, encrypts=False).decode(encrypted) == [CANARY]


async def test_summaries_and_current_details_stay_readable() -> None:
    details = WorkflowMetadata(current_details="round 2")
    summary, shown, other = await converter(Keyring(OLD)).encode([Readable("look up"), details, "look up"])
    assert (summary.metadata["encoding"], summary.data) == (b"json/plain", b'"look up"')
    assert b"round 2" in shown.data
    assert other.metadata["encoding"] == b"binary/encrypted"


def chain() -> BaseException:
    try:
        try:
            raise ValueError(f"inner {CANARY}")
        except ValueError as inner:
            raise ApplicationError(f"outer {CANARY}", {"said": CANARY}, type="Refused") from inner
    except ApplicationError as outer:
        return outer


def told(error: BaseException) -> list[str]:
    return [str(error), *(told(error.__cause__) if error.__cause__ else [])]


async def test_failures_hide_messages_traces_and_details_of_the_whole_chain() -> None:
    both = converter(Keyring(OLD))
    failure = Failure()
    await both.encode_failure(chain(), failure)
    assert CANARY.encode() not in failure.SerializeToString() and b"line " not in failure.SerializeToString()
    assert failure.application_failure_info.type == "Refused"
    back: Any = await both.decode_failure(Failure.FromString(failure.SerializeToString()))
    assert told(back) == [f"Refused: outer {CANARY}", f"ValueError: inner {CANARY}"]
    assert back.details == ({"said": CANARY},)


async def test_a_failure_that_was_received_and_is_passed_on_hides_its_causes_too() -> None:
    """An activity's failure that a workflow raises again."""
    both = converter(Keyring(OLD))
    failure, passed_on = Failure(), Failure()
    await both.encode_failure(chain(), failure)
    received = await both.decode_failure(failure)
    await both.encode_failure(received, passed_on)
    assert CANARY.encode() not in passed_on.SerializeToString()
    assert told(await both.decode_failure(passed_on)) == [f"Refused: outer {CANARY}", f"ValueError: inner {CANARY}"]
