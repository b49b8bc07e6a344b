"""Signals that a client of Temporal may send: with any name, any number of payloads, and any bytes and shapes."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from temporalio.api.common.v1 import Payload

from tongyao.protocol.model.messages import MESSAGE_TYPES

ENCODINGS: Final = (b"json/plain", b"json/plain", b"json/protobuf", b"binary/plain", b"binary/null", b"binary/encrypted",
                    b"binary/unreadable", b"", b"\xff\x00")  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    0,
    10**40,
    1.5,
    "",
    "P01",
    "P00",
    "\x00",
    "\ud800",
    "words " * 50,
    [],
    {},
    [[]],
    {"a": {}},
    ["P01"],
)


def a_name(rng: Random) -> str:
    """Return the name of a signal: a kind of message, or anything else."""
    return rng.choice((*MESSAGE_TYPES, "", "\x00", "Resume", "resume ", "state", "x" * 5_000))


def payloads(rng: Random) -> list[Payload]:
    """Return the payloads of a signal: mostly one, which may be a valid message by chance."""
    return [_payload(rng) for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3)))]


def _payload(rng: Random) -> Payload:
    match rng.randrange(5):
        case 0:
            return of_json(rng.choice(VALUES))
        case 1:
            return Payload(metadata={"encoding": rng.choice(ENCODINGS[2:])}, data=rng.randbytes(rng.randrange(60)))
    fields: dict[str, Any] = {
        name: rng.choice(VALUES)
        for name in MESSAGE_TYPES[rng.choice(list(MESSAGE_TYPES))].model_fields
        if rng.random() < 0.7
    }
    if rng.random() < 0.3:
        fields |= {"author": {"role": rng.choice(("participant", "demander", "child", "invited")), "alias": "P01"}}
    text = json.dumps(fields).encode()
    return of_bytes(text[: rng.randrange(len(text))] if rng.random() < 0.2 else text)


def of_json(value: Any) -> Payload:
    return of_bytes(json.dumps(value).encode())


def of_bytes(data: bytes) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=data)
