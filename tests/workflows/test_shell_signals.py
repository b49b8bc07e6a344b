"""Signals of any shape: `resume` is applied, every other signal becomes an event, and none stops the process (docs/temporal.md §4)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload

from tests.simulation.in_process import InProcess
from tests.simulation.noise import a_name, of_json, payloads
from tests.simulation.rooms import Room
from tests.workflows.test_shell import accepted
from tongyao.protocol.contracts.process import OPERATOR_NEEDED
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import MESSAGE_TYPES, Author
from tongyao.protocol.model.projection import EndpointKind
from tongyao.runtime.temporal.payload_converter import UNREADABLE

HUMAN, PROXY = EndpointKind.HUMAN, EndpointKind.PROXY


def refusals(run: InProcess) -> list[tuple[Any, Any]]:
    """Kind and code of every refused signal that is not in the records yet."""
    return [
        (event.data["message"], event.data["code"])
        for event in run.state.outbox
        if event.kind is EventKind.MESSAGE_REFUSED
    ]


def control(state: State) -> dict[str, Any]:
    """The state without what a refusal adds."""
    return state.model_dump(exclude={"outbox", "seq", "urgent"})


def json_payload(data: bytes, **metadata: bytes) -> Payload:
    return Payload(metadata={"encoding": b"json/plain", **metadata}, data=data)


PAYLOADS: dict[str, tuple[Payload, ...]] = {
    "none": (),
    "two": (json_payload(b"{}"), json_payload(b"{}")),
    "an object": (json_payload(b"{}"),),
    "a message": (
        of_json({"alias": "P01", "author": {"role": "participant", "alias": "P01"}, "lane": "P01", "number": 9}),
    ),
    "no JSON": (json_payload(b"{"),),
    "bytes": (Payload(metadata={"encoding": b"binary/plain"}, data=b"{}"),),
    "null": (Payload(metadata={"encoding": b"binary/null"}),),
    "text": (json_payload(b'"now"'),),
    "a list": (json_payload(b"[{}]"),),
    "a number": (json_payload(b"NaN"),),
    "no encoding": (Payload(data=b"{}"),),
    "an unknown encoding": (Payload(metadata={"encoding": b"json/other"}, data=b"{}"),),
    "an unknown message type": (Payload(metadata={"encoding": b"json/protobuf", "messageType": b"No"}, data=b"{}"),),
    "nested too deep": (json_payload(b'{"key":' + b"[" * 5000 + b"]" * 5000 + b"}"),),
    "not decrypted": (Payload(metadata={"encoding": UNREADABLE}),),
}


@pytest.mark.parametrize("shape", PAYLOADS)
def test_a_signal_of_any_kind_but_resume_changes_nothing(shape: str) -> None:
    room = Room(HUMAN, HUMAN)
    before = control(room.state)
    for kind in MESSAGE_TYPES:
        room.activate(room.signal(kind, *PAYLOADS[shape]))
    expected = dict.fromkeys(MESSAGE_TYPES, "unreadable_message") | {"resume": "not_suspended"}
    assert refusals(room) == list(expected.items())
    assert control(room.state) == before


@pytest.mark.parametrize("shape", PAYLOADS)
def test_resume_is_applied_and_what_it_carries_is_not_read(shape: str) -> None:
    room = Room(PROXY, PROXY)
    while room.named("project"):
        room.activate(room.failed(room.named("project")[0], OPERATOR_NEEDED, "no credit"))
    lanes = dict(room.state.lanes)
    room.activate(room.signal("resume", *PAYLOADS[shape]))
    assert not room.state.suspended
    assert room.named("project")
    assert room.state.lanes == lanes


def test_a_signal_of_an_unknown_kind_is_refused_and_its_name_is_not_recorded() -> None:
    room = Room(HUMAN, HUMAN)
    for name in ("conclude!", "\x00", "words of somebody " * 100):
        room.activate(room.signal(name))
    assert refusals(room) == [("unknown", "unreadable_message")] * 3


def answering() -> Room:
    room = Room(HUMAN, HUMAN)
    room.to_answers("plan/1/residual/1")
    return room


PHASES: dict[str, Callable[[], Room]] = {
    "confirming": lambda: Room(HUMAN, HUMAN, confirmed=False),
    "crystallizing": lambda: Room(HUMAN, PROXY),
    "answering": answering,
}


@pytest.mark.parametrize("phase", PHASES)
def test_no_signal_of_any_shape_stops_a_process(phase: str) -> None:
    """Each run ends by the demander's own message, which is applied whatever came before it."""
    for seed in range(12):
        room, rng = PHASES[phase](), Random(seed)
        for _ in range(40):
            room.activate(room.signal(a_name(rng), *payloads(rng)))
        assert accepted(room.say(room.message("cancel", Author(role="operator"))))
        State.model_validate_json(room.state.model_dump_json())
