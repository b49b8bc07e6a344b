"""What a room lacks is what the field is asked with when the rounds stand still (docs/protocol.md §3.8)."""

from __future__ import annotations

from tongyao.protocol.model.observation import Contribution, Effect, Gap, GapKind, Observation, Verdict
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.tension import MISSING, TENSION_UNITS, Tension
from tongyao.protocol.rules.gap_tension import lacking

TENSION = Tension(
    transition="from a ferry timetable made by hand to one that follows the tides",
    initial_state="an island of 300 people, 2 ferries, one berth",
    barriers=("nobody has the tide readings of the winter", "no berth is free at dawn", "the crew has no reserve"),
    exchange="a cabin for visiting crews",
)


def record(*observations: Observation, tension: Tension | None = TENSION) -> Record:
    return Record(process_id="c-1", phase=Phase.DECIDING, tension=tension, observations=observations)


def seen(number: int, *gaps: Gap, met: tuple[tuple[str, Effect], ...] = ()) -> Observation:
    contributions = tuple(
        Contribution(id=f"R{number}/catalyst/{place}", alias="P01", target=target, effect=effect)
        for place, (target, effect) in enumerate(met, 20)
    )
    return Observation(round=number, verdict=Verdict.MORE, gaps=gaps, contributions=contributions)


def gap(id: str, kind: GapKind, target: str, text: str = "") -> Gap:
    return Gap(id=id, kind=kind, target=target, text=text)


def test_what_nobody_here_can_do_comes_before_what_nobody_faced_and_what_was_overlooked_comes_last() -> None:
    overlooked = gap("R2/catalyst/8", GapKind.OVERLOOKED, "E", "who would sleep in the cabin")
    absent = gap("R2/catalyst/9", GapKind.ABSENT, "B1", "a tide gauge that is read in winter")
    lack = lacking(record(seen(1, met=(("B3", Effect.HELPS),)), seen(2, overlooked, absent)))
    assert lack is not None
    assert list(lack.open.values()) == ["R2/catalyst/9", "B2", "R2/catalyst/8"]
    assert lack.tension.barriers == (absent.text, TENSION.barriers[1], overlooked.text)
    assert (lack.tension.transition, lack.tension.exchange) == (TENSION.transition, TENSION.exchange)


def test_only_the_gaps_of_the_last_round_count_and_only_help_covers_a_barrier() -> None:
    before = seen(1, gap("R1/catalyst/1", GapKind.ABSENT, "B1", "a gauge"), met=(("B2", Effect.COLLIDES),))
    lack = lacking(record(before, seen(2, met=(("B1", Effect.DISSOLVES), ("B3", Effect.WORSENS)))))
    assert lack is not None
    assert dict(lack.open) == {"B1": "B2", "B2": "B3"}


def test_a_gap_without_words_of_its_own_speaks_with_those_of_what_it_is_a_gap_in() -> None:
    lack = lacking(record(seen(1, gap("R1/catalyst/1", GapKind.ABSENT, "B2"))))
    assert lack is not None
    assert lack.open["B1"] == "R1/catalyst/1"
    assert lack.tension.barriers[0] == TENSION.barriers[1]


def test_where_nothing_is_open_or_nobody_spoke_the_field_is_asked_with_the_whole() -> None:
    everything = seen(1, met=(("B1", Effect.HELPS), ("B2", Effect.HELPS), ("B3", Effect.DISSOLVES)))
    for lack in (lacking(record(everything)), lacking(record())):
        assert lack is not None
        assert lack.tension.barriers == TENSION.barriers
        assert list(lack.open.values()) == ["B1", "B2", "B3"]


def test_it_is_a_tension_like_every_other_however_much_is_open() -> None:
    gaps = [gap(f"R1/catalyst/{n}", GapKind.ABSENT, "T", f"gap {n} " + "word " * 200) for n in range(1, 12)]
    lack = lacking(record(seen(1, *gaps), tension=TENSION.model_copy(update={"barriers": (MISSING,)})))
    assert lack is not None
    assert lack.tension.units <= TENSION_UNITS
    assert list(lack.open.values()) == [f"R1/catalyst/{n}" for n in range(1, 7)]
    bare = lacking(record(tension=Tension(transition="dry the nets")))
    assert bare is not None and bare.tension.barriers == (MISSING,) and not bare.open


def test_before_there_is_a_tension_nothing_is_lacking() -> None:
    assert lacking(record(tension=None)) is None
