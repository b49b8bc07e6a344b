"""Nobody may act in a process by reaching Temporal: a signal says nothing for anybody (SECURITY.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.noise import of_json
from tests.simulation.rooms import Room
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.projection import EndpointKind

HUMAN = EndpointKind.HUMAN

HARMFUL: dict[str, dict[str, Any]] = {
    "submit_projection": {"alias": "P01", "round": 1, "text": "words that P01 never said", "text_id": "words"},
    "switch_endpoint": {"alias": "P01", "endpoint": "proxy"},
    "leave": {"alias": "P01"},
    "set_mandate": {"alias": "P01"},
    "consent": {"invitation": 1, "allow": True},
    "answer_plan": {"alias": "P01", "revision": 1, "answer": "commit"},
    "decide": {"decision": "accept_as_is"},
    "extend_deadline": {"alias": "P01", "seconds": 3600},
    "conclude": {},
    "cancel": {},
    "upgrade": {},
}
AUTHORS: tuple[dict[str, Any], ...] = (
    {},
    {"author": {"role": "operator"}},
    {"author": {"role": "participant", "alias": "P01"}, "key": "k", "lane": "P01", "number": 1},
    {"author": {"role": "demander", "alias": "P00"}, "key": "k", "lane": "P00", "number": 1, "signature": "AAAA"},
)


@pytest.mark.parametrize("kind", sorted(m.MESSAGE_TYPES.keys() - {"resume"}))
def test_a_signal_changes_nothing_and_is_visible(kind: str) -> None:
    room = Room(HUMAN, HUMAN)
    before = room.state.model_dump(exclude={"outbox", "seq", "urgent"})
    for author in AUTHORS:
        room.activate(room.signal(kind, of_json(HARMFUL.get(kind, {}) | author)))
        assert room.state.outbox[-1].data == {"message": kind, "code": "unreadable_message"}
    assert room.state.model_dump(exclude={"outbox", "seq", "urgent"}) == before


def test_a_signal_moves_no_lane_on_so_that_the_persons_next_message_counts() -> None:
    room = Room(HUMAN, HUMAN)
    forged = {"author": {"role": "participant", "alias": "P01"}, "lane": "P01", "number": 999, "text_id": "not mine"}
    for kind in ("submit_projection", "resume"):
        room.activate(room.signal(kind, of_json({"alias": "P01", "round": 1, **forged})))
    verdict = room.words("P01")
    assert (verdict.accepted, verdict.repeated) == (True, False)
    assert [words.text_id for words in room.state.turns["P01"].words] == ["words"]
