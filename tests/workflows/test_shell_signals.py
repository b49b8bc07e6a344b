"""Signals of any shape: each is applied or becomes an event, and none stops the process (docs/protocol.md §8.2)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload

from tests.simulation.in_process import InProcess
from tests.simulation.noise import anything
from tests.simulation.rooms import Room
from tests.workflows.test_shell import accepted
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import KINDS, Author
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


UNREADABLE_PAYLOADS: dict[str, tuple[Payload, ...]] = {
    "none": (),
    "two": (json_payload(b"{}"), json_payload(b"{}")),
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


@pytest.mark.parametrize("shape", UNREADABLE_PAYLOADS)
def test_a_signal_of_any_kind_whose_payload_cannot_be_read_is_refused(shape: str) -> None:
    room = Room(HUMAN, HUMAN)
    before = control(room.state)
    for kind in KINDS:
        room.activate(room.raw_signal(kind, *UNREADABLE_PAYLOADS[shape]))
    assert refusals(room) == [(kind, "unreadable_message") for kind in KINDS]
    assert control(room.state) == before


@pytest.mark.parametrize("tension", ["A text.", ["A text."], None, 1, {"transition": ["A text."]}])
def test_a_revision_whose_tension_has_another_shape_is_refused(tension: Any) -> None:
    room = Room(HUMAN, HUMAN, confirmed=False)
    room.activate(room.signal("revise_tension", {"tension": tension}))
    assert refusals(room) == [("revise_tension", "unreadable_message")]
    assert room.phase == "confirming"


def test_a_signal_of_an_unknown_kind_is_refused_and_its_name_is_not_recorded() -> None:
    room = Room(HUMAN, HUMAN)
    for name in ("conclude!", "\x00", "words of somebody " * 100):
        room.activate(room.signal(name, {}))
    assert refusals(room) == [("unknown", "unreadable_message")] * 3


FIELDS: dict[str, dict[str, Any]] = {
    "extend_deadline": {"alias": "P01", "seconds": 3600},
    "submit_projection": {"alias": "P01", "round": 1, "text": "I can lend a van."},
    "conclude": {},
    "leave": {"alias": "P01"},
}


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize(
    "foreign", [{"lane": "P01"}, {"number": 1}, {"signature": "AAAA"}, {"kind": "cancel"}, {"x": 1}]
)
def test_a_signal_with_a_field_that_is_not_its_own_is_refused(kind: str, foreign: dict[str, Any]) -> None:
    room = Room(HUMAN, HUMAN)
    before = control(room.state)
    room.activate(room.signal(kind, {**FIELDS[kind], **foreign}))
    assert refusals(room) == [(kind, "unreadable_message")]
    assert control(room.state) == before


def test_a_signal_moves_no_lane_on_so_that_the_persons_next_message_counts() -> None:
    room = Room(HUMAN, HUMAN)
    forged = {"author": {"role": "participant", "alias": "P01"}, "lane": "P01", "number": 999}
    room.activate(room.signal("submit_projection", {"alias": "P01", "round": 1, "text": "Not mine.", **forged}))
    verdict = room.words("P01")
    assert (verdict.accepted, verdict.repeated) == (True, False)
    assert [words.text_id for words in room.state.turns["P01"].words] == ["words"]


def test_a_signal_is_no_consent_to_a_proxy() -> None:
    room = Room(HUMAN, HUMAN)
    room.state.seats["P01"].consented = False
    author = {"role": "participant", "alias": "P01"}
    switch = {"alias": "P01", "endpoint": "proxy", "author": author}
    room.activate(room.signal("switch_endpoint", {**switch, "number": 1, "lane": "P01"}))
    room.activate(room.signal("switch_endpoint", switch))
    assert refusals(room) == [("switch_endpoint", "unreadable_message"), ("switch_endpoint", "no_consent")]
    assert room.state.seats["P01"].endpoint is HUMAN


@pytest.mark.parametrize("text", ["a\x00b", 7, {"a": "text"}, ["a text"]])
def test_words_that_cannot_be_stored_are_refused(text: Any) -> None:
    room = Room(HUMAN, HUMAN)
    room.activate(room.signal("submit_projection", {"alias": "P01", "round": 1, "text": text}))
    assert refusals(room) == [("submit_projection", "unreadable_message")]
    assert room.state.signalled == []


def answering() -> Room:
    room = Room(HUMAN, HUMAN)
    room.to_answers("plan/1/residual/1")
    return room


PHASES: dict[str, Callable[[], Room]] = {
    "confirming": lambda: Room(HUMAN, HUMAN, confirmed=False),
    "crystallizing": lambda: Room(HUMAN, PROXY),
    "answering": answering,
    "a signature is asked for": lambda: Room(HUMAN, HUMAN, signal_key="MCowBQYDK2VwAyEA"),
}


@pytest.mark.parametrize("phase", PHASES)
def test_no_signal_of_any_shape_stops_a_process(phase: str) -> None:
    """Each run ends by the demander's own message, which is applied whatever came before it."""
    for seed in range(12):
        room, rng = PHASES[phase](), Random(seed)
        for _ in range(40):
            if room.result is None:
                name, payloads = anything(rng)
                room.activate(room.raw_signal(name, *payloads))
        if room.result is None and not room.state.phase.ended:
            message = room.message("cancel", Author(role="operator"))
            assert room.state.start.signal_key or accepted(room.say(message))
        State.model_validate_json(room.state.model_dump_json())
