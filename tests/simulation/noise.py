"""Signals that a client of Temporal may send: with any name, any number of payloads, and any bytes and shapes."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from temporalio.api.common.v1 import Payload

from tongyao.protocol.model.messages import KINDS

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


def unreadable(rng: Random, kind: str, payload: dict[str, Any]) -> tuple[str, list[Payload]]:
    """Return the name and payloads of an invalid signal, made from a valid message."""
    match rng.randrange(6):
        case 0:
            return kind, [of_json(payload) for _ in range(rng.choice((0, 2, 3)))]
        case 1:
            return rng.choice(("", "\x00", kind + " ", kind.upper(), "state", "x" * 5_000)), [of_json(payload)]
        case 2:
            return kind, [of_json({**payload, rng.choice(("lane", "number", "signature", "x")): rng.choice(VALUES)})]
        case 3:
            text = json.dumps(payload).encode()
            return kind, [of_bytes(text[: rng.randrange(len(text))])]
        case 4:
            return kind, [
                Payload(metadata={"encoding": rng.choice(ENCODINGS[2:])}, data=rng.randbytes(rng.randrange(60)))
            ]
        case _:
            return kind, [of_json(rng.choice([one for one in VALUES if not isinstance(one, dict)]))]


def anything(rng: Random) -> tuple[str, list[Payload]]:
    """Return the name and payloads of a random signal. It may be a valid message by chance."""
    message = KINDS[rng.choice(list(KINDS))]
    fields = {name: rng.choice(VALUES) for name in message.model_fields if rng.random() < 0.7}
    if rng.random() < 0.3:
        fields |= {"author": {"role": rng.choice(("participant", "demander", "child", "invited")), "alias": "P01"}}
    name = message.model_fields["kind"].default
    if rng.random() < 0.3:
        return unreadable(rng, name, fields)
    return name, [of_json(fields)]


def of_json(value: Any) -> Payload:
    return of_bytes(json.dumps(value).encode())


def of_bytes(data: bytes) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=data)
