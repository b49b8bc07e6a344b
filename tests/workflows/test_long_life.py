"""A process that lives long: thousands of messages, several runs of its workflow (docs/protocol.md §11.4)."""

from __future__ import annotations

from typing import Any

from tests.simulation.in_process import InProcess
from tests.simulation.rooms import Room
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.messages import MAX_MESSAGES
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.rules.refusals import MessageVerdict

HUMAN = EndpointKind.HUMAN
PEOPLE = [f"P{number:02d}" for number in range(1, 9)]


class LongRoom(Room):
    """Follows the process into its next run when it continues as new; remembers how long each run and its state were."""

    def __init__(self, *endpoints: EndpointKind, **settings: Any) -> None:
        self.lengths: list[int] = []
        self.sizes: list[int] = []
        super().__init__(*endpoints, **settings)

    def follow(self) -> None:
        """Let the records be written; go over into the next run if there is one."""
        self.write_everything()
        if self.continued is None and self.timers:
            self.pass_time(seconds=2)
        if self.continued is None:
            return
        self.lengths.append(self.history_length)
        self.sizes.append(len(self.continued.model_dump_json()))
        numbers, lengths, sizes, now = self.numbers, self.lengths, self.sizes, self.now
        InProcess.__init__(self, self.continued, now=now)
        self.numbers, self.lengths, self.sizes = numbers, lengths, sizes


def test_five_thousand_messages_and_six_runs_end_well() -> None:
    room = LongRoom(*[HUMAN] * 8, max_participants=8)
    applied = 0
    while applied < 5_000 or len(room.lengths) < 6:
        before = applied
        for alias in PEOPLE:
            if room.numbers.get(alias, 0) >= MAX_MESSAGES:
                continue
            endpoint = "agent" if room.state.seats[alias].endpoint is HUMAN else "human"
            verdict = room.by_participant(alias, "switch_endpoint", endpoint=endpoint)
            assert isinstance(verdict, MessageVerdict)
            assert verdict.accepted
            applied += 1
        verdict = room.say(
            room.message("extend_deadline", m.Author(role="operator"), alias="P01", seconds=1)
        )  # never counted: an operator
        applied += isinstance(verdict, MessageVerdict) and verdict.accepted
        assert applied > before
        room.follow()
    for alias in PEOPLE:
        room.by_operator("switch_endpoint", alias=alias, endpoint="proxy")
    room.project()
    room.by_demander("conclude")
    room.observe()
    room.plan()
    assert room.result["outcome"] == "completed"
    assert max(room.lengths) < 10_000
    assert max(room.sizes) < 64 * 1024
    assert len(room.lengths) >= 6


def test_a_repeated_message_is_harmless_in_the_next_run_too() -> None:
    room = LongRoom(HUMAN, HUMAN)
    author = m.Author(role="participant", alias="P01")
    first = room.message("switch_endpoint", author, alias="P01", endpoint="agent")
    room.say(first)
    room.by_operator("upgrade")
    room.follow()
    assert room.lengths
    again = room.say(first)
    assert isinstance(again, MessageVerdict)
    assert again.repeated
    assert room.state.lanes["P01"] == 1
